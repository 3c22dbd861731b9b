"""The normal-inverse-Wishart law of a spectral component: posterior, draws, density, predictive."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, multigammaln

from banklearn.model.equations import equation
from banklearn.numerics.linalg import cholesky, solve_lower, solve_lower_transposed

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NIW:
    """Sigma ~ W^-1(Psi, nu), mu | Sigma ~ N(mu0, Sigma / kappa)."""

    mu0: Array
    kappa: float
    Psi: Array
    nu: float

    @cached_property
    def root(self) -> Array:
        """The lower triangular factor of Psi."""
        return cholesky(self.Psi)

    @cached_property
    def log_norm(self) -> float:
        """log Gamma_d(nu / 2) - nu / 2 log|Psi|, from the integral over Sigma."""
        log_det = 2.0 * np.log(np.diag(self.root)).sum()
        return float(multigammaln(0.5 * self.nu, len(self.mu0)) - 0.5 * self.nu * log_det)


@equation("sampling mu_k and Sigma_k")
def posterior(base: NIW, W: Array) -> NIW:
    """The law of (mu_k, Sigma_k) given the m frequencies W (m, d) of the component.

    Psi_k = Psi_0 + sum_j (W_j - Wbar)(W_j - Wbar)' + kappa0 m / (kappa0 + m) (Wbar - mu0)(...)',
    nu_k = nu0 + m, kappa_k = kappa0 + m, mean (kappa0 mu0 + m Wbar) / (kappa0 + m).
    """
    m = len(W)
    if m == 0:
        return base
    mean = W.mean(axis=0)
    centred = W - mean
    shift = mean - base.mu0
    kappa = base.kappa + m
    Psi = base.Psi + centred.T @ centred + (base.kappa * m / kappa) * np.outer(shift, shift)
    return NIW((base.kappa * base.mu0 + m * mean) / kappa, kappa, Psi, base.nu + m)


def draw(law: NIW, rng: np.random.Generator) -> tuple[Array, Array]:
    """One (mu, Sigma) by Bartlett's decomposition."""
    d = len(law.mu0)
    # Sigma^-1 = C^-T T T' C^-1 with C C' = Psi and T lower triangular, so Sigma = B B', B = C T^-T.
    T = np.tril(rng.standard_normal((d, d)))
    T[np.diag_indices(d)] = np.sqrt(rng.chisquare(law.nu - np.arange(d)))
    B = solve_lower(T, law.root.T).T
    Sigma = B @ B.T
    mu = law.mu0 + B @ rng.standard_normal(d) / np.sqrt(law.kappa)
    return mu, Sigma


def log_normal(W: Array, mu: Array, Sigma: Array) -> Array:
    """log N(W_j | mu, Sigma) for rows W (m, d)."""
    L = cholesky(Sigma)
    white = solve_lower(L, np.atleast_2d(W - mu).T)
    return np.asarray(
        -0.5 * (white**2).sum(axis=0) - np.log(np.diag(L)).sum() - 0.5 * len(mu) * np.log(2 * np.pi)
    )


def log_density(law: NIW, mu: Array, Sigma: Array) -> float:
    """log NIW(mu, Sigma)."""
    d = len(mu)
    L, C = cholesky(Sigma), law.root
    log_det = 2 * np.log(np.diag(L)).sum()
    log_det_Psi = 2 * np.log(np.diag(C)).sum()
    trace = (solve_lower(L, C) ** 2).sum()
    log_iw = (
        0.5 * law.nu * log_det_Psi
        - 0.5 * law.nu * d * np.log(2)
        - multigammaln(0.5 * law.nu, d)
        - 0.5 * (law.nu + d + 1) * log_det
        - 0.5 * trace
    )
    return float(log_iw + log_normal(mu[None], law.mu0, Sigma / law.kappa).item())


def log_marginal(base: NIW, law: NIW) -> float:
    """log of the integral of prod_j N(W_j | mu, Sigma) NIW(mu, Sigma); law is the posterior.

    Gamma_d(nu_k / 2) / Gamma_d(nu_0 / 2) |Psi_0|^(nu_0 / 2) / |Psi_k|^(nu_k / 2)
    (kappa_0 / kappa_k)^(d / 2) pi^(-m d / 2).
    """
    d, m = len(base.mu0), law.nu - base.nu
    return float(
        law.log_norm
        - base.log_norm
        + 0.5 * d * np.log(base.kappa / law.kappa)
        - 0.5 * m * d * np.log(np.pi)
    )


def marginal_slope(law: NIW, W: Array) -> Array:
    """The gradient of log_marginal in its members W (m, d): -nu_k Psi_k^-1 (W_j - mu_k)."""
    white = solve_lower(law.root, (W - law.mu0).T)
    return np.asarray(-law.nu * solve_lower_transposed(law.root, white).T)


def log_predictive(law: NIW, W: Array) -> Array:
    """log of the integral of N(w | mu, Sigma) NIW(mu, Sigma): a multivariate t, for rows W (m, d).

    Degrees of freedom nu - d + 1, location mu0, scale Psi (kappa + 1) / (kappa (nu - d + 1)).
    """
    d = len(law.mu0)
    dof = law.nu - d + 1
    L = cholesky(law.Psi * ((law.kappa + 1) / (law.kappa * dof)))
    white = solve_lower(L, np.atleast_2d(W - law.mu0).T)
    return np.asarray(
        gammaln(0.5 * (dof + d))
        - gammaln(0.5 * dof)
        - 0.5 * d * np.log(dof * np.pi)
        - np.log(np.diag(L)).sum()
        - 0.5 * (dof + d) * np.log1p((white**2).sum(axis=0) / dof)
    )
