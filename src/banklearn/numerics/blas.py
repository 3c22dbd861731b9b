"""Matrix products and factors for row-ordered arrays, all through one BLAS library.

NumPy and SciPy each bring a BLAS with threads of its own; calls that alternate between the two
make those threads fight for the cores, so everything heavy goes through SciPy's. Its Python
wrappers hold the interpreter's lock while they compute; the same routines, called by the addresses
that SciPy publishes for Cython, do not, so that chains in threads really run side by side.

A row-ordered (p, n) array is a column-ordered (n, p) one to BLAS: hence the transposes below.

Where a task has a team of threads (:func:`.threads.team`) a large product is cut along rows or
columns of its result, and every thread computes a part of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas, cython_lapack

from banklearn.numerics.threads import at_once, team_size

Array = NDArray[np.float64]
Single = NDArray[np.float32]

#: Rows that a triangular solve in place takes at a time.
SOLVE_ROWS = 64
#: Multiplications from which on a team shares them; to tell it of fewer would take longer.
SHARED = 30_000_000
#: Shares begin at multiples of this, the width of registers and cache lines.
WIDTH = 16


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


@lru_cache(maxsize=64)
def _single_number(value: float) -> Any:
    return ctypes.byref(ctypes.c_float(value))


#: Which of two row-ordered factors are transposed; BLAS is told of the second one first.
_How = tuple[Any, Any]
_AB: _How = (_N, _N)
_ABT: _How = (_T, _N)
_ATB: _How = (_N, _T)
_routines = {
    "d": {"gemm": (_dgemm, _number), "syrk": (_dsyrk, _number)},
    "f": {"gemm": (_sgemm, _single_number), "syrk": (_ssyrk, _single_number)},
}


def _rows(A: Array) -> Array:
    """A itself when its rows are contiguous, else a copy."""
    if A.dtype == np.float64 and (A.shape[1] <= 1 or A.strides[1] == 8) and A.strides[0] >= 8:
        return A
    return np.ascontiguousarray(A, dtype=np.float64)


def _place(A: NDArray[Any]) -> tuple[Any, Any]:
    """Address and leading dimension of a row-ordered array."""
    step = A.strides[0] // A.itemsize if A.shape[0] > 1 else A.shape[1]
    return A.ctypes.data, _int(max(step, A.shape[1], 1))


def _gemm(C: Any, A: Any, B: Any, how: _How, factor: float, keep: float) -> None:
    """C = keep C + factor times the product, in the precision of all three."""
    p, q = C.shape
    n = len(A) if how is _ATB else A.shape[1]
    routine, number = _routines[C.dtype.char]["gemm"]
    b, ldb = _place(B)
    a, lda = _place(A)
    c, ldc = _place(C)
    routine(*how, _int(q), _int(p), _int(n), number(factor), b, ldb, a, lda, number(keep), c, ldc)


def _syrk(C: Any, A: Any, inner: bool, factor: float, keep: float) -> None:
    """Lower triangle of C = keep C + factor A A', or factor A' A, in the precision of both."""
    size, depth = A.shape[::-1] if inner else A.shape
    routine, number = _routines[C.dtype.char]["syrk"]
    a, lda = _place(A)
    c, ldc = _place(C)
    trans = _N if inner else _T
    routine(_U, trans, _int(size), _int(depth), number(factor), a, lda, number(keep), c, ldc)


def _parts(work: float) -> int:
    """In how many parts so many multiplications are made."""
    return team_size() if work >= SHARED else 1


def _cuts(size: int, parts: int, power: float = 1.0) -> list[slice]:
    """Ranges that cover size; with the power 1/2 rows of a lower triangle have equal areas."""
    ends = [round(size * (i / parts) ** power / WIDTH) * WIDTH for i in range(1, parts)]
    edges = [0, *(min(end, size) for end in ends), size]
    return [slice(start, stop) for start, stop in pairwise(edges) if start < stop]


def _multiply(C: Any, A: Any, B: Any, how: _How, factor: float, keep: float) -> None:
    """What :func:`_gemm` does with A B or A B', by all threads of the team."""
    p, q = C.shape
    if not (p and q):
        return
    if (parts := _parts(A.size * q)) == 1:
        _gemm(C, A, B, how, factor, keep)
        return
    # Every thread reads the factors of its share: the squarer a share, the less there is to read.
    few = max(n for n in range(1, parts + 1) if parts % n == 0 and n * n <= parts)
    cuts = (parts // few, few) if p >= q else (few, parts // few)
    shares = [
        (C[rows, columns], A[rows], B[columns] if how is _ABT else B[:, columns])
        for rows in _cuts(p, cuts[0])
        for columns in _cuts(q, cuts[1])
    ]
    at_once(_gemm, [(*share, how, factor, keep) for share in shares])


def _square(C: Any, A: Any, inner: bool, factor: float, keep: float) -> None:
    """What :func:`_syrk` does, by all threads of the team."""
    size, depth = A.shape[::-1] if inner else A.shape
    if not size:
        return
    if (parts := _parts(0.5 * size * size * depth)) == 1:
        _syrk(C, A, inner, factor, keep)
        return
    bands = _cuts(size, parts, 0.5)
    at_once(_band, [(C, A, inner, factor, keep, band) for band in bands])


def _band(C: Any, A: Any, inner: bool, factor: float, keep: float, rows: slice) -> None:
    """Some rows of the lower triangle."""
    before = slice(0, rows.start)
    mine, others = (A[:, rows], A[:, before]) if inner else (A[rows], A[before])
    if rows.start:
        _gemm(C[rows, before], mine, others, _ATB if inner else _ABT, factor, keep)
    _syrk(C[rows, rows], mine, inner, factor, keep)


def times(A: Array, B: Array) -> Array:
    """A B for A (p, n) and B (n, q)."""
    C = np.empty((A.shape[0], B.shape[1]))
    _multiply(C, _rows(A), _rows(B), _AB, 1.0, 0.0)
    return C


def times_transposed(A: Array, B: Array) -> Array:
    """A B' for A (p, n) and B (q, n)."""
    C = np.empty((A.shape[0], B.shape[0]))
    _multiply(C, _rows(A), _rows(B), _ABT, 1.0, 0.0)
    return C


def add_times_transposed(C: Array, A: Array, B: Array, factor: float = 1.0) -> None:
    """C += factor A B' in place; row-ordered C (p, q), A (p, n), B (q, n)."""
    _multiply(C, _rows(A), _rows(B), _ABT, factor, 1.0)


def add_square(C: Array, A: Array, factor: float = 1.0) -> None:
    """C += factor A A' in place, lower triangle only; row-ordered C (p, p), A (p, n)."""
    _square(C, _rows(A), False, factor, 1.0)


def subtract_inner(C: Array, B: Array) -> None:
    """C -= B' B in place, lower triangle only; row-ordered C (p, p), B (n, p)."""
    _square(C, _rows(B), True, -1.0, 1.0)


def single_product(C: Single, A: Single, B: Single) -> None:
    """C = A B' in single precision; row-ordered C (p, q), A (p, n), B (q, n)."""
    _multiply(C, A, B, _ABT, 1.0, 0.0)


def single_times(A: Single, B: Single) -> Single:
    """A B in single precision; row-ordered A (p, n), B (n, q)."""
    C = np.empty((len(A), B.shape[1]), np.float32)
    _multiply(C, A, B, _AB, 1.0, 0.0)
    return C


def single_square(C: Single, A: Single) -> None:
    """Lower triangle of C = A A' in single precision; row-ordered C (p, p), A (p, n)."""
    _square(C, A, False, 1.0, 0.0)


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
    if not np.diagonal(L).all():
        raise np.linalg.LinAlgError("a Cholesky factor has a zero on its diagonal")
    n, L = len(L), _rows(L)
    if (parts := _parts(n**3 / 3.0)) > 1:
        return mirror(_shared_inverse(L, parts))
    out = _lower(L)
    info = ctypes.c_int(0)
    place, ld = _place(out)
    _dpotri(_U, _int(n), place, ld, ctypes.byref(info))
    return mirror(out)


def _shared_inverse(L: Array, parts: int) -> Array:
    """Lower triangle of (L L')^-1 by a team: the columns of L^-1, then their inner products."""
    n = len(L)
    inverse, out = np.eye(n), np.empty((n, n))
    # Columns from the c-th on are zero above row c: the work is that of a cone seen from its end.
    columns = [slice(n - cut.stop, n - cut.start) for cut in _cuts(n, parts, 1.0 / 3.0)]
    at_once(_solve, [(L[c.start :, c.start :], inverse[c.start :, c]) for c in columns])
    _square(out, inverse, True, 1.0, 0.0)
    return out


def _trsm(L: Array, B: Array, transposed: bool) -> None:
    n, k = B.shape
    lower, ldl = _place(L)
    b, ldb = _place(B)
    op = _T if transposed else _N
    _dtrsm(_R, _U, op, _N, _int(k), _int(n), _number(1.0), lower, ldl, b, ldb)


def _triangular(L: Array, B: Array, transposed: bool) -> Array:
    n, k = B.shape
    if n and k:
        L = _rows(L)
        if (parts := _parts(0.5 * n * n * k)) == 1:
            _trsm(L, B, transposed)
        else:
            at_once(_trsm, [(L, B[:, cut], transposed) for cut in _cuts(k, parts)])
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
    n, k = B.shape
    if not (n and k):
        return
    L = _rows(L)
    if (parts := _parts(0.5 * n * n * k)) == 1:
        _solve(L, B)
    else:
        at_once(_solve, [(L, B[:, cut]) for cut in _cuts(k, parts)])


def _solve(L: Array, B: Array) -> None:
    for start in range(0, len(L), SOLVE_ROWS):
        stop = min(start + SOLVE_ROWS, len(L))
        _trsm(L[start:stop, start:stop], B[start:stop], False)
        if stop < len(L):
            _gemm(B[stop:], L[stop:, start:stop], B[start:stop], _AB, -1.0, 1.0)
