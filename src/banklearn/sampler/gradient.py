"""Hamiltonian moves of all frequencies together, with the weights integrated out.

In coordinates whitened by their components, W_j = mu + L V_j, the prior is N(0, I). The leapfrog
solves the prior's part exactly (a rotation of position and momentum) and kicks with the gradient
of the log evidence; each coordinate has its own step, frozen after warm-up. A flat likelihood is
sampled without rejection, as by the local move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.base import Engine
from banklearn.gram import GradientSum, Gram, GramSum, WorkingFunction
from banklearn.likelihoods.base import Likelihood
from banklearn.model.features import Trend
from banklearn.model.joint import State
from banklearn.numerics.linalg import JitterCount, cholesky
from banklearn.sampler import precision
from banklearn.sampler.precision import Solved

Array = NDArray[np.float64]

#: Acceptance that warm-up aims at.
TARGET = 0.7


@dataclass(frozen=True)
class GradientTuning:
    """Step size, steps per trajectory, and the running mean square of the whitened gradient."""

    step: float = 0.3
    length: int = 3
    square: Array | None = None

    def coordinate_steps(self, shape: tuple[int, ...]) -> Array:
        """1 / sqrt(1 + E g^2): short steps where the evidence is steep."""
        if self.square is None:
            return np.ones(shape)
        return np.asarray(1.0 / np.sqrt(1.0 + self.square))


@dataclass(frozen=True)
class Point:
    """Frequencies with their statistic, factors and the whitened gradient of the log evidence."""

    V: Array
    W: Array
    gram: Gram
    solved: Solved
    slope: Array


class Target:
    """The log evidence as a function of whitened frequencies."""

    def __init__(
        self,
        engine: Engine,
        likelihood: Likelihood,
        trend: Trend,
        state: State,
        working: WorkingFunction,
        count: JitterCount,
    ) -> None:
        self.engine, self.likelihood, self.trend = engine, likelihood, trend
        self.working, self.count, self.lam = working, count, state.lam
        self.centre = state.mu[state.Z]
        self.root = [cholesky(Sigma) for Sigma in state.Sigma]
        self.Z = state.Z

    def unwhiten(self, V: Array) -> Array:
        """W = mu + L V."""
        return np.asarray(self.centre + self._by_component(V, self.root))

    def whiten(self, W: Array) -> Array:
        """V = L^-1 (W - mu)."""
        inverse = [np.asarray(np.linalg.inv(L), dtype=np.float64) for L in self.root]
        return self._by_component(W - self.centre, inverse)

    def point(self, V: Array) -> Point:
        """Evidence and gradient at a new place: two passes over the data."""
        W = self.unwhiten(V)
        gram = self.engine.sum(GramSum(W, self.trend, self.working, self.likelihood.tasks))
        solved = precision.solve(gram, self.lam, self.likelihood, self.count)
        return self.known(V, W, gram, solved)

    def known(self, V: Array, W: Array, gram: Gram, solved: Solved) -> Point:
        """The gradient at a place whose statistic is known: one pass."""
        L = [s.L for s in solved.solutions]
        mu_n = [s.mu_n for s in solved.solutions]
        factor = self.likelihood.residual_factor(gram, solved.solutions)
        slope = self.engine.sum(GradientSum(W, self.trend, self.working, L, mu_n, factor))
        transposed = [L.T for L in self.root]
        return Point(V, W, gram, solved, self._by_component(slope, transposed))

    def _by_component(self, rows: Array, matrices: Sequence[Array]) -> Array:
        """Each row times the matrix of its component."""
        out = np.empty_like(rows)
        for k, matrix in enumerate(matrices):
            out[self.Z == k] = rows[self.Z == k] @ matrix.T
        return out


def rotate(V: Array, q: Array, angle: Array) -> tuple[Array, Array]:
    """The prior's part of the dynamics, exactly."""
    c, s = np.cos(angle), np.sin(angle)
    return c * V + s * q, c * q - s * V


def trajectory(
    target: Target, start: Point, q: Array, steps: Array, length: int
) -> tuple[Point, Array]:
    """`length` leapfrog steps: half kick, rotation, half kick. Reversible and volume preserving."""
    point = start
    for _ in range(length):
        q = q + 0.5 * steps * point.slope
        V, q = rotate(point.V, q, steps)
        point = target.point(V)
        q = q + 0.5 * steps * point.slope
    return point, q


def energy(point: Point, q: Array) -> float:
    """Minus log evidence plus half the squares of position and momentum."""
    return -point.solved.log_evidence + 0.5 * float((point.V**2).sum() + (q**2).sum())


def update(
    state: State,
    gram: Gram,
    solved: Solved,
    target: Target,
    tuning: GradientTuning,
    rng: np.random.Generator,
) -> tuple[State, Gram, Solved, float, Array]:
    """One trajectory; returns the new state and statistic, acceptance probability and gradient."""
    start = target.known(target.whiten(state.W), state.W, gram, solved)
    steps = tuning.step * tuning.coordinate_steps(state.W.shape) * rng.uniform(0.8, 1.2)
    q0 = rng.standard_normal(state.W.shape)
    log_u = float(np.log(rng.random()))
    end, q1 = trajectory(target, start, q0, steps, tuning.length)
    log_ratio = energy(start, q0) - energy(end, q1)
    if not np.isfinite(log_ratio):
        log_ratio = -np.inf
    probability = float(np.exp(min(log_ratio, 0.0)))
    if log_u < log_ratio:
        return state.with_(W=end.W), end.gram, end.solved, probability, end.slope
    return state, gram, solved, probability, start.slope


def adapt(tuning: GradientTuning, probability: float, slope: Array, times: int) -> GradientTuning:
    """Warm-up only: step size towards the target acceptance, running mean of squared gradients."""
    # Mean over inputs: one scale per frequency is learned faster than one per coordinate.
    seen = np.broadcast_to((slope**2).mean(axis=1, keepdims=True), slope.shape)
    rate = max(0.1, 1.0 / (1.0 + times))
    square = seen if tuning.square is None else (1 - rate) * tuning.square + rate * seen
    change = 2.0 * (probability - TARGET) / np.sqrt(1.0 + 0.2 * times)
    return replace(
        tuning, step=float(np.clip(tuning.step * np.exp(change), 1e-4, 1.5)), square=square
    )
