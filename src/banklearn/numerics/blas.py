"""Matrix products and factors for row-ordered arrays, all through one BLAS library.

NumPy and SciPy each bring a BLAS with threads of its own; calls that alternate between the two
make those threads fight for the cores, so everything heavy goes through SciPy's. Its Python
wrappers hold the interpreter's lock while they compute; the same routines, called by the addresses
that SciPy publishes for Cython, do not, so that chains in threads really run side by side.

A row-ordered (p, n) array is a column-ordered (n, p) one to BLAS: hence the transposes below.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas, cython_lapack

Array = NDArray[np.float64]
Single = NDArray[np.float32]

#: Rows that a triangular solve in place takes at a time.
SOLVE_ROWS = 64


def _routine(module: Any, name: str, arguments: int) -> Callable[..., None]:
    """A BLAS or LAPACK routine; ctypes releases the interpreter's lock while it runs."""
    capsule = module.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)
    return signature(address)


_dgemm = _routine(cython_blas, "dgemm", 13)
_dsyrk = _routine(cython_blas, "dsyrk", 10)
_sgemm = _routine(cython_blas, "sgemm", 13)
_ssyrk = _routine(cython_blas, "ssyrk", 10)
_dtrsm = _routine(cython_blas, "dtrsm", 11)
_dpotrf = _routine(cython_lapack, "dpotrf", 5)
_dpotri = _routine(cython_lapack, "dpotri", 5)

_N, _T, _U, _R = (ctypes.byref(ctypes.c_char(letter)) for letter in (b"N", b"T", b"U", b"R"))


# BLAS only reads these, so that the same few sizes can be shared by all calls.
@lru_cache(maxsize=4096)
def _int(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


@lru_cache(maxsize=64)
def _number(value: float) -> Any:
    return ctypes.byref(ctypes.c_double(value))


def _rows(A: Array) -> Array:
    """A itself when its rows are contiguous, else a copy."""
    if A.dtype == np.float64 and (A.shape[1] <= 1 or A.strides[1] == 8) and A.strides[0] >= 8:
        return A
    return np.ascontiguousarray(A, dtype=np.float64)


def _place(A: NDArray[Any]) -> tuple[Any, Any]:
    """Address and leading dimension of a row-ordered array."""
    step = A.strides[0] // A.itemsize if A.shape[0] > 1 else A.shape[1]
    return A.ctypes.data, _int(max(step, A.shape[1], 1))


def _product(C: Array, A: Array, B: Array, transposed: bool, factor: float, keep: float) -> Array:
    """C = keep C + factor A B' (or A B); C (p, q), A (p, n)."""
    (p, n), q = A.shape, C.shape[1]
    if p and q:
        A, B = _rows(A), _rows(B)
        first = _T if transposed else _N
        b, ldb = _place(B)
        a, lda = _place(A)
        c, ldc = _place(C)
        _dgemm(
            first, _N, _int(q), _int(p), _int(n), _number(factor), b, ldb, a, lda, _number(keep),
            c, ldc,
        )  # fmt: skip
    return C


def times(A: Array, B: Array) -> Array:
    """A B for A (p, n) and B (n, q)."""
    return _product(np.empty((A.shape[0], B.shape[1])), A, B, False, 1.0, 0.0)


def times_transposed(A: Array, B: Array) -> Array:
    """A B' for A (p, n) and B (q, n)."""
    return _product(np.empty((A.shape[0], B.shape[0])), A, B, True, 1.0, 0.0)


def add_times_transposed(C: Array, A: Array, B: Array, factor: float = 1.0) -> None:
    """C += factor A B' in place; row-ordered C (p, q), A (p, n), B (q, n)."""
    _product(C, A, B, True, factor, 1.0)


def _square(C: Array, A: Array, inner: bool, factor: float) -> None:
    """Lower triangle of C += factor A A', or factor A' A."""
    A = _rows(A)
    rows, columns = A.shape
    size, depth = (columns, rows) if inner else (rows, columns)
    if size and depth:
        a, lda = _place(A)
        c, ldc = _place(C)
        _dsyrk(
            _U, _N if inner else _T, _int(size), _int(depth), _number(factor), a, lda,
            _number(1.0), c, ldc,
        )  # fmt: skip


def add_square(C: Array, A: Array, factor: float = 1.0) -> None:
    """C += factor A A' in place, lower triangle only; row-ordered C (p, p), A (p, n)."""
    _square(C, A, False, factor)


def subtract_inner(C: Array, B: Array) -> None:
    """C -= B' B in place, lower triangle only; row-ordered C (p, p), B (n, p)."""
    _square(C, B, True, -1.0)


def single_product(C: Single, A: Single, B: Single) -> None:
    """C = A B' in single precision; row-ordered C (p, q), A (p, n), B (q, n)."""
    (p, n), q = A.shape, len(B)
    one, zero = (ctypes.byref(ctypes.c_float(value)) for value in (1.0, 0.0))
    a, lda = _place(A)
    b, ldb = _place(B)
    c, ldc = _place(C)
    _sgemm(_T, _N, _int(q), _int(p), _int(n), one, b, ldb, a, lda, zero, c, ldc)


def single_times(A: Single, B: Single) -> Single:
    """A B in single precision; row-ordered A (p, n), B (n, q)."""
    (p, n), q = A.shape, B.shape[1]
    C = np.empty((p, q), np.float32)
    one, zero = (ctypes.byref(ctypes.c_float(value)) for value in (1.0, 0.0))
    a, lda = _place(A)
    b, ldb = _place(B)
    c, ldc = _place(C)
    _sgemm(_N, _N, _int(q), _int(p), _int(n), one, b, ldb, a, lda, zero, c, ldc)
    return C


def single_square(C: Single, A: Single) -> None:
    """Lower triangle of C = A A' in single precision; row-ordered C (p, p), A (p, n)."""
    p, n = A.shape
    one, zero = (ctypes.byref(ctypes.c_float(value)) for value in (1.0, 0.0))
    a, lda = _place(A)
    c, ldc = _place(C)
    _ssyrk(_U, _T, _int(p), _int(n), one, a, lda, zero, c, ldc)


def mirror(C: Array) -> Array:
    """Copy the lower triangle of C onto its upper one, in place."""
    from banklearn.numerics import _compiled

    _compiled.mirror_lower(C)
    return C


def _lower(A: Array) -> Array:
    """A row-ordered copy of the lower triangle, zeros above."""
    from banklearn.numerics import _compiled

    out = np.empty(A.shape)
    _compiled.copy_lower(A, out)
    return out


def cholesky_lower(A: Array, added: float = 0.0) -> Array:
    """Lower L with L L' = A + added I, of A's lower triangle; LinAlgError if not definite."""
    L = _lower(A)
    L.ravel()[:: len(L) + 1] += added
    return cholesky_in_place(L)


def cholesky_in_place(A: Array) -> Array:
    """Overwrite the lower triangle of A with its Cholesky factor; the upper one is left alone."""
    info = ctypes.c_int(0)
    place, ld = _place(A)
    if len(A):
        _dpotrf(_U, _int(len(A)), place, ld, ctypes.byref(info))
    failed = info.value
    if failed == 0 and not np.isfinite(A.diagonal()).all():  # LAPACK lets NaN pass
        failed = 1 + int(np.argmin(np.isfinite(A.diagonal())))
    if failed != 0:
        raise np.linalg.LinAlgError(f"leading minor of order {failed} is not positive definite")
    return A


def inverse_from_cholesky(L: Array) -> Array:
    """(L L')^-1."""
    out = _lower(L)
    info = ctypes.c_int(0)
    place, ld = _place(out)
    _dpotri(_U, _int(len(out)), place, ld, ctypes.byref(info))
    if info.value != 0:
        raise np.linalg.LinAlgError("a Cholesky factor has a zero on its diagonal")
    return mirror(out)


def _triangular(L: Array, B: Array, transposed: bool) -> Array:
    n, k = B.shape
    if n and k:
        L = _rows(L)
        lower, ldl = _place(L)
        b, ldb = _place(B)
        _dtrsm(
            _R, _U, _T if transposed else _N, _N, _int(k), _int(n), _number(1.0), lower, ldl, b, ldb
        )
    return B


def solve_lower(L: Array, B: Array, overwrite: bool = False) -> Array:
    """L^-1 B for lower triangular L (n, n) and B (n, k); overwrite may work in B itself."""
    return _triangular(
        L, _rows(B) if overwrite else np.array(B, dtype=np.float64, order="C"), False
    )


def solve_lower_transposed(L: Array, B: Array) -> Array:
    """L^-T B for lower triangular L (n, n) and B (n, k)."""
    return _triangular(L, np.array(B, dtype=np.float64, order="C"), True)


def solve_lower_in_place(L: Array, B: Array) -> None:
    """B = L^-1 B, most of it as products of blocks, which run faster than a triangular solve."""
    for start in range(0, len(L), SOLVE_ROWS):
        stop = min(start + SOLVE_ROWS, len(L))
        _triangular(L[start:stop, start:stop], B[start:stop], False)
        if stop < len(L):
            _product(B[stop:], L[stop:, start:stop], B[start:stop], False, -1.0, 1.0)
