"""The GP marginal likelihood of weighted Fourier features and its gradient, over row chunks.

y ~ N(0, Phi Phi' + noise I) with phi(x) = M^{-1/2} [a_j cos(W_j'x), a_j sin(W_j'x)]_j.  With
A = Phi'Phi + noise I, mu = A^{-1} Phi'y and r = y - Phi mu,

    log p(y) = -1/2 (y'r / noise + log|A| + (N - P) log noise + N log 2 pi)
    d log p / d Phi = -Phi A^{-1} + r mu' / noise

One pass over the rows sums Phi'Phi and Phi'y, a second one the gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .chunks import CHUNK_ROWS, Array, gram, row_chunks, weighted_features


@dataclass(frozen=True)
class LikelihoodGradient:
    """log p(y) and its derivatives in W (M, d), log amplitude (M,) and log noise."""

    value: float
    W: Array
    log_amplitude: Array
    log_noise: float


def frequency_gradient(X: Array, Phi: Array, dPhi: Array) -> tuple[Array, Array]:
    """Chain rule from features to frequencies and log amplitudes.

    d/dW_j = sum_i (Phi_cos dPhi_sin - Phi_sin dPhi_cos) x_i; X (n, d), Phi and dPhi (n, 2M)
    -> (M, d) and (M,).
    """
    dU = Phi[:, 0::2] * dPhi[:, 1::2] - Phi[:, 1::2] * dPhi[:, 0::2]
    per_feature = np.einsum("ip,ip->p", Phi, dPhi)
    return dU.T @ X, per_feature[0::2] + per_feature[1::2]


def marginal_likelihood(
    X: Array,
    y: Array,
    W: Array,
    amplitude: Array,
    noise: float,
    chunk_rows: int = CHUNK_ROWS,
) -> LikelihoodGradient:
    """The log marginal likelihood of y (N,) at X (N, d), with gradient."""
    n, P = X.shape[0], 2 * W.shape[0]
    stats = gram(X, y[:, None], W, amplitude, chunk_rows)
    A = stats.G + noise * np.eye(P)
    factor = cho_factor(A, lower=True, check_finite=False)
    mu = cho_solve(factor, stats.b[:, 0], check_finite=False)
    inverse = cho_solve(factor, np.eye(P), check_finite=False)
    log_det = 2.0 * float(np.log(np.diag(factor[0])).sum())
    dW, d_amplitude = np.zeros_like(W), np.zeros(W.shape[0])
    fit, rest = 0.0, 0.0
    for rows in row_chunks(n, chunk_rows):
        Phi = weighted_features(X[rows], W, amplitude)
        r = y[rows] - Phi @ mu
        fit += float(y[rows] @ r)
        rest += float(r @ r)
        dPhi = np.outer(r / noise, mu) - Phi @ inverse
        part_W, part_amplitude = frequency_gradient(X[rows], Phi, dPhi)
        dW += part_W
        d_amplitude += part_amplitude
    value = -0.5 * (fit / noise + log_det + (n - P) * np.log(noise) + n * np.log(2.0 * np.pi))
    trace = (n - P) / noise + float(np.trace(inverse))
    d_log_noise = 0.5 * noise * (rest / noise**2 - trace)
    return LikelihoodGradient(float(value), dW, d_amplitude, d_log_noise)
