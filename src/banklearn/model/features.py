"""Random Fourier features and the trend columns that stand beside them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from banklearn.model.equations import equation
from banklearn.numerics.blas import times_transposed
from banklearn.numerics.trig import cos_sin_rows

Array = NDArray[np.float64]
Trend = Literal["none", "constant", "linear"]
TRENDS: tuple[Trend, ...] = ("none", "constant", "linear")


def trend_columns(trend: Trend, d: int) -> int:
    """How many always-present columns a trend has."""
    return {"none": 0, "constant": 1, "linear": 1 + d}[trend]


@equation("rksfeats")
def feature_rows(
    X: Array,
    W: Array,
    trend: Trend = "none",
    out: Array | None = None,
    scale: float | None = None,
) -> Array:
    """Phi' as rows, [1; X'/sqrt(d); cos(W_1 X')/sqrt(M); sin(W_1 X')/sqrt(M); ...], (h + 2M, n).

    Feature-major order keeps each feature contiguous over rows of data, which the compiled
    cosines and the matrix products both like. X is (n, d), W is (M, d); scale replaces 1/sqrt(M)
    where W holds proposals beside the M frequencies in use.
    """
    n, d = X.shape
    M = len(W)
    h = trend_columns(trend, d)
    if out is None:
        out = np.empty((h + 2 * M, n))
    if h:
        out[0] = 1.0
    if h > 1:
        np.multiply(X.T, 1.0 / np.sqrt(d), out=out[1:h])
    if M:
        cos_sin_rows(times_transposed(W, X), out[h:], 1.0 / np.sqrt(M) if scale is None else scale)
    return out


def fourier_features(X: Array, W: Array) -> Array:
    """Phi (N, 2M) with columns cos(W_1'x), sin(W_1'x), cos(W_2'x), ..., times 1/sqrt(M)."""
    return feature_rows(np.asarray(X, dtype=np.float64), np.asarray(W, dtype=np.float64)).T
