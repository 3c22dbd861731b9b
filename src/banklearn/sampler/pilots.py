"""Short chains from several spectral scales: how far each gets decides where the chains start.

Features that are drawn once and never change prefer slow kernels: a few hundred of them cannot
cover a space of many inputs with fast ones. Once frequencies adapt that is different, but a chain
that starts slow takes very long to find out. So from the best fixed kernel on, scales are doubled
as long as a short chain on a subsample ends with more evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.memory import MemoryEngine
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.model.features import Trend
from banklearn.model.priors import Prior
from banklearn.numerics.streams import Streams
from banklearn.sampler import sweep as collapsed
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.start import FASTEST, StartingPoint, best_lam, starting_state
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

    def at(self, scale: float) -> tuple[StartingPoint, Chain]:
        """A pilot's first state at a spectral scale, with the lam that suits it best."""
        prior = self.prior_at(scale)
        streams = Streams(self.streams.seed, CHAIN)
        alpha = prior.alpha_shape / prior.alpha_rate
        state = starting_state(self.M, prior.d, scale, 1.0, alpha, streams)
        chain = collapsed.init(self._engine, self._model(prior), state, streams)
        gram = chain.gram
        lam, log_evidence = best_lam(
            gram.G[0], gram.r[0], float(gram.tt[0]), float(gram.n[0]), prior.a0, prior.b0
        )
        return StartingPoint(scale, lam, log_evidence), replace(chain, state=state.with_(lam=lam))

    def reached(self, chain: Chain, prior: Prior) -> float:
        """Log evidence with which a pilot ends: the mean of the last quarter of its sweeps.

        Minus infinity where time is over before.
        """
        streams = Streams(self.streams.seed, CHAIN)
        engine, model, tuning = self._engine, self._model(prior), Tuning(self.moves)
        values = []
        for sweep in range(1, self.sweeps + 1):
            if self.late():
                return -np.inf
            chain, info = collapsed.step(chain, engine, model, tuning, streams, sweep)
            tuning = collapsed.adapt(tuning, info, sweep)
            values.append(info.log_evidence)
        return float(np.mean(values[-max(1, self.sweeps // 4) :]))

    def height(self, scale: float) -> Height:
        """How far a pilot gets from a scale, and the start that it had."""
        if self.late():
            return -np.inf, StartingPoint(scale, 1.0, -np.inf)
        point, chain = self.at(scale)
        return self.reached(chain, self.prior_at(scale)), point

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

    def _model(self, prior: Prior) -> Model:
        return Model(prior, Gaussian(prior.a0, prior.b0), self.trend)
