"""Compiled loops (Numba) between single and double precision; each does one part of several."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True, fastmath={"contract"})
def add(C, P, factor, lower, part, parts):  # type: ignore[no-untyped-def]
    """C += factor P, or its lower triangle alone."""
    for i in range(part, P.shape[0], parts):
        stop = i + 1 if lower else P.shape[1]
        into, row = C[i, :stop], P[i, :stop]
        for j in range(stop):
            into[j] += factor * row[j]


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def rows_times(A, columns, out, part, parts):  # type: ignore[no-untyped-def]
    """out[k, i] = sum over j of A[i, j] columns[k, j]."""
    for i in range(part, A.shape[0], parts):
        row = A[i]
        for k in range(columns.shape[0]):
            column, total = columns[k], 0.0
            for j in range(row.shape[0]):
                total += row[j] * column[j]
            out[k, i] = total


@njit(cache=True, nogil=True, fastmath={"contract"})
def times_rows(beta, A, out, part, parts):  # type: ignore[no-untyped-def]
    """out += beta A."""
    n = A.shape[1]
    first, stop = n * part // parts, n * (part + 1) // parts
    for p in range(A.shape[0]):
        row = A[p, first:stop]
        for t in range(beta.shape[0]):
            b, into = beta[t, p], out[t, first:stop]
            for j in range(stop - first):
                into[j] += b * row[j]
