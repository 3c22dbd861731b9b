"""Learn the weights alpha_m >= 0 of a sum of kernels by maximising the evidence.

With K = sum_m alpha_m K_m and random features of every kernel side by side, the prior of feature
p's weight has variance noise * D_p, D_p = alpha_m M / M_m.  Everything is a function of the Gram
statistic of the unweighted features; with S = D^{1/2} and A = I + S G S,

    log p(y) = -1/2 log|A| - a_n log(b0 + (y'y - b'S A^{-1} S b) / 2) + const   (regression)
    log p(z) = -1/2 log|A| + b'S A^{-1} S b / 2 + const                       (given the noise)

and with m = A^{-1} S b the derivative in log alpha is
sum over its features of 1/2 [(A^{-1})_pp - 1 + m_p^2 a_n / b_n], or without a_n / b_n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack
from scipy.optimize import minimize
from scipy.special import expit

from .chunks import Array, Gram
from .logistic import fit_logistic, in_memory

SMALLEST, LARGEST = 1e-8, 1e10


@dataclass(frozen=True)
class NoisePrior:
    """noise ~ IG(a0, b0), integrated out."""

    a0: float
    b0: float


def feature_variances(alpha: Array, kernel_of: np.ndarray) -> Array:
    """D_p = alpha_m M / M_m for both features of each frequency; kernel_of (M,) -> (2M,)."""
    counts = np.bincount(kernel_of, minlength=alpha.size)
    share = alpha * kernel_of.size / np.maximum(counts, 1)
    return np.repeat(share[kernel_of], 2)


def weight_evidence(
    alpha: Array, stats: Gram, kernel_of: np.ndarray, prior: NoisePrior | None
) -> tuple[float, Array]:
    """Log evidence, up to a constant, and its derivative in log alpha; alpha (K,) -> (K,).

    ``prior`` None means that the noise variance is one (a weighted working response).
    """
    S = np.sqrt(feature_variances(alpha, kernel_of))
    A = S[:, None] * stats.G * S
    A[np.diag_indices_from(A)] += 1.0
    factor, _ = cho_factor(A, lower=True, check_finite=False)
    target = S * stats.b[:, 0]
    m = cho_solve((factor, True), target, check_finite=False)
    inverse, _ = lapack.dpotri(factor, lower=1)
    log_det = 2.0 * float(np.log(np.diag(factor)).sum())
    explained = float(target @ m)
    if prior is None:
        value, precision = 0.5 * explained - 0.5 * log_det, 1.0
    else:
        a_n = prior.a0 + 0.5 * stats.n
        b_n = prior.b0 + 0.5 * max(float(stats.yy[0]) - explained, 0.0)
        value, precision = -a_n * float(np.log(b_n)) - 0.5 * log_det, a_n / b_n
    terms = 0.5 * (np.diag(inverse) - 1.0 + precision * m**2)
    per_frequency = terms[0::2] + terms[1::2]
    slope = np.bincount(kernel_of, weights=per_frequency, minlength=alpha.size)
    return value, slope.astype(np.float64)


def learn_weights(
    start: Array,
    statistics: Sequence[Gram],
    kernel_of: np.ndarray,
    prior: NoisePrior | None,
    max_iter: int = 100,
    prune: float = 0.1,
) -> Array:
    """The weights alpha (K,) that maximise the summed evidence of several statistics.

    L-BFGS-B in log alpha from ``start``; then each weight is set to zero whose absence costs less
    than ``prune`` nats, smallest first.
    """

    def total(alpha: Array) -> tuple[float, Array]:
        parts = [weight_evidence(alpha, stats, kernel_of, prior) for stats in statistics]
        return sum(value for value, _ in parts), np.sum([grad for _, grad in parts], axis=0)

    def objective(u: Array) -> tuple[float, Array]:
        value, gradient = total(np.exp(u))
        return -value, -gradient

    bounds = [(np.log(SMALLEST), np.log(LARGEST))] * start.size
    u0 = np.clip(np.log(start), *bounds[0])
    found = minimize(
        objective, u0, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": max_iter}
    )
    alpha = np.exp(found.x)
    value = -float(found.fun)
    for m in np.argsort(alpha) if prune > 0 else ():
        without = alpha.copy()
        without[m] = 0.0
        if not np.any(without):
            break
        reduced, _ = total(without)
        if reduced > value - prune:
            alpha, value = without, reduced
    return alpha


def working_statistic(Phi: Array, t: Array, f: Array) -> Gram:
    """The Gram statistic of the quadratic expansion of the logistic likelihood around logits f.

    Row weights w = p (1 - p) and working targets z = f + (t - p) / w, with the constant feature
    eliminated; Phi (n, P), t (n,), f (n,).
    """
    p = expit(f)
    w = np.maximum(p * (1.0 - p), 1e-10)
    weighted = np.sqrt(w)[:, None] * Phi
    wz = w * f + t - p
    column = Phi.T @ w
    G = weighted.T @ weighted - np.outer(column, column) / w.sum()
    b = Phi.T @ wz - column * (wz.sum() / w.sum())
    return Gram(G, b[:, None], np.zeros(1), t.size)


def learn_logistic_weights(
    start: Array, Phi: Array, T: Array, kernel_of: np.ndarray, n_rounds: int = 5
) -> Array:
    """Weights alpha (K,) of a logistic model, alternating with the mode of its weights.

    Phi (n, 2M) unweighted features, T (n, C) 0/1 targets that share alpha.
    """
    alpha = start
    for round_ in range(n_rounds):
        amplitude = np.sqrt(feature_variances(alpha, kernel_of))
        weighted = np.hstack([Phi * amplitude, np.ones((Phi.shape[0], 1))])
        penalty = np.append(np.ones(amplitude.size), min(1.0, 1e-6 * Phi.shape[0]))
        statistics = []
        for t in T.T:
            blocks = partial(in_memory, weighted, t)
            mode = fit_logistic(blocks, penalty, np.zeros(penalty.size), 1e-3, warn=False)
            statistics.append(working_statistic(Phi, t, weighted @ mode.beta))
        last = round_ == n_rounds - 1
        alpha = learn_weights(
            np.maximum(alpha, SMALLEST),
            statistics,
            kernel_of,
            prior=None,
            max_iter=100 if last else 10,
            prune=0.1 if last else 0.0,
        )
    return alpha
