"""Short chains from several spectral scales: how far each gets decides where the chains start.

Features that are drawn once and never change prefer slow kernels: a few hundred of them cannot
cover a space of many inputs with fast ones. Once frequencies adapt that is different, but a chain
that starts slow takes very long to find out. So from the best fixed kernel on, scales are doubled
as long as a short chain on a subsample ends with more evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.memory import MemoryEngine
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.model.features import Trend
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.sampler import precision
from banklearn.sampler import sweep as collapsed
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.start import FASTEST, StartingPoint, fixed_kernel, starting_state
from banklearn.sampler.sweep import Chain, Model, Tuning

Array = NDArray[np.float64]
#: Log evidence at a pilot's end, and the start that it had.
Height = tuple[float, StartingPoint]

#: Sweeps of a pilot.
SWEEPS = 16
#: With fewer sweeps pilots say nothing.
FEWEST = 8
#: Sweeps of warm-up for one sweep of a pilot.
SHARE = 10
#: Log evidence by which a faster start must get higher: less is chance.
MARGIN = 2.0
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

    def reached(self, chain: Chain, model: Model) -> float:
        """Log evidence with which a pilot ends: the mean of the last quarter of its sweeps.

        Minus infinity where time is over before.
        """
        tuning, values = Tuning(self.moves), []
        for sweep in range(1, self.sweeps + 1):
            if self.late():
                return -np.inf
            chain, info = collapsed.step(chain, self._engine, model, tuning, self._streams, sweep)
            tuning = collapsed.adapt(tuning, info, sweep)
            values.append(info.log_evidence)
        return float(np.mean(values[-max(1, self.sweeps // 4) :]))

    def height(self, scale: float) -> Height:
        """How far a pilot gets from a scale, and the start that it had."""
        if self.late():
            return -np.inf, StartingPoint(scale, 1.0, -np.inf)
        model = self.model_at(scale)
        point, chain = self.at(scale, model)
        return self.reached(chain, model), point

    def climb(self, height: float, start: StartingPoint) -> Height:
        """From a pilot's height on, the scale doubled as long as that gains MARGIN."""
        best = height, start
        fastest = FASTEST / np.sqrt(self.X.shape[1])
        while 2.0 * best[1].scale <= fastest:
            faster = self.height(2.0 * best[1].scale)
            if faster[0] <= best[0] + MARGIN:
                break
            best = faster
        return best

    @cached_property
    def _engine(self) -> MemoryEngine:
        return MemoryEngine(self.X, self.y, self.weight)

    @cached_property
    def _streams(self) -> Streams:
        return Streams(self.streams.seed, CHAIN)
