"""Whether products in single precision show in the log evidence.

Rounding moves every entry of the statistic by a part in ten million or so, at random. What that
does to the log evidence grows with the rows and with the ratio of signal to noise, and no bound
that holds for all data is of use. So chains look: the log evidence of their state, by the
statistic that they go by, against that of the same columns in double precision.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from banklearn.engines.base import Engine
from banklearn.gram import GramSum
from banklearn.numerics.linalg import JitterCount, NumericalError
from banklearn.numerics.streams import Streams
from banklearn.sampler import precision
from banklearn.sampler.sweep import Chain, Model, statistic

#: Sweeps of a stage after which chains look: noise falls fast where they begin.
EARLY = (1, 2, 4, 8, 16)
#: Sweeps between two looks from then on.
EVERY = 25
#: Difference of log evidences above which single precision is given up.
LARGEST = 0.05


def arithmetic_of(engine: Engine) -> str:
    """The arithmetic in which an engine sums."""
    return getattr(engine, "arithmetic", "double")


def is_due(done: int) -> bool:
    """Whether a chain looks after so many sweeps of a stage."""
    return done in EARLY or done % EVERY == 0


def shows(engine: Engine, model: Model, chain: Chain, streams: Streams, sweep: int) -> bool:
    """Whether a chain must go on in double precision; never where it already does."""
    if arithmetic_of(engine) == "double":
        return False
    # Not "above": where a factor failed the difference is no number.
    return not rounding_error(engine, model, chain, streams, sweep) <= LARGEST


def rounding_error(
    engine: Engine, model: Model, chain: Chain, streams: Streams, sweep: int
) -> float:
    """The difference that rounding makes to the log evidence of a chain's state.

    Infinite where one of the two cannot be computed. Row weights that change are drawn once and
    used for both.
    """
    W, likelihood, lam = chain.state.W, model.likelihood, chain.solved.lam
    try:
        if likelihood.fixed_weights:
            exact = restated(engine.exact(), model, chain, streams, sweep).solved.log_evidence
            return abs(chain.solved.log_evidence - exact)
        working = engine.freeze(likelihood.working(chain.beta, streams, sweep), W, model.trend)
        both = GramSum(W, model.trend, working, likelihood.tasks)
        rounded, exact = (
            precision.solve(part.sum(both), lam, likelihood, JitterCount()).log_evidence
            for part in (engine, engine.exact())
        )
        return abs(rounded - exact)
    except NumericalError:
        return np.inf


def restated(engine: Engine, model: Model, chain: Chain, streams: Streams, sweep: int) -> Chain:
    """The chain at the same state, with the statistic of another engine over the same rows."""
    likelihood = model.likelihood
    if not likelihood.fixed_weights:
        return chain  # the next sweep draws row weights, and sums everything anew
    gram = statistic(engine, model, chain.state, chain.beta, streams, sweep)
    solved = precision.solve(gram, chain.solved.lam, likelihood, JitterCount())
    return replace(chain, gram=gram, solved=solved)
