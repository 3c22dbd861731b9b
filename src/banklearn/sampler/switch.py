"""Jumps between components: (Z_j, W_j) proposed together from the spectral mixture.

Given the state, the Dirichlet process has posterior G = sum_k pi_k delta(mu_k, Sigma_k) + pi_0 G_0
with (pi_1, ..., pi_K, pi_0) ~ Dirichlet(m_1, ..., m_K, alpha) and G_0 ~ DP(alpha, base). Given G
the pairs (Z_j, W_j) are independent a priori, so a pair proposed from G is accepted by the ratio
of evidences alone, and all M proposals can be drawn before the sweep. Afterwards G is forgotten.
The paper's jump leaves Z_j where it is, and frequencies change components only where components
overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from banklearn.model import niw
from banklearn.model.dirichlet_process import draw_shares
from banklearn.model.joint import State
from banklearn.model.priors import Prior
from banklearn.sampler.frequencies import Moves, accepted_frequencies, propose

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Proposals:
    """W* and Z* of every frequency, the components they belong to (those in use come first)."""

    W: Array
    Z: Labels
    mu: Array
    Sigma: Array
    rho: Array

    def taken(self, state: State, accepted: Flags) -> State:
        """The state after the decisions."""
        W = accepted_frequencies(state.W, self.W, accepted)
        return self.placed(state, W, np.where(accepted, self.Z, state.Z))

    def placed(self, state: State, W: Array, labels: Labels) -> State:
        """The state with frequencies W of these components, without those that nobody uses."""
        used, Z = np.unique(labels, return_inverse=True)
        return state.with_(W=W, Z=Z.astype(np.int64), mu=self.mu[used], Sigma=self.Sigma[used])


def offer(state: State, prior: Prior, moves: Moves, rng: np.random.Generator) -> Proposals:
    """Proposals for all frequencies: local moves, jumps, and jumps to another component."""
    rho = moves.draw_rho(state.M, rng)
    Z, mu, Sigma = state.Z, state.mu, state.Sigma
    if moves.switch > 0.0:
        leave = np.flatnonzero((rho == 1.0) & (rng.random(state.M) < moves.switch))
        drawn, mu, Sigma = draw_components(len(leave), state, prior, rng)
        Z = Z.copy()
        Z[leave] = drawn
    W = propose(state.with_(Z=Z, mu=mu, Sigma=Sigma), rho, rng)
    return Proposals(W, Z, mu, Sigma, rho)


def draw_components(
    n: int, state: State, prior: Prior, rng: np.random.Generator
) -> tuple[Labels, Array, Array]:
    """n labels from G, and its components as far as they were met.

    Draws that fall on the mass that is left follow Polya's urn, which is the law of draws from
    G_0: as many steps as draws, however large alpha is.
    """
    m = np.bincount(state.Z, minlength=state.K).astype(float)
    edges = np.cumsum(draw_shares(m, state.alpha, rng)[:-1])
    labels = np.searchsorted(edges, rng.random(n), side="right").astype(np.int64)
    mu, Sigma = list(state.mu), list(state.Sigma)
    base = prior.base(state.psi)
    urn: list[int] = []
    for i in np.flatnonzero(labels == state.K):
        place = rng.random() * (len(urn) + state.alpha)
        if place < len(urn):
            labels[i] = urn[int(place)]
        else:
            atom = niw.draw(base, rng)
            labels[i] = len(mu)
            mu.append(atom[0])
            Sigma.append(atom[1])
        urn.append(int(labels[i]))
    return labels, np.stack(mu), np.stack(Sigma)
