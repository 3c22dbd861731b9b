"""One kept draw: enough to predict, small enough to keep by the hundred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.model import niw
from banklearn.model.dirichlet_process import draw_shares
from banklearn.model.evidence import Ridge, posterior_rate
from banklearn.model.joint import State
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import solve_lower_transposed
from banklearn.sampler.sweep import Chain

Array = NDArray[np.float64]

#: Columns of the sketch of A^-1 that stands for the uncertainty of the weights.
SKETCH = 16


@dataclass(frozen=True)
class Draw:
    """Frequencies, the law of the weights given them, and the spectral mixture.

    The weights of task t are mu_n[t] + sqrt(noise) root[t] xi: root (T, P, R) has E[root root'] =
    A^-1 (columns are independent draws divided by sqrt(R); exact when P <= R).
    pi has one entry more than there were components: the mass of components not yet seen, with
    one draw from the base measure standing for them.
    """

    W: Array
    mu_n: Array
    root: Array
    noise: float
    dof: float
    lam: float
    alpha: float
    pi: Array
    mu: Array
    Sigma: Array
    log_evidence: float
    chain: int
    sweep: int


#: The same for classification, where every column is used as a draw of the weights.
WEIGHT_DRAWS = 8


def covariance_root(L: Array, rng: np.random.Generator, columns: int = SKETCH) -> Array:
    """root (P, R) with root root' = (L L')^-1 in expectation, exactly when P <= columns."""
    P = len(L)
    xi = np.eye(P) if columns >= P else rng.standard_normal((P, columns)) / np.sqrt(columns)
    # Rows first: products then round the same before and after a draw was stored.
    return np.ascontiguousarray(solve_lower_transposed(L, xi))


def weight_draws(
    solutions: Sequence[Ridge], rng: np.random.Generator, columns: int = WEIGHT_DRAWS
) -> Array:
    """Draws of each task's weights about their mean, divided by sqrt(columns): (T, P, columns)."""
    return np.stack(  # which puts rows first
        [
            solve_lower_transposed(s.L, rng.standard_normal((len(s.v), columns)) / np.sqrt(columns))
            for s in solutions
        ]
    )


def spectral_mixture(
    state: State, prior: Prior, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """(pi, mu, Sigma) of the spectral density: pi ~ Dirichlet(m_1, ..., m_K, alpha)."""
    m = np.bincount(state.Z, minlength=state.K).astype(float)
    pi = draw_shares(m, state.alpha, rng)
    mu, Sigma = niw.draw(prior.base(state.psi), rng)
    return (
        pi,
        np.concatenate([state.mu, mu[None]]),
        np.concatenate([state.Sigma, Sigma[None]]),
    )


def regression_draw(
    chain: Chain, prior: Prior, chain_id: int, sweep: int, rng: np.random.Generator
) -> Draw:
    """Keep a draw of a regression chain: Student t with scale^2 noise (1 + phi'A^-1 phi)."""
    solution = chain.solved.solutions[0]
    a_n = prior.a0 + 0.5 * float(chain.gram.n[0])
    b_n = posterior_rate(solution, float(chain.gram.tt[0]), prior.b0)
    root = covariance_root(solution.L, rng)[None]
    return _draw(chain, prior, chain_id, sweep, rng, b_n / a_n, 2.0 * a_n, root)


def classification_draw(
    chain: Chain, prior: Prior, chain_id: int, sweep: int, rng: np.random.Generator
) -> Draw:
    """Keep a draw of a classification chain: weights normal given the augmentation."""
    roots = weight_draws(chain.solved.solutions, rng)
    return _draw(chain, prior, chain_id, sweep, rng, 1.0, np.inf, roots)


def weights_draw(
    chain: Any, prior: Prior, chain_id: int, sweep: int, rng: np.random.Generator
) -> Draw:
    """Keep a draw of a chain whose weights are sampled, not integrated out."""
    pi, mu, Sigma = spectral_mixture(chain.state, prior, rng)
    beta = chain.beta
    return Draw(
        W=chain.state.W,
        mu_n=beta,
        root=np.zeros((*beta.shape, 1)),
        noise=1.0,
        dof=np.inf,
        lam=chain.state.lam,
        alpha=chain.state.alpha,
        pi=pi,
        mu=mu,
        Sigma=Sigma,
        log_evidence=float("nan"),
        chain=chain_id,
        sweep=sweep,
    )


def _draw(
    chain: Chain,
    prior: Prior,
    chain_id: int,
    sweep: int,
    rng: np.random.Generator,
    noise: float,
    dof: float,
    root: Array,
) -> Draw:
    pi, mu, Sigma = spectral_mixture(chain.state, prior, rng)
    return Draw(
        W=chain.state.W,
        mu_n=np.stack([s.mu_n for s in chain.solved.solutions]),
        root=root,
        noise=noise,
        dof=dof,
        lam=chain.solved.lam,
        alpha=chain.state.alpha,
        pi=pi,
        mu=mu,
        Sigma=Sigma,
        log_evidence=chain.solved.log_evidence,
        chain=chain_id,
        sweep=sweep,
    )
