"""Small classification problems, and their densities written out plainly."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from banklearn.engines.memory import MemoryEngine
from banklearn.gram import Gram, GramSum
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.features import Trend, trend_columns
from banklearn.model.generative import draw_state
from banklearn.model.joint import State
from banklearn.model.priors import Prior
from banklearn.sampler.sweep import Model
from helpers import make_prior, plain_features


@dataclass(frozen=True)
class Labelled:
    """Data with labels 0..C-1 (places on the stick), a state, weights beta (T, P), the model."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    state: State
    beta: np.ndarray
    prior: Prior
    trend: Trend
    C: int

    @property
    def logistic(self) -> Logistic:
        return Logistic(self.C)

    @property
    def model(self) -> Model:
        return Model(self.prior, self.logistic, self.trend)

    @property
    def h(self) -> int:
        return trend_columns(self.trend, self.X.shape[1])

    def engine(self, block_rows: int = 4096) -> MemoryEngine:
        return MemoryEngine(self.X, self.y, self.weight, block_rows)

    def features(self, W: np.ndarray | None = None) -> np.ndarray:
        return plain_features(self.X, self.state.W if W is None else W, self.trend)

    def tasks(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Rows, labels in {0, 1} and weights of each task."""
        weight = np.ones(len(self.y)) if self.weight is None else self.weight
        out = []
        for t in range(self.C - 1):
            rows = np.array([i for i in range(len(self.y)) if self.y[i] >= t], dtype=int)
            out.append((rows, (self.y[rows] == t).astype(float), weight[rows]))
        return out


def stick(f: np.ndarray) -> np.ndarray:
    """Class probabilities (C, n) from latent functions (C - 1, n), class by class."""
    left, out = np.ones(f.shape[1]), []
    for row in f:
        out.append(left * expit(row))
        left = left * (1.0 - expit(row))
    return np.stack([*out, left])


def log_stick(f: np.ndarray) -> np.ndarray:
    """Their logarithms, also where a probability rounds to 0 or 1."""
    left, out = np.zeros(f.shape[1]), []
    for row in f:
        out.append(left - np.logaddexp(0.0, -row))
        left = left - np.logaddexp(0.0, row)
    return np.stack([*out, left])


def draw_labels(f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels from the class probabilities."""
    u = rng.random(f.shape[1])
    return (u > np.cumsum(stick(f), axis=0)[:-1]).sum(axis=0).astype(float)


def draw_beta(state: State, P: int, tasks: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((tasks, P)) / np.sqrt(state.lam)


def make_labelled(
    seed: int,
    N: int = 15,
    d: int = 2,
    M: int = 4,
    C: int = 2,
    trend: Trend = "none",
    weighted: bool = False,
    **changes: object,
) -> Labelled:
    """Everything drawn from the model."""
    rng = np.random.default_rng(seed)
    prior = make_prior(d, rng, **({"lam_log_mean": -1.0} | changes))
    state = draw_state(prior, M, rng)
    X = rng.standard_normal((N, d))
    Phi = plain_features(X, state.W, trend)
    beta = draw_beta(state, Phi.shape[1], C - 1, rng)
    y = draw_labels(beta @ Phi.T, rng)
    weight = rng.uniform(0.2, 3.0, N) if weighted else None
    return Labelled(X, y, weight, state, beta, prior, trend, C)


def log_likelihood(problem: Labelled, beta=None, W=None) -> float:
    """log p(labels | W, beta) from the class probabilities."""
    beta = problem.beta if beta is None else beta
    log_p = log_stick(beta @ problem.features(W).T)[problem.y.astype(int), range(len(problem.y))]
    return float(log_p.sum() if problem.weight is None else problem.weight @ log_p)


def log_weights(beta: np.ndarray, lam: float) -> float:
    """log N(beta | 0, I / lam)."""
    return float(0.5 * beta.size * np.log(lam / (2 * np.pi)) - 0.5 * lam * (beta**2).sum())


def log_joint_along(problem: Labelled, v: float, beta=None, lam=None, W=None) -> float:
    """log joint density of (beta, log lam) moved to (c beta, log lam - 2 v), c = exp(v).

    With its Jacobian: every weight is multiplied by c, log lam is shifted.
    """
    beta = problem.beta if beta is None else beta
    lam = (problem.state.lam if lam is None else lam) * np.exp(-2 * v)
    moved = np.exp(v) * beta
    density = log_likelihood(problem, moved, W) + log_weights(moved, lam)
    return density + problem.prior.log_lam(lam) + beta.size * v


def plain_rescale(problem: Labelled, W, beta, lam: float, rng: np.random.Generator):
    """(lam, beta) after one rescaling, every density computed from the data."""
    spacing = np.exp(rng.uniform(np.log(0.005), np.log(0.3)))
    place = rng.integers(9)
    steps = [spacing * (i - place) for i in range(9)]
    noise = rng.gumbel(size=9)
    heights = [
        log_joint_along(problem, v, beta, lam, W) + g for v, g in zip(steps, noise, strict=True)
    ]
    v = steps[int(np.argmax(heights))]
    return lam * np.exp(-2 * v), np.exp(v) * beta


def gram_of(problem: Labelled, working, W=None, block_rows: int = 4096) -> Gram:
    """The statistic of working weights and targets."""
    W = problem.state.W if W is None else W
    return problem.engine(block_rows).sum(GramSum(W, problem.trend, working, problem.C - 1))


def one_block(problem: Labelled, working):
    """Working weights and targets of all rows in one block."""
    (block,) = problem.engine().blocks()
    return working(block, lambda beta: beta @ problem.features().T)
