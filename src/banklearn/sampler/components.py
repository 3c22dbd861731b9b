"""(mu_k, Sigma_k) from their normal-inverse-Wishart posterior."""

from __future__ import annotations

import numpy as np

from banklearn.model import niw
from banklearn.model.joint import State
from banklearn.model.priors import Prior


def log_conditional(k: int, state: State, prior: Prior) -> float:
    """log p(mu_k, Sigma_k | W, Z, psi)."""
    law = niw.posterior(prior.base(state.psi), state.W[state.Z == k])
    return niw.log_density(law, state.mu[k], state.Sigma[k])


def update(state: State, prior: Prior, rng: np.random.Generator) -> State:
    """Draw all components."""
    base = prior.base(state.psi)
    drawn = [niw.draw(niw.posterior(base, state.W[state.Z == k]), rng) for k in range(state.K)]
    return state.with_(
        mu=np.stack([mu for mu, _ in drawn]), Sigma=np.stack([Sigma for _, Sigma in drawn])
    )
