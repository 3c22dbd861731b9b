"""Compiled exchange of frequencies in use against candidates (Numba), a few at a time.

The layout is that of :mod:`._accept`; here the proposed pair of a place is a candidate for every
place. With candidate c added to the m pairs in use, the inverse K of the m + 1 pairs gives the
evidence without any one of them: dropping pair i adds log|K_ii| to the log determinant and takes
b_i' K_ii^-1 b_i from the quadratic form, b = K r. Of K only the blocks K_ii are formed. What a
candidate adds comes from the factor, not from K: cancellation would cost the square of the
condition.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _factor(S, o, chosen, F, K, b):  # type: ignore[no-untyped-def]
    """F = [U | v | R] of the columns in use of one task, b = R'v; v'v, or NaN where a pivot fails.

    U'U are the columns in use, R = U'^-1 and v = R r. K (2, n) are the diagonal blocks of R'R: the
    diagonal, and in odd places what is beside it. The same combinations of rows above make a row
    of all three; row i is zero before column i of U and after column i of R.
    """
    n, last = 2 * chosen.shape[0], o + 4 * chosen.shape[0]
    F[:] = 0.0
    for i in range(n):
        row = o + 2 * chosen[i // 2] + i % 2
        F[i, n] = S[last, row]
        F[i, n + 1 + i] = 1.0
        for j in range(i + 1):
            column = o + 2 * chosen[j // 2] + j % 2
            F[j, i] = S[row, column] if column <= row else S[column, row]
    K[:] = 0.0
    b[:] = 0.0
    quad = 0.0
    for i in range(n):
        row = F[i, i : n + 2 + i]
        k = 0
        while k + 4 <= i:  # four rows at once: the processor waits for memory less
            p, q, r, s = F[k, i:], F[k + 1, i:], F[k + 2, i:], F[k + 3, i:]
            x, y, z, w = p[0], q[0], r[0], s[0]
            for j in range(n + 5 + k - i):
                row[j] -= (x * p[j] + y * q[j]) + (z * r[j] + w * s[j])
            k += 4
        while k < i:
            p = F[k, i:]
            x = p[0]
            for j in range(n + 2 + k - i):
                row[j] -= x * p[j]
            k += 1
        if not (row[0] > 0.0):
            return np.nan
        inverse = 1.0 / math.sqrt(row[0])
        for j in range(row.shape[0]):
            row[j] *= inverse
        v, R = F[i, n], F[i, n + 1 :]
        quad += v * v
        for j in range(i + 1):
            b[j] += R[j] * v
            K[0, j] += R[j] * R[j]
        for j in range(1, i + 1):
            K[1, j] += R[j] * R[j - 1]
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
def _values(S, o, rest, a_n, chosen, c, F, K, beta, quad, values):  # type: ignore[no-untyped-def]
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
        for i in range(n):
            k = o + 2 * chosen[i // 2] + i % 2
            g[i] = S[t, p, k] if k < p else S[t, k, p]
            h[i] = S[t, p + 1, k] if k < p else S[t, k, p + 1]
        for j in range(n):  # (g, h) = U'^-1 of the candidate's columns
            g[j] /= F[t, j, j]
            h[j] /= F[t, j, j]
            gj, hj, v = g[j], h[j], F[t, j, n]
            for i in range(j + 1, n):
                g[i] -= F[t, j, i] * gj
                h[i] -= F[t, j, i] * hj
            a -= gj * gj
            b -= hj * gj
            d -= hj * hj
            x -= gj * v
            y -= hj * v
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
                s[i] += F[t, k, n + 1 + i] * gk
                w[i] += F[t, k, n + 1 + i] * hk
        for j in range(m):
            i = 2 * j
            log_d, lost = _pair(
                K[t, 0, i] + s[i] * s[i] + w[i] * w[i],
                K[t, 1, i + 1] + s[i + 1] * s[i] + w[i + 1] * w[i],
                K[t, 0, i + 1] + s[i + 1] * s[i + 1] + w[i + 1] * w[i + 1],
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
    F, K = np.empty((tasks, n, 2 * n + 1)), np.empty((tasks, 2, n))
    beta, quad = np.empty((tasks, n)), np.empty(tasks)
    for t in range(tasks):
        quad[t] = _factor(S[t], o, chosen, F[t], K[t], beta[t])
        if np.isnan(quad[t]):
            gain[1] = 1.0
            return
    values = np.empty(m + 1)
    for c in range(m):
        _values(S, o, rest, a_n, chosen, c, F, K, beta, quad, values)
        j = _other(values, u[c], log_u[c])
        for i in range(m + 1):
            if np.isnan(values[i]):
                gain[1] = 1.0
        if j == m:
            continue
        before, chosen[j] = chosen[j], 2 * c + 1
        failed = False
        for t in range(tasks):
            quad[t] = _factor(S[t], o, chosen, F[t], K[t], beta[t])
            failed = failed or np.isnan(quad[t])
        if not failed:
            gain[0] += values[j] - values[m]
            continue
        gain[1] = 1.0
        chosen[j] = before
        for t in range(tasks):
            quad[t] = _factor(S[t], o, chosen, F[t], K[t], beta[t])
