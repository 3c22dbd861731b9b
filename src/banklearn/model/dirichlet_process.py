"""The Dirichlet process through its Chinese restaurant process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Array = NDArray[np.float64]
Labels = NDArray[np.int64]


def log_crp(Z: Labels, alpha: float) -> float:
    """log p(Z | alpha) = K log alpha + sum_k log (m_k - 1)! + log G(alpha) - log G(alpha + M).

    Z is a partition: labels only say who sits together.
    """
    m = np.bincount(Z)
    m = m[m > 0]
    return float(
        len(m) * np.log(alpha) + gammaln(m).sum() + gammaln(alpha) - gammaln(alpha + len(Z))
    )


def draw_crp(M: int, alpha: float, rng: np.random.Generator) -> Labels:
    """Assignments of M customers, one after another."""
    Z = np.zeros(M, dtype=np.int64)
    counts: list[float] = []
    for j in range(M):
        p = np.array([*counts, alpha])
        k = int(np.searchsorted(np.cumsum(p), rng.random() * p.sum(), side="right"))
        k = min(k, len(counts))
        if k == len(counts):
            counts.append(0.0)
        counts[k] += 1.0
        Z[j] = k
    return Z


def draw_shares(m: Array, alpha: float, rng: np.random.Generator) -> Array:
    """(pi_1, ..., pi_K, pi_0) ~ Dirichlet(m_1, ..., m_K, alpha): components with m members, and
    the mass of those not yet seen."""
    gamma = np.append(rng.gamma(m), rng.gamma(alpha))
    return np.asarray(gamma / gamma.sum())


def log_gamma_prior(x: float, shape: float, rate: float) -> float:
    """log Gamma(x | shape, rate)."""
    return float(shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x)
