"""The full log joint density: the yardstick of every conditional update."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from banklearn.model import niw
from banklearn.model.dirichlet_process import log_crp, log_gamma_prior
from banklearn.model.equations import equation
from banklearn.model.priors import Prior

Array = NDArray[np.float64]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class State:
    """What a chain carries from sweep to sweep: the unknowns that are not integrated out."""

    W: Array
    Z: Labels
    mu: Array
    Sigma: Array
    alpha: float
    lam: float
    psi: Array

    @property
    def M(self) -> int:
        """Number of frequencies."""
        return len(self.W)

    @property
    def K(self) -> int:
        """Number of components in use."""
        return len(self.mu)

    def with_(self, **changes: object) -> State:
        """A copy with some fields replaced."""
        return replace(self, **changes)  # type: ignore[arg-type]


@equation("sampleW")
def log_frequencies(state: State) -> float:
    """log P(W | Z, mu, Sigma) = sum_j log N(W_j | mu_Zj, Sigma_Zj)."""
    return float(
        sum(
            niw.log_normal(state.W[state.Z == k], state.mu[k], state.Sigma[k]).sum()
            for k in range(state.K)
        )
    )


def log_prior(state: State, prior: Prior) -> float:
    """log p(W, Z, mu, Sigma, psi, alpha, lam); lam through its logarithm."""
    base = prior.base(state.psi)
    return (
        log_crp(state.Z, state.alpha)
        + log_gamma_prior(state.alpha, prior.alpha_shape, prior.alpha_rate)
        + sum(niw.log_density(base, state.mu[k], state.Sigma[k]) for k in range(state.K))
        + log_frequencies(state)
        + prior.log_lam(state.lam)
        + prior.log_psi(state.psi)
    )


def log_joint(state: State, prior: Prior, log_evidence: float) -> float:
    """log p(Y, W, Z, mu, Sigma, psi, alpha, lam | X); log_evidence is log p(Y | X, W, lam)."""
    return log_prior(state, prior) + log_evidence
