"""Small problems, and slow plain versions of what the package computes fast."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import multivariate_t

from banklearn.engines.memory import MemoryEngine
from banklearn.gram import Gram, GramSum
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.model.features import Trend
from banklearn.model.generative import draw_state, simulate_regression
from banklearn.model.joint import State
from banklearn.model.priors import Prior
from banklearn.numerics.streams import Streams

#: The seeds of the exact tests.
HUNDRED = range(100)

#: How often one statistical comparison may fail although the code is right.
FALSE_ALARM = 1e-6


def make_prior(d: int, rng: np.random.Generator | None = None, **changes: object) -> Prior:
    """A proper prior with draws of ordinary size and random hyper-parameters."""
    rng = rng or np.random.default_rng(0)
    fields: dict[str, object] = {
        "mu0": 0.3 * rng.standard_normal(d),
        "kappa0": float(rng.uniform(0.3, 2.0)),
        "nu0": d + float(rng.uniform(1.0, 4.0)),
        "psi_mean": rng.uniform(0.3, 2.0, d),
        "psi_shape": 2.0,
        "alpha_shape": 2.0,
        "alpha_rate": 1.0,
        "lam_log_mean": 0.2,
        "lam_log_sd": 1.0,
        "a0": 2.0,
        "b0": 0.7,
    }
    return Prior(**(fields | changes))


@dataclass(frozen=True)
class Problem:
    """Data, a state and the model they belong to."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    state: State
    prior: Prior
    trend: Trend

    @property
    def gaussian(self) -> Gaussian:
        return Gaussian(self.prior.a0, self.prior.b0)

    def engine(self, block_rows: int = 4096) -> MemoryEngine:
        return MemoryEngine(self.X, self.y, self.weight, block_rows)


def make_problem(
    seed: int,
    N: int = 15,
    d: int = 2,
    M: int = 6,
    trend: Trend = "none",
    weighted: bool = False,
) -> Problem:
    """Everything drawn from the model."""
    rng = np.random.default_rng(seed)
    prior = make_prior(d, rng)
    state = draw_state(prior, M, rng)
    X = rng.standard_normal((N, d))
    y = simulate_regression(X, state, prior, trend, rng)[0]
    weight = rng.uniform(0.2, 3.0, N) if weighted else None
    return Problem(X, y, weight, state, prior, trend)


def plain_features(X: np.ndarray, W: np.ndarray, trend: Trend = "none") -> np.ndarray:
    """Phi (N, h + 2M), column by column from the definition."""
    columns = {"none": [], "constant": [np.ones(len(X))]}.get(trend)
    if columns is None:
        columns = [np.ones(len(X)), *(X.T / np.sqrt(X.shape[1]))]
    for w in W:
        columns += [np.cos(X @ w) / np.sqrt(len(W)), np.sin(X @ w) / np.sqrt(len(W))]
    return np.column_stack(columns)


def dense_log_evidence(Phi: np.ndarray, y: np.ndarray, lam: float, a0: float, b0: float) -> float:
    """log p(y): beta and noise integrated out leave an N-dimensional multivariate t."""
    shape = (b0 / a0) * (np.eye(len(y)) + Phi @ Phi.T / lam)
    return float(multivariate_t.logpdf(y, np.zeros(len(y)), shape, df=2 * a0))


def problem_log_evidence(problem: Problem, W: np.ndarray | None = None) -> float:
    """The dense evidence of an unweighted problem, at other frequencies if given."""
    assert problem.weight is None
    W = problem.state.W if W is None else W
    prior = problem.prior
    Phi = plain_features(problem.X, W, problem.trend)
    return dense_log_evidence(Phi, problem.y, problem.state.lam, prior.a0, prior.b0)


def fresh_gram(problem: Problem, W: np.ndarray | None = None, block_rows: int = 4096) -> Gram:
    """The statistic from scratch."""
    working = problem.gaussian.working(None, Streams(0), 0)
    W = problem.state.W if W is None else W
    return problem.engine(block_rows).sum(GramSum(W, problem.trend, working, 1))


def autoregression(phi: float, n: int, m: int = 2, seed: int = 0) -> np.ndarray:
    """m stationary AR(1) chains (m, n) of unit variance."""
    rng = np.random.default_rng(seed)
    x = np.empty((m, n))
    x[:, 0] = rng.standard_normal(m)
    for i in range(1, n):
        x[:, i] = phi * x[:, i - 1] + np.sqrt(1 - phi**2) * rng.standard_normal(m)
    return x


def close(actual: object, expected: object, relative: float, absolute: float = 0.0) -> None:
    """assert_allclose with the tolerance first in mind."""
    np.testing.assert_allclose(actual, expected, rtol=relative, atol=absolute)
