"""alpha given the number of components (Escobar and West, 1995)."""

from __future__ import annotations

import numpy as np

from banklearn.model.dirichlet_process import log_gamma_prior
from banklearn.model.joint import State
from banklearn.model.priors import Prior


def log_conditional(alpha: float, eta: float, K: int, M: int, prior: Prior) -> float:
    """Unnormalised log p(alpha, eta | K), eta in (0, 1); its marginal in alpha is p(alpha | K).

    p(alpha | K) is proportional to p(alpha) alpha^(K-1) (alpha + M) B(alpha + 1, M), and eta is
    the variable of the beta integral.
    """
    return float(
        log_gamma_prior(alpha, prior.alpha_shape, prior.alpha_rate)
        + (K - 1) * np.log(alpha)
        + np.log(alpha + M)
        + alpha * np.log(eta)
        + (M - 1) * np.log1p(-eta)
    )


def update(state: State, prior: Prior, rng: np.random.Generator) -> State:
    """eta | alpha ~ Beta(alpha + 1, M), then alpha | eta from a mixture of two gamma laws."""
    M, K = state.M, state.K
    log_eta = np.log(rng.beta(state.alpha + 1.0, M))
    rate = prior.alpha_rate - log_eta
    shape = prior.alpha_shape + K - 1.0
    odds = shape / (M * rate)
    if rng.random() * (1.0 + odds) < odds:
        shape += 1.0
    alpha = float(rng.gamma(shape) / rate)
    # A shape below one can round to zero; the smallest normal number stands for it.
    return state.with_(alpha=max(alpha, np.finfo(float).tiny))
