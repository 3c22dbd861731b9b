"""The density along which frequencies move, weights and components integrated out.

Given Z and psi the frequencies have a density of their own: the evidence times, for each component,
the closed form of the integral over its (mu_k, Sigma_k).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.base import Engine
from banklearn.engines.device import DeviceEngine
from banklearn.engines.repeated import Step
from banklearn.gram import GradientSum, Gram, GramSum, WorkingFunction
from banklearn.likelihoods.base import Likelihood
from banklearn.model import niw
from banklearn.model.features import Trend
from banklearn.model.joint import State
from banklearn.model.kept_features import Features, KeptFeatures
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import JitterCount
from banklearn.sampler import precision
from banklearn.sampler.aloft import Aloft, Point
from banklearn.sampler.leapfrog import leap
from banklearn.sampler.precision import Solved

Array = NDArray[np.float64]

#: Components on a device are so many, or a multiple of it.
SPARE = 8


def unhurried(ahead: float) -> bool:
    """Whether there is no time for so many seconds more: there always is."""
    return False


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


def evidence_slope(
    engine: Engine,
    likelihood: Likelihood,
    trend: Trend,
    working: WorkingFunction,
    W: Array,
    gram: Gram,
    solved: Solved,
    kept: Features | None = None,
) -> Array:
    """The gradient of the log evidence in W (M, d), where the statistic is known: one pass."""
    L = [s.L for s in solved.solutions]
    mu_n = [s.mu_n for s in solved.solutions]
    factor = likelihood.residual_factor(gram, solved.solutions)
    slope: Array = engine.sum(GradientSum(W, trend, working, L, mu_n, factor, kept))
    return slope


class Target:
    """The log density of the frequencies given assignments, psi, lam and row weights."""

    #: A trajectory is looked at after every step: its numbers are in memory.
    steps_between_looks = 1

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
        self.kept: Features | None = None
        self.members = [np.flatnonzero(state.Z == k) for k in range(state.K)]

    def along(self, engine: Engine) -> Target | Aloft:
        """The same by the sums of an engine, for gradients at every place.

        Where the engine is a device everything stays there, else features are kept.
        """
        if isinstance(engine, DeviceEngine):
            return self._aloft(engine)
        other = copy(self)
        other.engine, other.kept = engine, KeptFeatures()
        return other

    def _aloft(self, engine: DeviceEngine) -> Aloft:
        """Made for somewhat more components, which take no part; the engine's own, if it records.

        Their number changes all the time, and a record is of one.
        """
        K = -(-len(self.members) // SPARE) * SPARE
        shape = (sum(map(len, self.members)), self.prior.d)

        def make() -> Aloft:
            return Aloft(engine, self.likelihood, self.trend, shape, K)

        key = (K, shape, self.trend, id(self.likelihood))
        aloft: Aloft = engine.path(key, make) if engine.records else make()
        aloft.settle(self.working, self.lam, self.base, self.members, self.hurried)
        return aloft

    def start(self, W: Array, length: int) -> Point:
        """The place where a trajectory begins, with its gradients: two passes."""
        return self.sloping(self.at(W))

    def again(self, length: int) -> Step:
        """A step as it is: its time is that of its sums."""
        return partial(leap, self)

    def there(self, values: Array) -> Array:
        """Values from memory, which is where this target computes."""
        return values

    def back(self, values: Array) -> Array:
        """Values in memory."""
        return values

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

    def energy(self, place: Place, q: Array) -> float:
        """Minus the log density plus half the squares of the momenta."""
        return -place.height + 0.5 * float((q**2).sum())
