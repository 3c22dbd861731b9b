"""Hamiltonian moves of all frequencies together, with weights and components integrated out.

Given Z and psi the frequencies have a density of their own: the evidence times, for each component,
the closed form of the integral over its (mu_k, Sigma_k). A trajectory of leapfrog steps moves all
of them along its gradient; the components are drawn anew where it is accepted.

One linear map for all frequencies brings them to a common scale (:class:`Metric`): the inverse of
their precision, of which the evidence's part is the mean square of its gradient (Fisher) and the
prior's part the mean precision of components. Some inputs take part in fast waves and some in slow
ones, and a step that suits the fastest would not move the others at all. Warm-up learns the map and
the step; both are frozen then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.base import Engine
from banklearn.gram import GradientSum, Gram, GramSum, WorkingFunction
from banklearn.likelihoods.base import Likelihood
from banklearn.model import niw
from banklearn.model.features import Trend
from banklearn.model.joint import State
from banklearn.model.kept_features import KeptFeatures
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import JitterCount, NumericalError, cholesky, solve_lower
from banklearn.sampler import precision
from banklearn.sampler.precision import Solved

Array = NDArray[np.float64]

#: Acceptance that warm-up aims at.
TARGET = 0.7
#: Many frequencies together meet more resistance than one alone: so many times its curvature.
TOGETHER = 4.0
#: A trajectory whose energies differ by more than this is lost, and is not followed to its end.
LOST = 1000.0
#: Above and below these acceptances the next trajectory has so many times, or parts of, its steps.
FAR, NEAR, FURTHER = 0.5, 0.2, 4
#: Difference that rounding may make to the log of an acceptance ratio.
ROUNDING = 0.5
NAN = float("nan")


class Abandoned(Exception):  # noqa: N818 (nothing went wrong)
    """A chain that was stopped in the midst of a trajectory: its sweep was not made."""


class LateError(Exception):
    """There is no time for the rest of a trajectory."""


def unhurried(ahead: float) -> bool:
    """Whether there is no time for so many seconds more: there always is."""
    return False


@dataclass(frozen=True)
class Metric:
    """Means over frequencies, (d, d): squared gradients of the evidence a row, prior precisions."""

    squares: Array
    precisions: Array

    @classmethod
    def of_prior(cls, prior: Prior) -> Metric:
        """Before anything was seen: the prior's mean of precisions."""
        d = prior.d
        return cls(np.zeros((d, d)), np.diag(prior.nu0 / prior.psi_mean))

    @property
    def is_finite(self) -> bool:
        """Whether it is worth remembering."""
        return bool(np.isfinite(self.squares).all() and np.isfinite(self.precisions).all())

    def root(self, n_rows: int) -> Array:
        """C with C C' = the inverse of the frequencies' precision; they move by C times momenta."""
        L = cholesky(TOGETHER * n_rows * self.squares + self.precisions)
        return np.ascontiguousarray(solve_lower(L, np.eye(len(L))).T)

    def towards(self, seen: Metric, rate: float) -> Metric:
        """Running means."""
        return Metric(
            (1.0 - rate) * self.squares + rate * seen.squares,
            (1.0 - rate) * self.precisions + rate * seen.precisions,
        )


@dataclass(frozen=True)
class GradientTuning:
    """Step size, steps of a trajectory, and the metric: that of the prior, unless warm-up saw more.

    single: trajectories may follow gradients in single precision. times: how often it was adapted.
    reach: how many of the steps warm-up dares so far; None: all of them from the beginning.
    """

    step: float = 0.2
    length: int = 24
    metric: Metric | None = None
    single: bool = True
    times: int = 0
    reach: int | None = None

    @property
    def steps(self) -> int:
        """Of the next trajectory."""
        return self.length if self.reach is None else min(self.reach, self.length)


@dataclass(frozen=True)
class Place:
    """Frequencies with their statistic, factors, and the log of their density up to a constant.

    laws: of the components, given their members.
    """

    W: Array
    gram: Gram
    solved: Solved
    laws: Sequence[niw.NIW]
    height: float


@dataclass(frozen=True)
class Point:
    """A place with the gradients of its log evidence (slope) and of its log density (pull)."""

    place: Place
    slope: Array
    pull: Array


@dataclass(frozen=True)
class Outcome:
    """Where a move ends, how probable that was, what it saw of the metric, and what rounding did.

    seen is None and rounding infinite where sums in single precision could not be factored;
    rounding is NaN where the trajectory was lost.
    """

    place: Place
    probability: float
    seen: Metric | None
    rounding: float


def evidence_slope(
    engine: Engine,
    likelihood: Likelihood,
    trend: Trend,
    working: WorkingFunction,
    W: Array,
    gram: Gram,
    solved: Solved,
    kept: KeptFeatures | None = None,
) -> Array:
    """The gradient of the log evidence in W (M, d), where the statistic is known: one pass."""
    L = [s.L for s in solved.solutions]
    mu_n = [s.mu_n for s in solved.solutions]
    factor = likelihood.residual_factor(gram, solved.solutions)
    slope: Array = engine.sum(GradientSum(W, trend, working, L, mu_n, factor, kept))
    return slope


class Target:
    """The log density of the frequencies given assignments, psi, lam and row weights."""

    def __init__(
        self,
        engine: Engine,
        likelihood: Likelihood,
        trend: Trend,
        prior: Prior,
        state: State,
        working: WorkingFunction,
        count: JitterCount,
        hurried: Callable[[float], bool] = unhurried,
    ) -> None:
        self.engine, self.likelihood, self.trend = engine, likelihood, trend
        self.working, self.count, self.lam = working, count, state.lam
        self.prior, self.base = prior, prior.base(state.psi)
        self.hurried = hurried
        self.kept: KeptFeatures | None = None
        self.members = [np.flatnonzero(state.Z == k) for k in range(state.K)]

    def along(self, engine: Engine) -> Target:
        """The same by the sums of an engine, for gradients at every place: features are kept."""
        other = copy(self)
        other.engine, other.kept = engine, KeptFeatures()
        return other

    def at(self, W: Array) -> Place:
        """A new place: one pass over the data."""
        tasks, kept = self.likelihood.tasks, self.kept
        gram = self.engine.sum(GramSum(W, self.trend, self.working, tasks, kept=kept))
        return self.known(W, gram, precision.solve(gram, self.lam, self.likelihood, self.count))

    def known(self, W: Array, gram: Gram, solved: Solved) -> Place:
        """A place whose statistic is known."""
        laws = [niw.posterior(self.base, W[members]) for members in self.members]
        height = solved.log_evidence + sum(niw.log_marginal(self.base, law) for law in laws)
        return Place(W, gram, solved, laws, height)

    def sloping(self, place: Place) -> Point:
        """The gradients there: one pass."""
        W = place.W
        slope = evidence_slope(
            self.engine,
            self.likelihood,
            self.trend,
            self.working,
            W,
            place.gram,
            place.solved,
            self.kept,
        )
        pull = slope.copy()
        for members, law in zip(self.members, place.laws, strict=True):
            pull[members] += niw.marginal_slope(law, W[members])
        return Point(place, slope, pull)


def trajectory(
    target: Target, start: Point, q: Array, root: Array, step: float, length: int
) -> tuple[Point, Array] | None:
    """`length` leapfrog steps: half kick, move, half kick. Reversible and volume preserving.

    None where it is lost, which it then is from either end. LateError where the time that is left
    would not do for steps that take as long as the longest so far.
    """
    point, longest = start, 0.0
    lowest = highest = energy(start.place, q)
    for left in range(length, 0, -1):
        if target.hurried(left * longest):
            raise LateError
        begin = time.perf_counter()
        q = q + 0.5 * step * (point.pull @ root)
        point = target.sloping(target.at(point.place.W + step * (q @ root.T)))
        q = q + 0.5 * step * (point.pull @ root)
        here = energy(point.place, q)
        lowest, highest = min(lowest, here), max(highest, here)
        if not (np.isfinite(here) and highest - lowest <= LOST):
            return None
        longest = max(longest, time.perf_counter() - begin)
    return point, q


def energy(place: Place, q: Array) -> float:
    """Minus the log density plus half the squares of the momenta."""
    return -place.height + 0.5 * float((q**2).sum())


def update(
    state: State,
    gram: Gram,
    solved: Solved,
    target: Target,
    tuning: GradientTuning,
    rng: np.random.Generator,
) -> Outcome | None:
    """One trajectory, decided by the target's own sums whatever it followed.

    Components must be drawn anew where it moved. None where there was no time for it.
    """
    here = target.known(state.W, gram, solved)
    n_rows = target.engine.n_rows
    engine = target.engine.rough() if tuning.single else target.engine
    followed, exact = target.along(engine), engine is target.engine
    step = tuning.step * rng.uniform(0.8, 1.2)
    q0 = rng.standard_normal(state.W.shape)
    log_u = float(np.log(rng.random()))
    seen = None
    try:
        start = followed.sloping(here if exact else followed.at(state.W))
        seen = look(state, start, n_rows)
        root = (tuning.metric or Metric.of_prior(target.prior)).root(n_rows)
        ended = trajectory(followed, start, q0, root, step, tuning.steps)
        if ended is None:
            return Outcome(here, 0.0, seen, NAN)
        end, q1 = ended
        there = end.place if exact else target.at(end.place.W)
    except LateError:
        return None
    except NumericalError:
        return Outcome(here, 0.0, seen, np.inf)
    rounding = abs((end.place.height - start.place.height) - (there.height - here.height))
    log_ratio = energy(here, q0) - energy(there, q1)
    if np.isnan(log_ratio):
        return Outcome(here, 0.0, seen, NAN)
    place = there if log_u < log_ratio else here
    return Outcome(place, float(np.exp(min(log_ratio, 0.0))), seen, rounding)


def look(state: State, point: Point, n_rows: int) -> Metric:
    """What one state tells of the metric."""
    share = np.bincount(state.Z, minlength=state.K) / state.M
    precisions = np.einsum("k,kij->ij", share, np.linalg.inv(state.Sigma))
    return Metric(point.slope.T @ point.slope / (state.M * n_rows), precisions)


def adapt(tuning: GradientTuning, outcome: Outcome) -> GradientTuning:
    """Warm-up only: step size towards the target acceptance, running means of the metric.

    Trajectories become longer where they arrive and shorter where they do not. Double precision
    from where rounding is seen in the decision.
    """
    times, metric = tuning.times + 1, tuning.metric
    if outcome.seen is not None and outcome.seen.is_finite:
        rate = max(0.1, 1.0 / times)
        metric = outcome.seen if metric is None else metric.towards(outcome.seen, rate)
    seen = replace(tuning, metric=metric, times=times)
    if tuning.single and outcome.rounding > ROUNDING:
        return replace(seen, single=False)
    reach = tuning.reach
    if reach is not None and outcome.probability > FAR:
        reach = min(FURTHER * reach, tuning.length)
    elif reach is not None and outcome.probability < NEAR:
        reach = max(reach // FURTHER, 1)
    change = 0.5 * (outcome.probability - TARGET) / np.sqrt(1.0 + 0.1 * times)
    return replace(seen, reach=reach, step=float(np.clip(tuning.step * np.exp(change), 1e-4, 1.5)))


def warier(tuning: GradientTuning) -> GradientTuning:
    """For more rows: a step that was right may be too long there, which a short one finds out."""
    return replace(tuning, reach=tuning.reach and max(tuning.reach // FURTHER, 1))
