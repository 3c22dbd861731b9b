"""psi, the diagonal of Psi0: conjugate given the components' covariances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from banklearn.model.joint import State
from banklearn.model.priors import Prior

Array = NDArray[np.float64]


def _posterior(state: State, prior: Prior) -> tuple[float, Array]:
    """Shape and rates: psi_i ~ Gamma(a + K nu0 / 2, a / mean_i + sum_k (Sigma_k^-1)_ii / 2)."""
    assert prior.psi_shape is not None
    precision = np.diagonal(np.linalg.inv(state.Sigma), axis1=1, axis2=2).sum(axis=0)
    return (
        prior.psi_shape + 0.5 * state.K * prior.nu0,
        prior.psi_shape / prior.psi_mean + 0.5 * precision,
    )


def log_conditional(psi: Array, state: State, prior: Prior) -> float:
    """log p(psi | Sigma)."""
    shape, rate = _posterior(state, prior)
    return float(
        np.sum(shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(psi) - rate * psi)
    )


def update(state: State, prior: Prior, rng: np.random.Generator) -> State:
    """Draw psi, unless the prior fixes it."""
    if prior.psi_shape is None:
        return state
    shape, rate = _posterior(state, prior)
    return state.with_(psi=np.maximum(rng.gamma(shape, size=prior.d) / rate, 1e-300))
