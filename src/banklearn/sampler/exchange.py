"""Exchange of frequencies in use against candidates, each of which is offered to many places.

Given G (see :mod:`.switch`) frequencies in use and candidates drawn from G are exchangeable a
priori. So a candidate may take any place: which of a group of frequencies and the candidate is
left out is chosen by the evidence without it (Metropolised Gibbs). The paper's jump offers a
candidate to one place, and a good one is lost wherever that place holds a better one. Groups are
new in each sweep.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from banklearn.gram import Gram
from banklearn.model.evidence import Ridge
from banklearn.model.joint import State
from banklearn.sampler.accept import columns_of, decide_places
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.switch import Proposals

Places = NDArray[np.int64]

#: Candidates are drawn from G.
CANDIDATES = Moves(jump=1.0, switch=1.0)


@dataclass(frozen=True)
class Exchanged:
    """What each of M places holds now: frequency j of those before, or M + c for candidate c.

    solutions are the factored equations of what they hold, where they came out of the work.
    """

    holds: Places
    gain: float
    trouble: bool
    solutions: tuple[Ridge, ...] | None = None

    @property
    def entered(self) -> NDArray[np.bool_]:
        """Whether a place was given to a candidate."""
        return self.holds >= len(self.holds)

    def columns(self, h: int) -> NDArray[np.intp]:
        """Columns of [trend | current | proposed] that are in use."""
        return columns_of(h, self.holds)

    def taken(self, state: State, offered: Proposals) -> State:
        """The state after the exchange, with components that nobody uses left out."""
        W = np.concatenate([state.W, offered.W])[self.holds]
        labels = np.concatenate([state.Z, offered.Z])[self.holds]
        return offered.placed(state, W, labels)


def exchange(
    gram: Gram, lam: float, h: int, a_n: float, rest: float, rng: np.random.Generator
) -> Exchanged:
    """Offer the proposed frequencies of [h trend | 2M current | 2M proposed] columns to groups.

    See ``Likelihood.accept_form`` for a_n and rest. Places are those of the order in which groups
    are made: a frequency has another one afterwards, and the factor that comes out of the work is
    that of the new state.
    """
    M = (gram.r.shape[1] - h) // 4
    order, u, log_u = rng.permutation(M), rng.random(M), np.log(rng.random(M))
    decisions = decide_places(gram, lam, h, a_n, rest, log_u, u, order)
    holds = np.stack([order, M + np.arange(M)], axis=1).ravel()[decisions.chosen]
    return Exchanged(holds, decisions.gain, decisions.trouble, decisions.solutions)
