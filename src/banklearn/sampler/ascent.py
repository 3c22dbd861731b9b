"""Climbing from a state of a chain to a mode near it, for those who want a point, not a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from banklearn.engines.base import Engine
from banklearn.gram import Gram, GramSum, WorkingFunction
from banklearn.likelihoods.bound import log_bound, touching
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.joint import State
from banklearn.model.kept_features import KeptFeatures
from banklearn.numerics.linalg import JitterCount, cholesky, solve_lower, solve_lower_transposed
from banklearn.sampler import precision
from banklearn.sampler.precision import Solved
from banklearn.sampler.sweep import Model
from banklearn.sampler.target import evidence_slope

Array = NDArray[np.float64]

#: log lam is looked for within this distance of where it is.
REACH = 4.0


@dataclass(frozen=True)
class Weights:
    """The law of the weights: mean (T, P), and a root (P, R) of the covariance of each task."""

    mean: Array
    roots: Sequence[Array]


@dataclass(frozen=True)
class Summit:
    """Frequencies and lam with their statistic, and log posterior heights on the way there."""

    state: State
    gram: Gram
    solved: Solved
    heights: tuple[float, ...]


class Whitening:
    """V_j = L^-1 (W_j - mu) with L L' = Sigma of a frequency's component, and back."""

    def __init__(self, state: State) -> None:
        self.Z, self.centre = state.Z, state.mu[state.Z]
        self.roots = [cholesky(Sigma) for Sigma in state.Sigma]

    def done(self, W: Array) -> Array:
        """V of W."""
        return self._by_component(W - self.centre, lambda L, rows: solve_lower(L, rows.T).T)

    def undone(self, V: Array) -> Array:
        """W of V."""
        return self.centre + self._by_component(V, lambda L, rows: rows @ L.T)

    def transposed(self, slope: Array) -> Array:
        """A gradient in W as one in V."""
        return self._by_component(slope, lambda L, rows: rows @ L)

    def _by_component(self, rows: Array, change: Callable[[Array, Array], Array]) -> Array:
        out = np.empty_like(rows)
        for k, L in enumerate(self.roots):
            out[self.Z == k] = change(L, rows[self.Z == k])
        return out


def working_of(engine: Engine, model: Model, state: State, weights: Weights) -> WorkingFunction:
    """Row weights and targets at a state: the data, or the bound that touches there."""
    if model.likelihood.fixed_weights:
        return model.likelihood.newton(weights.mean)
    assert isinstance(model.likelihood, Logistic)
    touch = touching(model.likelihood.tree, weights.mean, weights.roots)
    bound = engine.freeze(touch, state.W, model.trend)
    measure(engine, model, state, bound)  # touches at these frequencies, and is kept
    return bound


def measure(
    engine: Engine,
    model: Model,
    state: State,
    working: WorkingFunction,
    kept: KeptFeatures | None = None,
) -> tuple[Gram, Solved]:
    """The statistic and the factored equations at a state."""
    tasks = model.likelihood.tasks
    gram: Gram = engine.sum(GramSum(state.W, model.trend, working, tasks, kept=kept))
    return gram, precision.solve(gram, state.lam, model.likelihood, JitterCount())


def log_height(model: Model, state: State, gram: Gram, solved: Solved, V: Array) -> float:
    """log p(Y | X, W, lam) + log p(W | Z, mu, Sigma) + log p(log lam), but for a constant."""
    evidence = log_bound(model.likelihood, gram, solved.log_evidence)
    return evidence - 0.5 * float((V**2).sum()) + model.prior.log_lam(state.lam)


def climb_frequencies(
    engine: Engine, model: Model, state: State, working: WorkingFunction, max_iter: int
) -> tuple[State, Array]:
    """L-BFGS on log evidence and log prior of W, in coordinates whitened by the components.

    Returned are the state there and its whitened frequencies.
    """
    white, kept = Whitening(state), KeptFeatures()

    def objective(v: Array) -> tuple[float, Array]:
        V = v.reshape(state.W.shape)
        there = state.with_(W=white.undone(V))
        gram, solved = measure(engine, model, there, working, kept)
        slope = evidence_slope(
            engine, model.likelihood, model.trend, working, there.W, gram, solved, kept
        )
        height = solved.log_evidence - 0.5 * float((V**2).sum())
        return -height, (V - white.transposed(slope)).ravel()

    found = minimize(
        objective,
        white.done(state.W).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "maxcor": 20},
    )
    V = found.x.reshape(state.W.shape)
    return state.with_(W=white.undone(V)), V


def best_lam(model: Model, state: State, gram: Gram) -> State:
    """The state with the lam of the highest posterior given W; the data is not looked at."""

    def depth(log_lam: float) -> float:
        solved = precision.solve(gram, float(np.exp(log_lam)), model.likelihood, JitterCount())
        return -precision.log_conditional(solved, model.prior)

    now = float(np.log(state.lam))
    found = minimize_scalar(depth, bounds=(now - REACH, now + REACH), method="bounded")
    better = found.x if found.fun < depth(now) else now
    return state.with_(lam=float(np.exp(better)))


def climb(
    engine: Engine, model: Model, state: State, weights: Weights, rounds: int, max_iter: int
) -> Summit:
    """Rounds of at most max_iter steps in W, then the best lam; none of them goes down.

    Components and assignments stay. In classification every round begins with the bound that is
    highest for the weights of the round before.
    """
    heights: list[float] = []
    working = working_of(engine, model, state, weights)
    for _ in range(rounds):
        state, V = climb_frequencies(engine, model, state, working, max_iter)
        gram, _ = measure(engine, model, state, working)
        state = best_lam(model, state, gram)
        solved = precision.solve(gram, state.lam, model.likelihood, JitterCount())
        if not model.likelihood.fixed_weights:
            roots = [solve_lower_transposed(s.L, np.eye(len(s.v))) for s in solved.solutions]
            weights = Weights(np.stack([s.mu_n for s in solved.solutions]), roots)
            working = working_of(engine, model, state, weights)
            gram, solved = measure(engine, model, state, working)
        heights.append(log_height(model, state, gram, solved, V))
    return Summit(state, gram, solved, tuple(heights))
