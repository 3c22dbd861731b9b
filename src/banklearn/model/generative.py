"""The generative model forwards: draw everything from the prior, then simulate targets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from banklearn.model import niw
from banklearn.model.dirichlet_process import draw_crp
from banklearn.model.equations import equation
from banklearn.model.features import Trend, feature_rows
from banklearn.model.joint import State
from banklearn.model.priors import Prior

Array = NDArray[np.float64]


@equation("generative model, steps 1-5")
def draw_state(prior: Prior, M: int, rng: np.random.Generator) -> State:
    """Steps 1 to 4: concentration, partition, components, frequencies, precision."""
    alpha = float(rng.gamma(prior.alpha_shape) / prior.alpha_rate)
    if prior.psi_shape is None:
        psi = prior.psi_mean.copy()
    else:
        psi = rng.gamma(prior.psi_shape, prior.psi_mean / prior.psi_shape)
    Z = draw_crp(M, alpha, rng)
    K = int(Z.max()) + 1
    base = prior.base(psi)
    mu = np.empty((K, prior.d))
    Sigma = np.empty((K, prior.d, prior.d))
    for k in range(K):
        mu[k], Sigma[k] = niw.draw(base, rng)
    lam = float(np.exp(prior.lam_log_mean + prior.lam_log_sd * rng.standard_normal()))
    return State(draw_frequencies(Z, mu, Sigma, rng), Z, mu, Sigma, alpha, lam, psi)


def draw_frequencies(
    Z: NDArray[np.int64], mu: Array, Sigma: Array, rng: np.random.Generator
) -> Array:
    """Step 3(b): W_j ~ N(mu_Zj, Sigma_Zj)."""
    L = np.linalg.cholesky(Sigma)
    xi = rng.standard_normal((len(Z), mu.shape[1]))
    return np.asarray(mu[Z] + np.einsum("jab,jb->ja", L[Z], xi))


def draw_weights(lam: float, P: int, noise: float, rng: np.random.Generator) -> Array:
    """Step 4: beta | noise ~ N(0, noise / lam I)."""
    return np.asarray(rng.standard_normal(P) * np.sqrt(noise / lam))


def simulate_regression(
    X: Array, state: State, prior: Prior, trend: Trend, rng: np.random.Generator
) -> tuple[Array, Array, float]:
    """Steps 4 and 5: (Y, beta, noise)."""
    Phi = feature_rows(X, state.W, trend).T
    noise = float(prior.b0 / rng.gamma(prior.a0))
    beta = draw_weights(state.lam, Phi.shape[1], noise, rng)
    return Phi @ beta + np.sqrt(noise) * rng.standard_normal(len(X)), beta, noise


def simulate_classification(
    X: Array, state: State, trend: Trend, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Steps 4 and 5(b): (Y in {0, 1}, beta)."""
    Phi = feature_rows(X, state.W, trend).T
    beta = draw_weights(state.lam, Phi.shape[1], 1.0, rng)
    probability = 1.0 / (1.0 + np.exp(-(Phi @ beta)))
    return (rng.random(len(X)) < probability).astype(np.float64), beta
