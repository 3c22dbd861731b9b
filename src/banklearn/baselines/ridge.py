"""Ridge regression and its evidence along a path of ridges, from one eigendecomposition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.special import gammaln

from .chunks import Array, Gram


@dataclass(frozen=True)
class RidgePath:
    """The Gram statistic in its eigenbasis, G = V diag(e) V', c = V'b.

    e (P,), V (P, P), c (P, C), yy (C,).  Every ridge then costs O(P), not O(P^3).
    """

    e: Array
    V: Array
    c: Array
    yy: Array
    n: int

    def weights(self, lams: Array) -> Array:
        """mu_n = V (e + lam)^{-1} c for each ridge; lams (L,) -> (P, C, L)."""
        shrunk = self.c[:, :, None] / (self.e[:, None, None] + lams)
        return np.tensordot(self.V, shrunk, axes=1)

    def rest(self, lams: Array) -> Array:
        """Y'Y - mu_n' Lambda_n mu_n for each ridge; lams (L,) -> (C, L)."""
        explained = np.einsum("pc,pl->cl", self.c**2, 1.0 / (self.e[:, None] + lams))
        return np.maximum(self.yy[:, None] - explained, 0.0)

    def log_evidence(self, lams: Array, a0: float, b0: float) -> Array:
        """The paper's model evidence with weights and noise integrated out, lams (L,) -> (C, L).

        log p(Y) = log Gamma(a_n)/Gamma(a0) + a0 log b0 - a_n log b_n
                   + 1/2 log |Lambda_0| / |Lambda_n| - n/2 log 2 pi,
        Lambda_0 = lam I, Lambda_n = G + lam I, a_n = a0 + n/2,
        b_n = b0 + (Y'Y - mu_n' Lambda_n mu_n) / 2.
        """
        a_n = a0 + 0.5 * self.n
        b_n = b0 + 0.5 * self.rest(lams)
        log_det_ratio = -np.log1p(self.e[:, None] / lams).sum(axis=0)
        constant = gammaln(a_n) - gammaln(a0) + a0 * np.log(b0) - 0.5 * self.n * np.log(2 * np.pi)
        return np.asarray(constant - a_n * np.log(b_n) + 0.5 * log_det_ratio)


def ridge_path(stats: Gram) -> RidgePath:
    """Eigendecompose a Gram statistic once, O(P^3); rounding below zero is cut off."""
    e, V = eigh(stats.G, check_finite=False)
    return RidgePath(np.maximum(e, 0.0), V, V.T @ stats.b, stats.yy, stats.n)


@dataclass(frozen=True)
class RidgePosterior:
    """Normal-inverse-gamma posterior of weights and noise for one target.

    beta | noise ~ N(mu_n, noise Lambda_n^{-1}), noise ~ IG(a_n, b_n);
    ``root`` (P, P) satisfies root root' = Lambda_n^{-1}.
    """

    mu_n: Array
    root: Array
    a_n: float
    b_n: float
    lam: float

    @property
    def noise(self) -> float:
        """Posterior mean of the noise variance, b_n / (a_n - 1)."""
        return self.b_n / max(self.a_n - 1.0, 0.5 * self.a_n)

    def mean(self, Phi: Array) -> Array:
        """E[y | phi] = phi' mu_n; Phi (N, P) -> (N,)."""
        return Phi @ self.mu_n

    def std(self, Phi: Array) -> Array:
        """Predictive standard deviation, noise (1 + phi' Lambda_n^{-1} phi) under the root."""
        spread = Phi @ self.root
        return np.sqrt(self.noise * (1.0 + np.einsum("ip,ip->i", spread, spread)))


def ridge_posterior(stats: Gram, lam: float, a0: float, b0: float) -> RidgePosterior:
    """The posterior at one ridge for a statistic with a single target (C = 1)."""
    path = ridge_path(stats)
    lams = np.array([lam])
    mu_n = path.weights(lams)[:, 0, 0]
    b_n = b0 + 0.5 * float(path.rest(lams)[0, 0])
    root = path.V / np.sqrt(path.e + lam)
    return RidgePosterior(mu_n, root, a0 + 0.5 * stats.n, b_n, lam)
