"""Short chains from several spectral scales: how far each gets decides where the chains start.

Features that are drawn once and never change prefer slow kernels: a few hundred of them cannot
cover a space of many inputs with fast ones. Once frequencies adapt that is different, but a chain
that starts slow takes very long to find out. So from the best fixed kernel on, scales are doubled
as long as a short chain on a subsample ends with more evidence. Half as many sweeps are enough
where the faster start is far ahead by then, so that a fit in a hurry gets there too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.memory import MemoryEngine
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.model.features import Trend
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.numerics.weighted import mass
from banklearn.sampler import precision
from banklearn.sampler import sweep as collapsed
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.start import FASTEST, StartingPoint, fixed_kernel, starting_state
from banklearn.sampler.sweep import Chain, Info, Model, Tuning

Array = NDArray[np.float64]

#: Sweeps of a pilot, to its end.
SWEEPS = 16
#: With fewer sweeps pilots say nothing.
FEWEST = 8
#: Sweeps of warm-up for one sweep of a pilot.
SHARE = 10
#: Log evidence by which a faster start must get higher: less is chance.
MARGIN = 2.0
#: Log evidence per row by which it must be ahead after the FEWEST sweeps not to be asked for more.
AHEAD = 0.025
#: Their streams are those of a chain that no fit runs.
CHAIN = 2**40


def pilot_sweeps(n_warmup: int) -> int:
    """Sweeps of each pilot; 0 where warm-up is so short that pilots would not pay."""
    sweeps = min(SWEEPS, n_warmup // SHARE)
    return sweeps if sweeps >= FEWEST else 0


@dataclass(frozen=True)
class Pilots:
    """Short regressions on some rows of scaled inputs X (n, d).

    prior_at gives the prior that a fit with a spectral scale would have; late says when time for
    more pilots is over.
    """

    X: Array
    y: Array
    weight: Array | None
    trend: Trend
    M: int
    prior_at: Callable[[float], Prior]
    moves: Moves
    sweeps: int
    streams: Streams
    late: Callable[[], bool] = lambda: False

    def model_at(self, scale: float) -> Model:
        """The model that a pilot at a spectral scale samples from."""
        prior = self.prior_at(scale)
        return Model(prior, Gaussian(prior.a0, prior.b0), self.trend)

    def at(self, scale: float, model: Model) -> tuple[StartingPoint, Chain]:
        """A pilot's first state at a spectral scale, with the lam that suits it best."""
        prior = model.prior
        alpha = prior.alpha_shape / prior.alpha_rate
        # lam follows from the statistic, which does not depend on it.
        state = starting_state(self.M, prior.d, scale, np.nan, alpha, self._streams)
        gram = collapsed.statistic(self._engine, model, state, None, self._streams, 0)
        point = fixed_kernel(scale, gram, prior.a0, prior.b0)
        solved = precision.solve(gram, point.lam, model.likelihood, JitterCount())
        return point, Chain(state.with_(lam=point.lam), gram, solved, None)

    def send(self, scale: float) -> Pilot | None:
        """A pilot from a scale, as far as the first look; None where time is over before."""
        if self.late():
            return None
        model = self.model_at(scale)
        pilot = Pilot(self, *self.at(scale, model), model, Tuning(self.moves))
        return pilot if np.isfinite(pilot.soon) else None

    def step(self, pilot: Pilot, sweep: int) -> tuple[Chain, Info]:
        """The next sweep of a pilot."""
        return collapsed.step(
            pilot.chain, self._engine, pilot.model, pilot.tuning, self._streams, sweep
        )

    def climb(self, best: Pilot) -> Pilot:
        """From a pilot on, the scale doubled as long as that gets higher."""
        fastest = FASTEST / np.sqrt(self.X.shape[1])
        while 2.0 * best.start.scale <= fastest:
            faster = self.send(2.0 * best.start.scale)
            if faster is None or not self.higher(faster, best):
                break
            best = faster
        return best

    def higher(self, faster: Pilot, slower: Pilot) -> bool:
        """Whether one is far ahead at the first look, or ahead by MARGIN at the end of both.

        Where time is over before both are there, it is not.
        """
        if faster.soon > slower.soon + max(AHEAD * mass(len(self.y), self.weight), MARGIN):
            return True
        low, high = slower.end, faster.end
        return bool(np.isfinite(low)) and high > low + MARGIN

    @cached_property
    def _engine(self) -> MemoryEngine:
        return MemoryEngine(self.X, self.y, self.weight)

    @cached_property
    def _streams(self) -> Streams:
        return Streams(self.streams.seed, CHAIN)


@dataclass
class Pilot:
    """A short chain under way: who sent it, the start that it had, log evidence by sweep."""

    sender: Pilots
    start: StartingPoint
    chain: Chain
    model: Model
    tuning: Tuning
    values: list[float] = field(default_factory=list)

    def height(self, sweeps: int) -> float:
        """How far so many sweeps get it, their last quarter's mean; -inf where time is over."""
        while len(self.values) < sweeps:
            if self.sender.late():
                return -np.inf
            self.chain, info = self.sender.step(self, len(self.values) + 1)
            self.tuning = collapsed.adapt(self.tuning, info, len(self.values) + 1)
            self.values.append(info.log_evidence)
        return float(np.mean(self.values[sweeps - max(1, sweeps // 4) : sweeps]))

    @property
    def soon(self) -> float:
        """Its height at the first look."""
        return self.height(min(FEWEST, self.sender.sweeps))

    @property
    def end(self) -> float:
        """Its height at the end."""
        return self.height(self.sender.sweeps)


def last_look(sent: Sequence[Pilot]) -> list[float]:
    """Heights of all at their end or, where time is over before, at the first look."""
    ends = [pilot.end for pilot in sent]
    return ends if np.isfinite(ends).all() else [pilot.soon for pilot in sent]
