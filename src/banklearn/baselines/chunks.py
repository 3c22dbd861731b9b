"""Weighted random Fourier features and their Gram sums, one chunk of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from banklearn.model.features import fourier_features

Array = NDArray[np.float64]

CHUNK_ROWS = 4096


def row_chunks(n_rows: int, chunk_rows: int = CHUNK_ROWS) -> Iterator[slice]:
    """Slices of at most ``chunk_rows`` rows that cover 0..n_rows in order."""
    for start in range(0, n_rows, chunk_rows):
        yield slice(start, min(start + chunk_rows, n_rows))


def weighted_features(X: Array, W: Array, amplitude: Array | None = None) -> Array:
    """Random features with one amplitude per frequency.

    phi(x) = M^{-1/2} [a_j cos(W_j'x), a_j sin(W_j'x)]_j, so k(0) = mean(a^2);
    X (N, d), W (M, d), amplitude (M,) -> (N, 2M), columns cos_1, sin_1, cos_2, ...
    """
    Phi = fourier_features(X, W)
    if amplitude is not None:
        Phi = Phi * np.repeat(amplitude, 2)
    return Phi


@dataclass(frozen=True)
class Gram:
    """The additive statistic of ridge regression.

    G = Phi'Phi (P, P), b = Phi'Y (P, C), yy = diag(Y'Y) (C,), n rows.
    """

    G: Array
    b: Array
    yy: Array
    n: int


def gram(
    X: Array,
    Y: Array,
    W: Array,
    amplitude: Array | None = None,
    chunk_rows: int = CHUNK_ROWS,
) -> Gram:
    """Sum the Gram statistic over row chunks; X (N, d), Y (N, C), W (M, d)."""
    P = 2 * W.shape[0]
    G, b = np.zeros((P, P)), np.zeros((P, Y.shape[1]))
    for rows in row_chunks(X.shape[0], chunk_rows):
        Phi = weighted_features(X[rows], W, amplitude)
        G += Phi.T @ Phi
        b += Phi.T @ Y[rows]
    return Gram(G, b, np.einsum("ic,ic->c", Y, Y), X.shape[0])
