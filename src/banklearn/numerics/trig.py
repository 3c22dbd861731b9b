"""Cosine and sine of many phases at once, written next to each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from banklearn.numerics.threads import at_once, threads

# Below this many phases a second thread costs more than it saves.
_PARALLEL_FROM = 200_000


def compiled() -> bool:
    """Whether Numba compiles; it does not with NUMBA_DISABLE_JIT=1, and its loops are then slow."""
    from numba import config

    return not getattr(config, "DISABLE_JIT", 0)


def cos_sin_rows(
    U: NDArray[np.float64], out: NDArray[np.float64], scale: float
) -> NDArray[np.float64]:
    """Fill out (2M, n) with scale*cos(U_1), scale*sin(U_1), scale*cos(U_2), ... of U (M, n)."""
    if not compiled():
        return cos_sin_rows_numpy(U, out, scale)
    from banklearn.numerics import _compiled

    workers = threads()
    if workers == 1 or U.size < _PARALLEL_FROM:
        _compiled.cos_sin_rows(U, out, scale)
        return out
    cuts = np.linspace(0, U.shape[0], workers + 1).astype(int)
    parts = [(U[a:b], out[2 * a : 2 * b], scale) for a, b in pairwise(cuts) if b > a]
    at_once(_compiled.cos_sin_rows, parts)
    return out


def cos_sin_rows_numpy(
    U: NDArray[np.float64], out: NDArray[np.float64], scale: float
) -> NDArray[np.float64]:
    """The plain version of :func:`cos_sin_rows`: the tests' reference, and what runs uncompiled."""
    np.multiply(np.cos(U), scale, out=out[0::2])  # rounded once where out is of single precision
    np.multiply(np.sin(U), scale, out=out[1::2])
    return out
