"""Compiled exchange of frequencies in use against candidates (Numba), a few at a time.

The layout is that of :mod:`._accept`; here the proposed pair of a place is a candidate for every
place. With candidate c added to the m pairs in use, the inverse K of the m + 1 pairs gives the
evidence without any one of them: dropping pair i adds log|K_ii| to the log determinant and takes
b_i' K_ii^-1 b_i from the quadratic form, b = K r. Of K only the blocks K_ii are formed. What a
candidate adds comes from L^-1, not from K: cancellation would cost the square of the condition.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _factor(S, o, chosen, L, R, K, v, b):  # type: ignore[no-untyped-def]
    """L L' = columns in use of one task; R = L^-1, v = R r, b = R'v; r'(L L')^-1 r, or NaN.

    K (n, 2) are the diagonal blocks of (L L')^-1, lower triangles. NaN where a pivot fails.
    """
    n, last = 2 * chosen.shape[0], o + 4 * chosen.shape[0]
    for i in range(n):
        row = o + 2 * chosen[i // 2] + i % 2
        v[i] = S[last, row]
        for j in range(i + 1):
            column = o + 2 * chosen[j // 2] + j % 2
            x = S[row, column] if column <= row else S[column, row]
            for k in range(j):
                x -= L[i, k] * L[j, k]
            if j < i:
                L[i, j] = x / L[j, j]
                v[i] -= L[i, j] * v[j]
            elif x > 0.0:
                L[i, i] = math.sqrt(x)
                v[i] /= L[i, i]
            else:
                return np.nan
    R[:] = 0.0  # row by row: rows below are combinations of rows above
    for i in range(n):
        for k in range(i):
            x = L[i, k]
            for j in range(k + 1):
                R[i, j] -= x * R[k, j]
        R[i, i] = 1.0
        for j in range(i + 1):
            R[i, j] /= L[i, i]
    K[:] = 0.0
    b[:] = 0.0
    quad = 0.0
    for k in range(n):
        quad += v[k] * v[k]
        for i in range(k + 1):
            b[i] += R[k, i] * v[k]
            K[i, i % 2] += R[k, i] * R[k, i]
            if i % 2:
                K[i, 0] += R[k, i] * R[k, i - 1]
    return quad


@njit(cache=True, nogil=True)
def _pair(a, b, c, x, y):  # type: ignore[no-untyped-def]
    """log|D| and z'D^-1 z of D = [[a, b], [b, c]], z = (x, y); NaN where D is not positive."""
    if not (a > 0.0):
        return np.nan, np.nan
    schur = c - b * b / a
    if not (schur > 0.0):
        return np.nan, np.nan
    w = y - b * x / a
    return math.log(a) + math.log(schur), x * x / a + w * w / schur


@njit(cache=True, nogil=True)
def _values(S, o, rest, a_n, chosen, c, L, R, K, v, beta, quad, values):  # type: ignore[no-untyped-def]
    """Log evidence without the pair in each place, candidate c in use; last without c.

    Up to one constant; NaN where rounding leaves nothing to judge by.
    """
    m = chosen.shape[0]
    n, last, p = 2 * m, o + 4 * m, o + 4 * c + 2
    values[:] = 0.0
    g, h = np.empty(n), np.empty(n)
    s, w = np.zeros(n), np.zeros(n)
    for t in range(S.shape[0]):
        a, b, d = S[t, p, p], S[t, p + 1, p], S[t, p + 1, p + 1]
        x, y = S[t, last, p], S[t, last, p + 1]
        for i in range(n):  # (g, h) = L^-1 of the candidate's columns
            k = o + 2 * chosen[i // 2] + i % 2
            gi = S[t, p, k] if k < p else S[t, k, p]
            hi = S[t, p + 1, k] if k < p else S[t, k, p + 1]
            for j in range(i):
                gi -= L[t, i, j] * g[j]
                hi -= L[t, i, j] * h[j]
            g[i], h[i] = gi / L[t, i, i], hi / L[t, i, i]
            a -= g[i] * g[i]
            b -= h[i] * g[i]
            d -= h[i] * h[i]
            x -= g[i] * v[t, i]
            y -= h[i] * v[t, i]
        log_s, gained = _pair(a, b, d, x, y)
        if np.isnan(log_s):
            values[:] = np.nan
            return
        # (s, w) = R'(g, h) D^-1/2 of the candidate's block D = [[a, b], [b, d]]
        root = math.sqrt(a)
        below, second = b / root, math.sqrt(d - b * b / a)
        x /= root
        y = (y - below * x) / second
        s[:] = 0.0
        w[:] = 0.0
        for k in range(n):
            gk = g[k] / root
            hk = (h[k] - below * gk) / second
            for i in range(k + 1):
                s[i] += R[t, k, i] * gk
                w[i] += R[t, k, i] * hk
        for j in range(m):
            i = 2 * j
            log_d, lost = _pair(
                K[t, i, 0] + s[i] * s[i] + w[i] * w[i],
                K[t, i + 1, 0] + s[i + 1] * s[i] + w[i + 1] * w[i],
                K[t, i + 1, 1] + s[i + 1] * s[i + 1] + w[i + 1] * w[i + 1],
                beta[t, i] - s[i] * x - w[i] * y,
                beta[t, i + 1] - s[i + 1] * x - w[i + 1] * y,
            )
            values[j] += _of(S[t, last, last], quad[t] + gained - lost, log_s + log_d, rest, a_n)
        values[m] += _of(S[t, last, last], quad[t], 0.0, rest, a_n)


@njit(cache=True, nogil=True)
def _of(eliminated, quad, log_det, rest, a_n):  # type: ignore[no-untyped-def]
    """One task's log evidence; see ``_accept._log_value``.

    Not one function for both: Numba's cache would not notice a change in another file.
    """
    if a_n > 0.0:
        left = rest + 0.5 * (eliminated - quad)
        return -0.5 * log_det - a_n * math.log(left) if left > 0.0 else np.nan
    return -0.5 * log_det + 0.5 * quad


@njit(cache=True, nogil=True)
def _other(values, u, log_u):  # type: ignore[no-untyped-def]
    """Another value than the last by Metropolised Gibbs, or the last; values that are NaN never.

    i is proposed with probability p_i / (1 - p_last) and accepted with (1 - p_last) / (1 - p_i).
    """
    m = values.shape[0] - 1
    top = -np.inf
    for i in range(m):
        if values[i] > top:
            top = values[i]
    if np.isnan(values[m]) or top == -np.inf:
        return m
    total = 0.0
    for i in range(m):
        if not np.isnan(values[i]):
            total += math.exp(values[i] - top)
    place, edge = -1, u * total
    for i in range(m):
        if not np.isnan(values[i]):
            place = i
            edge -= math.exp(values[i] - top)
            if edge < 0.0:
                break
    others = max(top, values[m])
    without = math.exp(values[m] - others)
    for i in range(m):
        if i != place and not np.isnan(values[i]):
            without += math.exp(values[i] - others)
    if without == 0.0:
        return place
    return place if log_u < math.log(total) + top - math.log(without) - others else m


@njit(cache=True, nogil=True)
def exchange_small(S, o, rest, a_n, log_u, u, chosen, gain):  # type: ignore[no-untyped-def]
    """Offer every candidate in turn to all places, which is taken for one of them or for none.

    S, o, rest, a_n and gain as in ``_accept.accept_small``.
    """
    m, tasks = chosen.shape[0], S.shape[0]
    for j in range(m):
        chosen[j] = 2 * j
    n = 2 * m
    L, R, K = np.empty((tasks, n, n)), np.empty((tasks, n, n)), np.empty((tasks, n, 2))
    v, beta, quad = np.empty((tasks, n)), np.empty((tasks, n)), np.empty(tasks)
    for t in range(tasks):
        quad[t] = _factor(S[t], o, chosen, L[t], R[t], K[t], v[t], beta[t])
        if np.isnan(quad[t]):
            gain[1] = 1.0
            return
    values = np.empty(m + 1)
    for c in range(m):
        _values(S, o, rest, a_n, chosen, c, L, R, K, v, beta, quad, values)
        j = _other(values, u[c], log_u[c])
        for i in range(m + 1):
            if np.isnan(values[i]):
                gain[1] = 1.0
        if j == m:
            continue
        before, chosen[j] = chosen[j], 2 * c + 1
        failed = False
        for t in range(tasks):
            quad[t] = _factor(S[t], o, chosen, L[t], R[t], K[t], v[t], beta[t])
            failed = failed or np.isnan(quad[t])
        if not failed:
            gain[0] += values[j] - values[m]
            continue
        gain[1] = 1.0
        chosen[j] = before
        for t in range(tasks):
            quad[t] = _factor(S[t], o, chosen, L[t], R[t], K[t], v[t], beta[t])
