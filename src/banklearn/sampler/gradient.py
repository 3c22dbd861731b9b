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

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from banklearn.gram import Gram
from banklearn.model.joint import State
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import NumericalError, cholesky, solve_lower
from banklearn.sampler.leapfrog import LateError, Path, trajectory
from banklearn.sampler.precision import Solved
from banklearn.sampler.target import Place, Target

Array = NDArray[np.float64]

#: Acceptance that warm-up aims at.
TARGET = 0.7
#: Many frequencies together meet more resistance than one alone: so many times its curvature.
TOGETHER = 4.0
#: Above and below these acceptances the next trajectory has so many times, or parts of, its steps.
FAR, NEAR, FURTHER = 0.5, 0.2, 4
#: The n-th trajectory of a length counts n ** -RECENT of the mean step, those before it the rest.
RECENT = 0.75
#: Trajectories of a length that went so few steps on average did not arrive.
NOWHERE = 1e-3
#: Difference that rounding may make to the log of an acceptance ratio.
ROUNDING = 0.5
NAN = float("nan")


class Abandoned(Exception):  # noqa: N818 (nothing went wrong)
    """A chain that was stopped in the midst of a trajectory: its sweep was not made."""


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
class Tried:
    """Trajectories of one length: how many, the sum of their probabilities, their mean step.

    The mean is that of logarithms.
    """

    steps: int
    times: int
    probability: float
    step: float

    @property
    def reached(self) -> float:
        """How many steps a trajectory goes on average, as if one more had got nowhere."""
        return self.steps * self.probability / (self.times + 1)


@dataclass(frozen=True)
class GradientTuning:
    """Step size, steps of a trajectory, and the metric: that of the prior, unless warm-up saw more.

    single: trajectories may follow gradients in single precision. times: how often it was adapted.
    reach: how many of the steps warm-up dares so far; None: all of them from the beginning.
    tried: by length, the trajectories of the stage of warm-up at hand.
    """

    step: float = 0.2
    length: int = 24
    metric: Metric | None = None
    single: bool = True
    times: int = 0
    reach: int | None = None
    tried: list[Tried] = field(default_factory=list)

    @property
    def steps(self) -> int:
        """Of the next trajectory."""
        return self.length if self.reach is None else min(self.reach, self.length)


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
    followed: Path = target.along(engine)
    exact = isinstance(followed, Target) and engine is target.engine
    step = tuning.step * rng.uniform(0.8, 1.2)
    q0 = rng.standard_normal(state.W.shape)
    log_u = float(np.log(rng.random()))
    seen = None
    try:
        start = followed.sloping(here) if exact else followed.start(state.W, tuning.steps)
        begun = float(start.place.height)  # the next step may take its place
        seen = look(state, followed.back(start.slope), n_rows)
        root = (tuning.metric or Metric.of_prior(target.prior)).root(n_rows)
        q = followed.there(q0)
        ended = trajectory(followed, start, q, followed.there(root), step, tuning.steps)
        if ended is None:
            return Outcome(here, 0.0, seen, NAN)
        end, q = ended
        there = end.place if exact else target.at(followed.back(end.place.W))
    except LateError:
        return None
    except NumericalError:
        return Outcome(here, 0.0, seen, np.inf)
    climbed = float(end.place.height) - begun
    rounding = abs(climbed - (there.height - here.height))
    log_ratio = target.energy(here, q0) - target.energy(there, followed.back(q))
    if np.isnan(log_ratio):
        return Outcome(here, 0.0, seen, NAN)
    place = there if log_u < log_ratio else here
    return Outcome(place, float(np.exp(min(log_ratio, 0.0))), seen, rounding)


def look(state: State, slope: Array, n_rows: int) -> Metric:
    """What one state, with the gradient of its log evidence, tells of the metric."""
    share = np.bincount(state.Z, minlength=state.K) / state.M
    precisions = np.einsum("k,kij->ij", share, np.linalg.inv(state.Sigma))
    return Metric(slope.T @ slope / (state.M * n_rows), precisions)


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
    if outcome.probability > FAR:
        reach = reach and min(FURTHER * reach, tuning.length)
    elif outcome.probability < NEAR:
        reach = reach and max(reach // FURTHER, 1)
    change = 0.5 * (outcome.probability - TARGET) / np.sqrt(1.0 + 0.1 * times)
    step = float(np.clip(tuning.step * np.exp(change), 1e-4, 1.5))
    tried = noted(tuning.tried, tuning.steps, outcome.probability, step)
    return replace(seen, reach=reach, step=step, tried=tried)


def noted(tried: Sequence[Tried], steps: int, probability: float, step: float) -> list[Tried]:
    """The record after one more trajectory, and what the step was after it."""
    others = [of for of in tried if of.steps != steps]
    before = next((of for of in tried if of.steps == steps), Tried(steps, 0, 0.0, step))
    times = before.times + 1
    mean = float(before.step * (step / before.step) ** times**-RECENT)
    return [*others, Tried(steps, times, before.probability + probability, mean)]


def warier(tuning: GradientTuning) -> GradientTuning:
    """For more rows: a step that was right may be too long there, which a short one finds out."""
    reach = tuning.reach and max(tuning.reach // FURTHER, 1)
    return replace(tuning, reach=reach, tried=[])


def settled(tuning: GradientTuning) -> GradientTuning:
    """What the chain proper keeps: not what the last trajectory of warm-up happened to leave.

    One that does not arrive, which a few of many do, makes the next a quarter as long, and the step
    wanders about where it should be. The length that went furthest on average is kept, with its
    own step, or the last one if that is smaller: what is right for a short trajectory is too long
    for a longer one, and after a short warm-up the mean is still of steps that were too long.
    Where none arrived that is the shortest.
    """
    if not tuning.tried:
        return tuning
    best = max(tuning.tried, key=lambda of: (max(of.reached, NOWHERE), -of.steps))
    return replace(tuning, reach=tuning.reach and best.steps, step=min(best.step, tuning.step))
