"""Z_j by Gibbs sampling of the Chinese restaurant process, new components in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from banklearn.model import niw
from banklearn.model.equations import equation
from banklearn.model.joint import State
from banklearn.model.priors import Prior

Array = NDArray[np.float64]


@equation("sampling Z_j")
def log_conditional(j: int, state: State, prior: Prior) -> Array:
    """Unnormalised log P(Z_j = k | rest) for the K components in use, then for a new one.

    log m_k^-j + log N(W_j | mu_k, Sigma_k) where m_k^-j > 0 (else -inf), and
    log alpha + log of the predictive multivariate t.
    """
    m = np.bincount(np.delete(state.Z, j), minlength=state.K).astype(float)
    with np.errstate(divide="ignore"):
        existing = np.log(m)
    for k in range(state.K):
        existing[k] += niw.log_normal(state.W[j], state.mu[k], state.Sigma[k]).item()
    new = np.log(state.alpha) + niw.log_predictive(prior.base(state.psi), state.W[j]).item()
    return np.append(existing, new)


def update(state: State, prior: Prior, rng: np.random.Generator) -> State:
    """One pass over all Z_j; a new component's parameters are drawn given its first member."""
    from banklearn.numerics import _compiled

    W, base = state.W, prior.base(state.psi)
    u = rng.random(state.M)
    Z = state.Z.copy()
    mu, Sigma = list(state.mu), list(state.Sigma)
    counts = np.bincount(Z, minlength=len(mu))
    density = np.stack([niw.log_normal(W, m, S) for m, S in zip(mu, Sigma, strict=True)], axis=1)
    log_new = niw.log_predictive(base, W)
    j = 0
    while True:
        j = _compiled.crp_walk(j, u, Z, counts, density, log_new, np.log(state.alpha))
        if j == state.M:
            break
        fresh = niw.draw(niw.posterior(base, W[j : j + 1]), rng)
        mu.append(fresh[0])
        Sigma.append(fresh[1])
        density = np.column_stack([density, niw.log_normal(W, *fresh)])
        Z[j] = len(counts)
        counts = np.append(counts, 1)
        j += 1
    used, Z = np.unique(Z, return_inverse=True)
    return state.with_(
        Z=Z.astype(np.int64),
        mu=np.stack([mu[k] for k in used]),
        Sigma=np.stack([Sigma[k] for k in used]),
    )
