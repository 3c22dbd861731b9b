"""Products of matrices in single precision, added to sums in double precision.

Features are rows of float32, (p, n). Products are formed over so many columns at a time that
rounding stays small, and added up in float64: about half the time of double precision, and a
relative error of at most (COLUMNS + 2) 2^-24 of the sum of the terms' absolute values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from banklearn.numerics.blas import Single, single_product, single_square
from banklearn.numerics.scratch import scratch
from banklearn.numerics.threads import in_parts
from banklearn.numerics.trig import compiled

Array = NDArray[np.float64]

#: Columns whose products are summed in single precision.
COLUMNS = 1024


def add_square(C: Array, A: Single, factor: float) -> None:
    """Lower triangle of C += factor A A'; C (p, p), A (p, n)."""
    p, n = A.shape
    P = scratch("square", (p, p), np.float32)
    for start in range(0, n, COLUMNS):
        single_square(P, A[:, start : start + COLUMNS])
        _add(C, P, factor, True)


def add_cross(C: Array, A: Single, B: Single, factor: float) -> None:
    """C += factor A B'; C (p, q), A (p, n), B (q, n)."""
    (p, n), q = A.shape, len(B)
    P = scratch("cross", (p, q), np.float32)
    for start in range(0, n, COLUMNS):
        part = slice(start, start + COLUMNS)
        single_product(P, A[:, part], B[:, part])
        _add(C, P, factor, False)


def _add(C: Array, P: Single, factor: float, lower: bool) -> None:
    """C += factor P, or its lower triangle alone."""
    if not compiled():
        C += factor * (np.tril(P) if lower else P)
        return
    from banklearn.numerics import _single

    in_parts(_single.add, C, P, factor, lower, side_by_side=P.size > 100_000)


def rows_times(A: Single, v: Array) -> Array:
    """A v (p, k) for A (p, n) and v (n, k), summed in double precision."""
    if not compiled():
        return np.asarray(A.astype(np.float64) @ v)
    from banklearn.numerics import _single

    out, columns = np.empty((v.shape[1], len(A))), np.ascontiguousarray(v.T)
    in_parts(_single.rows_times, A, columns, out, side_by_side=A.size > 1_000_000)
    return out.T


def times_rows(beta: Array, A: Single) -> Array:
    """beta A (t, n) for beta (t, p) and A (p, n), summed in double precision."""
    if not compiled():
        return np.asarray(beta @ A.astype(np.float64))
    from banklearn.numerics import _single

    out = np.zeros((len(beta), A.shape[1]))
    in_parts(_single.times_rows, beta, A, out, side_by_side=A.size > 1_000_000)
    return out
