"""Compiled parts of the accept step (Numba): gathering columns, and the decisions at the bottom.

A matrix over m frequencies has 4m + 1 rows: for each frequency its two current columns, then its
two proposed ones, and last the target. A range of frequencies is then a range of rows, and every
Schur complement has the same layout. Pairs of columns are numbered in this order, the current pair
of frequency j is 2j and the proposed one 2j + 1; chosen[j] is the pair that is in use in place j.
Of these, only lower triangles are read.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

#: Columns per tile where rows become columns.
_TILE = 16


@njit(cache=True, nogil=True)
def gather(G, r, lam, drop, keep, D, B, C):  # type: ignore[no-untyped-def]
    """For eliminating columns `drop` of G + lam I from columns `keep`: D, B = rows of D, C kept.

    Kept columns come in pairs; r is the target, which follows them. Both triangles of G are read.
    """
    n, last = drop.shape[0], keep.shape[0]
    for i in range(n):
        row = G[drop[i]]
        for j in range(i + 1):
            D[i, j] = row[drop[j]]
        D[i, i] += lam
        for j in range(0, last, 2):
            pair = row[keep[j] : keep[j] + 2]
            B[i, j] = pair[0]
            B[i, j + 1] = pair[1]
        B[i, last] = r[drop[i]]
    for i in range(last):
        row = G[keep[i]]
        for j in range(0, i + 1, 2):
            pair = row[keep[j] : keep[j] + 2]
            C[i, j] = pair[0]
            C[i, j + 1] = pair[1]
        C[i, i] += lam
    for j in range(last):
        C[last, j] = r[keep[j]]
    C[last, last] = 0.0


@njit(cache=True, nogil=True)
def gather_second(S, o, half, m, D, B, C):  # type: ignore[no-untyped-def]
    """For eliminating the second half's current columns from the first: D, B = rows of D, C kept.

    S begins at row and column o.
    """
    n, last = 4 * half, o + 4 * m
    for i in range(2 * (m - half)):
        place = o + n + 4 * (i // 2) + i % 2
        row = S[place]
        chosen = row[o + n : last]
        for j in range(i // 2 + 1):
            D[i, 2 * j] = chosen[4 * j]
            D[i, 2 * j + 1] = chosen[4 * j + 1]
        B[i, :n] = row[o : o + n]
        B[i, n] = S[last, place]
    for i in range(n):
        C[i, : i + 1] = S[o + i, o : o + i + 1]
    C[n, :n] = S[last, o : o + n]
    C[n, n] = S[last, last]


@njit(cache=True, nogil=True)
def gather_first(S, o, half, m, chosen, D, B):  # type: ignore[no-untyped-def]
    """For eliminating the first half's columns in use from the second half: D, and B = D's rows."""
    n = 2 * half
    drop = np.empty(n, np.int64)
    for j in range(half):
        drop[2 * j] = o + 2 * chosen[j]
        drop[2 * j + 1] = drop[2 * j] + 1
    for i in range(n):
        for j in range(i + 1):
            a, b = max(drop[i], drop[j]), min(drop[i], drop[j])
            D[i, j] = S[a, b]
    first, count = o + 4 * half, 4 * (m - half) + 1
    for c0 in range(0, count, _TILE):
        width = min(_TILE, count - c0)
        for j in range(half):
            k = drop[2 * j]
            top, bottom = B[2 * j, c0 : c0 + width], B[2 * j + 1, c0 : c0 + width]
            for c in range(width):
                pair = S[first + c0 + c, k : k + 2]
                top[c] = pair[0]
                bottom[c] = pair[1]


@njit(cache=True, nogil=True)
def fill_factor(D, B, chosen, row, L, v):  # type: ignore[no-untyped-def]
    """Write the columns that a factor D and its B = D^-1 S contribute to L, from `row` on.

    B's columns are the frequencies that follow, four each, and the target; those in use become
    rows of L below D.
    """
    n = B.shape[0]
    for i in range(n):
        L[row + i, row : row + i + 1] = D[i, : i + 1]
        L[row + i, row + i + 1 :] = 0.0
        v[row + i] = B[i, 4 * chosen.shape[0]]
    for i0 in range(0, n, _TILE):
        for j in range(chosen.shape[0]):
            c = 2 * chosen[j]
            for a in range(2):
                out = L[row + n + 2 * j + a]
                for i in range(i0, min(i0 + _TILE, n)):
                    out[row + i] = B[i, c + a]


@njit(cache=True, nogil=True)
def gather_used(S, o, chosen, D, B):  # type: ignore[no-untyped-def]
    """The columns in use after the decisions, and their part of the target."""
    last = o + 4 * chosen.shape[0]
    for j in range(2 * chosen.shape[0]):
        row = o + 2 * chosen[j // 2] + j % 2
        for k in range(j + 1):
            column = o + 2 * chosen[k // 2] + k % 2
            D[j, k] = S[max(row, column), min(row, column)]
        B[j, 0] = S[last, row]


@njit(cache=True, nogil=True)
def _log_value(S, o, first, rest, a_n):  # type: ignore[no-untyped-def]
    """Log evidence, up to a constant, of the pair of columns (first, first + 1) of one frequency.

    a_n > 0: noise integrated out, -1/2 log|S| - a_n log(rest - 1/2 r'S^-1 r), one task.
    a_n = 0: noise known, the sum over tasks of -1/2 log|S| + 1/2 r'S^-1 r.
    """
    total = 0.0
    i, last = o + first, o + 4
    for t in range(S.shape[0]):
        a, b, c = S[t, i, i], S[t, i + 1, i], S[t, i + 1, i + 1]
        x, y = S[t, last, i], S[t, last, i + 1]
        if not (a > 0.0):
            return np.nan
        schur = c - b * b / a
        if not (schur > 0.0):
            return np.nan
        v = y - b * x / a
        quad = x * x / a + v * v / schur
        total -= 0.5 * (math.log(a) + math.log(schur))
        if a_n > 0.0:
            left = rest + 0.5 * (S[t, last, last] - quad)
            if not (left > 0.0):
                return np.nan
            total -= a_n * math.log(left)
        else:
            total += 0.5 * quad
    return total


@njit(cache=True, nogil=True)
def _eliminate(S, o, lo, hi, m, drop, out):  # type: ignore[no-untyped-def]
    """Schur complement of frequencies lo..hi-1 and the target after `drop`; False if it fails."""
    D, K = drop.shape[0], 4 * (hi - lo) + 1
    L = np.empty((D, D))
    B = np.empty((D, K))
    for t in range(S.shape[0]):
        St = S[t]
        for i in range(D):
            row = St[drop[i]]
            for j in range(i + 1):
                x = row[drop[j]]
                for k in range(j):
                    x -= L[i, k] * L[j, k]
                if i == j:
                    if not (x > 0.0):
                        return False
                    L[i, i] = math.sqrt(x)
                else:
                    L[i, j] = x / L[j, j]
            inv = 1.0 / L[i, i]
            for c in range(K):
                col = o + 4 * lo + c if c < K - 1 else o + 4 * m
                B[i, c] = St[drop[i], col] if col < drop[i] else St[col, drop[i]]
            for k in range(i):
                lik = L[i, k]
                for c in range(K):
                    B[i, c] -= lik * B[k, c]
            for c in range(K):
                B[i, c] *= inv
        for a in range(K):
            row = St[o + 4 * lo + a if a < K - 1 else o + 4 * m]
            for c in range(min(a + 1, K - 1)):
                out[t, a, c] = row[o + 4 * lo + c]
        out[t, K - 1, K - 1] = St[o + 4 * m, o + 4 * m]
        for k in range(D):
            for a in range(K):
                bka = B[k, a]
                for c in range(a + 1):
                    out[t, a, c] -= bka * B[k, c]
    return True


@njit(cache=True, nogil=True)
def accept_small(S, o, rest, a_n, log_u, chosen, gain):  # type: ignore[no-untyped-def]
    """Accept or reject a few frequencies in turn by halving down to single ones.

    S is (tasks, rows, columns), beginning at row and column o. gain[0] collects the change of log
    evidence; a failed pivot sets gain[1] to 1 and rejects.
    """
    m = log_u.shape[0]
    if m == 1:
        now = _log_value(S, o, 0, rest, a_n)
        new = _log_value(S, o, 2, rest, a_n)
        chosen[0] = 0
        if np.isnan(now) or np.isnan(new):
            gain[1] = 1.0
        elif log_u[0] < new - now:
            chosen[0] = 1
            gain[0] += new - now
        return
    h = m // 2
    for side in range(2):
        lo, hi = (0, h) if side == 0 else (h, m)
        first, count = (h, m - h) if side == 0 else (0, h)
        drop = np.empty(2 * count, np.int64)
        for i in range(count):
            pair = chosen[i] if side == 1 else 2 * (first + i)
            drop[2 * i] = o + 2 * pair
            drop[2 * i + 1] = drop[2 * i] + 1
        reduced = np.empty((S.shape[0], 4 * (hi - lo) + 1, 4 * (hi - lo) + 1))
        if _eliminate(S, o, lo, hi, m, drop, reduced):
            accept_small(reduced, o - o, rest, a_n, log_u[lo:hi], chosen[lo:hi], gain)
        else:
            gain[1] = 1.0
            for f in range(lo, hi):
                chosen[f] = 2 * (f - lo)
        for f in range(lo, hi):
            chosen[f] += 2 * lo
