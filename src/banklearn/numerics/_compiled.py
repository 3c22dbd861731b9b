"""Compiled loops (Numba). Imported only when a computation starts, so that import stays quick.

The sine and cosine use a three-part Cody-Waite reduction to [-pi/4, pi/4] followed by Taylor
polynomials; truncation there is below 5e-17. The reduction is exact to a few ulp for arguments
up to about 1e5; beyond, the absolute error grows like 1e-16 times the argument (1e-9 at 1e7),
which is also the error that rounding W x itself brings.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_TWO_OVER_PI = 2.0 / math.pi
# pi/2 in three pieces; the first two have 33 significant bits, so that k * piece is exact
# for |k| < 2**20.
_PIO2_1 = float.fromhex("0x1.921fb544p+0")
_PIO2_2 = float.fromhex("0x1.0b4611a6p-34")
_PIO2_3 = float.fromhex("0x1.3198a2e037073p-69")
# Adding and subtracting 1.5 * 2**52 rounds to the nearest integer.
_ROUND = 6755399441055744.0

_S = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(8))
_C = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(9))
_S1, _S2, _S3, _S4, _S5, _S6, _S7 = _S[1:]
_C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8 = _C[1:]


@njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")
def _cos_sin(u, cos_row, sin_row, scale):  # type: ignore[no-untyped-def]
    # One-dimensional arguments: only then does the compiler see that rows do not overlap.
    for i in range(u.shape[0]):
        x = u[i]
        k = (x * _TWO_OVER_PI + _ROUND) - _ROUND
        z = ((x - k * _PIO2_1) - k * _PIO2_2) - k * _PIO2_3
        quadrant = k - 4.0 * np.floor(0.25 * k)
        # From about 1e15 on nothing is left of the phase: stay on the circle, whatever the value.
        z = z if z < 0.8 else 0.8
        z = z if z > -0.8 else -0.8
        z2 = z * z
        s = (((((_S7 * z2 + _S6) * z2 + _S5) * z2 + _S4) * z2 + _S3) * z2 + _S2) * z2 + _S1
        s = z + z * (z2 * s)
        c = (((((_C8 * z2 + _C7) * z2 + _C6) * z2 + _C5) * z2 + _C4) * z2 + _C3) * z2 + _C2
        c = 1.0 + z2 * (_C1 + z2 * c)
        odd = (quadrant == 1.0) | (quadrant == 3.0)
        first = s if odd else c
        second = c if odd else s
        cos_negative = (quadrant == 1.0) | (quadrant == 2.0)
        cos_row[i] = first * (-scale if cos_negative else scale)
        sin_row[i] = second * (-scale if quadrant >= 2.0 else scale)


@njit(cache=True, nogil=True)
def cos_sin_rows(U, out, scale):  # type: ignore[no-untyped-def]
    """Write scale*cos(U[j]) and scale*sin(U[j]) to rows 2j and 2j+1 of out."""
    for j in range(U.shape[0]):
        _cos_sin(U[j], out[2 * j], out[2 * j + 1], scale)


@njit(cache=True, nogil=True)
def crp_walk(start, order_u, Z, counts, log_density, log_new, log_alpha):  # type: ignore[no-untyped-def]
    """Gibbs assignments from item `start` until an item opens a new component.

    Changes Z and counts in place; returns the item that asked for a new component, or M.
    Components with no member have probability zero and are dropped by the caller.
    """
    M = Z.shape[0]
    K = counts.shape[0]
    logp = np.empty(K + 1)
    for j in range(start, M):
        counts[Z[j]] -= 1
        top = log_alpha + log_new[j]
        logp[K] = top
        for k in range(K):
            if counts[k] > 0:
                logp[k] = math.log(counts[k]) + log_density[j, k]
                top = max(top, logp[k])
            else:
                logp[k] = -np.inf
        total = 0.0
        for k in range(K + 1):
            total += math.exp(logp[k] - top)
        target = order_u[j] * total
        acc = 0.0
        choice = K
        for k in range(K + 1):
            acc += math.exp(logp[k] - top)
            if target < acc:
                choice = k
                break
        if choice == K:
            Z[j] = -1
            return j
        Z[j] = choice
        counts[choice] += 1
    return M


@njit(cache=True, nogil=True)
def extend(known, cross, square, G, part, parts):  # type: ignore[no-untyped-def]
    """G = [[known, cross'], [cross, square]]; one part of several, for as many threads.

    Of the square the lower triangle is read.
    """
    S, P = cross.shape
    tile = 32
    for i in range(part, P, parts):
        G[i, :P] = known[i]
    for first in range(part * tile, S, parts * tile):
        stop = min(first + tile, S)
        for i in range(first, stop):
            G[P + i, :P] = cross[i]
            G[P + i, P : P + i + 1] = square[i, : i + 1]
        for j in range(P):
            across = G[j, P + first : P + stop]
            for i in range(stop - first):
                across[i] = cross[first + i, j]
        for j in range(stop):
            row = G[P + j]
            for i in range(max(first, j + 1), stop):
                row[P + i] = square[i, j]


@njit(cache=True, nogil=True)
def mirror_lower(C):  # type: ignore[no-untyped-def]
    """Copy the lower triangle onto the upper one, tile by tile."""
    n = C.shape[0]
    tile = 32
    for a in range(0, n, tile):
        for b in range(0, a + 1, tile):
            for i in range(a, min(a + tile, n)):
                for j in range(b, min(b + tile, i)):
                    C[j, i] = C[i, j]


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"}, error_model="numpy")
def logistic_pair(c, s, offset, y, weight, b0, b1):  # type: ignore[no-untyped-def]
    """Log likelihood, gradient and minus the Hessian in the two weights of columns c and s."""
    value = g0 = g1 = h00 = h01 = h11 = 0.0
    for i in range(c.shape[0]):
        f = offset[i] + c[i] * b0 + s[i] * b1
        e = math.exp(-abs(f))
        q = 1.0 / (1.0 + e)
        p = q if f >= 0.0 else e * q
        w = weight[i]
        signed = f if y[i] > 0.0 else -f
        value += w * (min(signed, 0.0) - math.log1p(e))
        residual = w * (y[i] - p)
        curvature = w * e * q * q
        g0 += residual * c[i]
        g1 += residual * s[i]
        h00 += curvature * c[i] * c[i]
        h01 += curvature * c[i] * s[i]
        h11 += curvature * s[i] * s[i]
    return value, g0, g1, h00, h01, h11


@njit(cache=True, nogil=True)
def laplace_pair(c, s, offset, y, weight, lam):  # type: ignore[no-untyped-def]
    """Mode (2) and precision (3: h00, h01, h11) of the Laplace law of two weights.

    Newton from zero with halved steps; the same stopping rule at both ends of a move, so that
    forward and reverse densities are functions of the end point alone.
    """
    b0 = b1 = 0.0
    value, g0, g1, h00, h01, h11 = logistic_pair(c, s, offset, y, weight, b0, b1)
    value -= 0.5 * lam * (b0 * b0 + b1 * b1)
    for _ in range(50):
        g0 -= lam * b0
        g1 -= lam * b1
        a, d = h00 + lam, h11 + lam
        # The same as a d - h01^2, but never below what lam adds: equal columns cancel the rest.
        det = max(h00 * h11 - h01 * h01, 0.0) + lam * (h00 + h11 + lam)
        d0 = (d * g0 - h01 * g1) / det
        d1 = (a * g1 - h01 * g0) / det
        decrement = g0 * d0 + g1 * d1
        # A sum over many rows rounds: gains below that cannot be seen, and are not looked for.
        rounding = 1e-13 * abs(value)
        if decrement < 1e-10 + 10.0 * rounding:
            break
        size = 1.0
        while True:
            n0, n1 = b0 + size * d0, b1 + size * d1
            new, m0, m1, k00, k01, k11 = logistic_pair(c, s, offset, y, weight, n0, n1)
            new -= 0.5 * lam * (n0 * n0 + n1 * n1)
            if new >= value - rounding or size < 1e-8:
                break
            size *= 0.5
        b0, b1, value = n0, n1, new
        g0, g1, h00, h01, h11 = m0, m1, k00, k01, k11
    return b0, b1, h00 + lam, h01, h11 + lam


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_slope(c, s, rc, rs, A, residual, mc, ms, g):  # type: ignore[no-untyped-def]
    for i in range(g.shape[0]):
        g_cos = mc * residual[i] - A[i] * rc[i]
        g_sin = ms * residual[i] - A[i] * rs[i]
        g[i] += c[i] * g_sin - s[i] * g_cos


@njit(cache=True, nogil=True)
def add_phase_gradient(Phi, R, A, residual, mu, out):  # type: ignore[no-untyped-def]
    """Add the gradient in the phases U (M, n) of one task's log evidence to out.

    Phi, R = A_n^-1 Phi (2M, n); row weights A, weighted residuals (n,), posterior mean mu (2M,):
    g = -A R + mu residual per feature, then -sin g_cos + cos g_sin per phase.
    """
    for j in range(out.shape[0]):
        k = 2 * j
        _add_slope(Phi[k], Phi[k + 1], R[k], R[k + 1], A, residual, mu[k], mu[k + 1], out[j])


@njit(cache=True, nogil=True)
def copy_lower(A, out):  # type: ignore[no-untyped-def]
    """Copy the lower triangle of A to out, with zeros above it."""
    n = A.shape[0]
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = A[i, j]
        for j in range(i + 1, n):
            out[i, j] = 0.0


@njit(cache=True, nogil=True)
def select(C, columns, out, part, parts):  # type: ignore[no-untyped-def]
    """Rows and the same columns of C; one part of several, for as many threads."""
    for i in range(part, columns.shape[0], parts):
        row, copy = C[columns[i]], out[i]
        for j in range(columns.shape[0]):
            copy[j] = row[columns[j]]
