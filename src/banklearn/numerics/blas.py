"""Matrix products and factors for row-ordered arrays, all through one BLAS library.

NumPy and SciPy each bring a BLAS with threads of its own; calls that alternate between the two
make those threads fight for the cores. Everything heavy goes through SciPy's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm, dsyrk, dtrsm
from scipy.linalg.lapack import dpotrf, dpotri

Array = NDArray[np.float64]


def times(A: Array, B: Array) -> Array:
    """A B for row-ordered A (p, n) and B (n, q)."""
    return dgemm(1.0, B.T, A.T).T


def times_transposed(A: Array, B: Array) -> Array:
    """A B' for A (p, n) and B (q, n)."""
    return dgemm(1.0, B.T, A.T, trans_a=1).T


def add_times_transposed(C: Array, A: Array, B: Array, factor: float = 1.0) -> None:
    """C += factor A B' in place; C (p, q), A (p, n), B (q, n), all row-ordered."""
    dgemm(factor, B.T, A.T, beta=1.0, c=C.T, trans_a=1, overwrite_c=1)


def add_square(C: Array, A: Array, factor: float = 1.0) -> None:
    """C += factor A A' in place, lower triangle only; C (p, p), A (p, n), row-ordered."""
    dsyrk(factor, A.T, beta=1.0, c=C.T, trans=1, overwrite_c=1)


def subtract_inner(C: Array, B: Array) -> None:
    """C -= B' B in place, lower triangle only; C (p, p), B (n, p), row-ordered."""
    dsyrk(-1.0, B.T, beta=1.0, c=C.T, overwrite_c=1)


def mirror(C: Array) -> Array:
    """Copy the lower triangle of C onto its upper one, in place."""
    from banklearn.numerics import _compiled

    _compiled.mirror_lower(C)
    return C


def cholesky_lower(A: Array) -> Array:
    """Lower L with L L' = A from the lower triangle of A; LinAlgError when A is not definite."""
    U, info = dpotrf(A.T, lower=0, clean=1)
    if info == 0 and not np.isfinite(U.diagonal()).all():  # LAPACK lets NaN pass
        info = 1 + int(np.argmin(np.isfinite(U.diagonal())))
    if info != 0:
        raise np.linalg.LinAlgError(f"leading minor of order {info} is not positive definite")
    return U.T


def inverse_from_cholesky(L: Array) -> Array:
    """(L L')^-1."""
    lower, info = dpotri(L.T, lower=0)
    if info != 0:
        raise np.linalg.LinAlgError("a Cholesky factor has a zero on its diagonal")
    return mirror(lower.T)


def solve_lower(L: Array, B: Array, overwrite: bool = False) -> Array:
    """L^-1 B for lower triangular L (n, n) and row-ordered B (n, k)."""
    return dtrsm(1.0, L.T, B.T, side=1, lower=0, overwrite_b=overwrite).T


def solve_lower_transposed(L: Array, B: Array) -> Array:
    """L^-T B for lower triangular L (n, n) and row-ordered B (n, k)."""
    return dtrsm(1.0, L.T, B.T, side=1, lower=0, trans_a=1).T
