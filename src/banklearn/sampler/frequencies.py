"""Proposals for the frequencies: the paper's jump and the local (pCN) move.

Both leave N(mu_Zj, Sigma_Zj) invariant, so the acceptance ratio is the ratio of evidences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from banklearn.gram import Gram
from banklearn.model import niw
from banklearn.model.equations import equation
from banklearn.model.joint import State
from banklearn.numerics.linalg import cholesky

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Moves:
    """Which moves a sweep proposes: the tuning of the frequency update.

    With probability jump a frequency is proposed afresh from its component (rho = 1); otherwise
    it moves locally with log rho uniform between log rho_min and 0. With probability switch a
    jump redraws the component too (:mod:`.switch`). In a share `exchange` of the sweeps all
    proposals are candidates for every place instead (:mod:`.exchange`).
    """

    jump: float = 0.5
    rho_min: float = 0.02
    switch: float = 0.0
    exchange: float = 0.0

    def exchanges(self, sweep: int) -> bool:
        """Whether the proposals of this sweep are candidates for every place."""
        return int(sweep * self.exchange) > int((sweep - 1) * self.exchange)

    def draw_rho(self, M: int, rng: np.random.Generator) -> Array:
        """rho_j for each frequency."""
        local = np.exp(np.log(self.rho_min) * rng.random(M))
        return np.where(rng.random(M) < self.jump, 1.0, local)


def propose(state: State, rho: Array, rng: np.random.Generator) -> Array:
    """W_j* = mu + sqrt(1 - rho^2) (W_j - mu) + rho Sigma^(1/2) xi, all j at once; rho = 1 jumps."""
    xi = rng.standard_normal(state.W.shape)
    noise = np.empty_like(xi)
    for k, Sigma in enumerate(state.Sigma):
        members = state.Z == k
        noise[members] = xi[members] @ cholesky(Sigma).T
    centre = state.mu[state.Z]
    keep = np.sqrt(1.0 - rho**2)[:, None]
    return np.asarray(centre + keep * (state.W - centre) + rho[:, None] * noise)


def log_proposal(j: int, start: Array, end: Array, rho: float, state: State) -> float:
    """log q(end | start) of the move of frequency j with 0 < rho <= 1."""
    mu, Sigma = state.mu[state.Z[j]], state.Sigma[state.Z[j]]
    mean = mu + np.sqrt(1.0 - rho**2) * (start - mu)
    return niw.log_normal(end, mean, rho**2 * Sigma).item()


def log_conditional(j: int, state: State, log_evidence: float) -> float:
    """Unnormalised log p(W_j | rest); log_evidence is log p(Y | X, W, lam)."""
    k = state.Z[j]
    return niw.log_normal(state.W[j], state.mu[k], state.Sigma[k]).item() + log_evidence


@equation("rreg")
def joint_acceptance(log_evidence_star: float, log_evidence: float) -> float:
    """log r when all of W is proposed at once: the log ratio of evidences."""
    return min(0.0, log_evidence_star - log_evidence)


def accepted_frequencies(W: Array, W_star: Array, accepted: NDArray[np.bool_]) -> Array:
    """W with the accepted rows replaced."""
    return np.where(accepted[:, None], W_star, W)


def select_all(gram: Gram, h: int, M: int) -> Gram:
    """The statistic of the proposed columns alone (with the trend)."""
    return gram.select(np.r_[0:h, h + 2 * M : h + 4 * M])
