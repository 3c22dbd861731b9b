"""Whether gradient moves are worth their cost: tried in warm-up, decided when it ends.

In the last third of the warm-up a gradient move is made every second sweep. Of the later half of
these sweeps two gains are kept, of the sweep's proposals (jumps, local moves, switches) and of its
gradient move: how far the log evidence climbed, and the squared distance that the frequencies moved
in coordinates whitened by their components. While the evidence still climbs, its climb counts;
where it does not, the distance does. Gradient moves stay if they gained more than the proposals for
the same number of floating-point operations, and are then made so often that both cost the same.

Cost is counted, not timed: the same seed gives the same schedule on every machine. The choice is
frozen before the first kept draw, and each chain makes its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.model.joint import State
from banklearn.numerics.linalg import cholesky, solve_lower

Array = NDArray[np.float64]
Pair = tuple[float, float]

#: Share of the warm-up, at its end, in which gradient moves are tried, and sweeps between two.
SHARE, EVERY = 1 / 3, 2
#: Fewer counted trials than this decide nothing: no gradient moves.
LEAST = 5
#: The evidence climbs where it gained more than so many standard deviations of its changes.
CLIMBS = 2.0


@dataclass(frozen=True)
class Gain:
    """What one sweep's proposals, and its gradient move, gained."""

    climbed: Pair
    moved: Pair


@dataclass(frozen=True)
class Trial:
    """Gains added up. Moves begin after sweep `begin`, and count after sweep `count_from`."""

    begin: int
    count_from: int
    times: int = 0
    climbed: Pair = (0.0, 0.0)
    moved: Pair = (0.0, 0.0)
    square: float = 0.0
    ended: bool = False

    @classmethod
    def planned(cls, n_warmup: int) -> Trial:
        """For a warm-up of so many sweeps."""
        length = int(n_warmup * SHARE)
        return cls(n_warmup - length, n_warmup - length // 2)

    def add(self, gain: Gain, sweep: int) -> Trial:
        """With the gains of one more sweep."""
        if sweep <= self.count_from:
            return self
        return replace(
            self,
            times=self.times + 1,
            climbed=_sum(self.climbed, gain.climbed),
            moved=_sum(self.moved, gain.moved),
            square=self.square + sum(gain.climbed) ** 2,
        )

    @property
    def climbs(self) -> bool:
        """Whether the log evidence climbed by more than chance."""
        return sum(self.climbed) > CLIMBS * float(np.sqrt(self.square))

    def choose(self, costs: Pair) -> int:
        """Sweeps between two gradient moves, given the costs of a sweep's proposals and of one."""
        proposals, gradient = self.climbed if self.climbs else self.moved
        pays = gradient / costs[1] > proposals / costs[0]
        return max(round(costs[1] / costs[0]), 1) if pays and self.times >= LEAST else 0


def counted_costs(N: int, M: int, length: int, tasks: int, fixed_weights: bool) -> Pair:
    """Floating-point operations of a sweep's proposals, and of a gradient move.

    Proposals: products of proposed with current columns and half a square (all columns' half a
    square where row weights change), the accept step and a factor. A step of a trajectory: half a
    square of the current columns and their product with an inverse, a factor and the inverse.
    """
    rows, small = float(N) * M**2, float(M) ** 3
    proposals = (12.0 if fixed_weights else 16.0 * tasks) * rows + 20.0 * tasks * small
    slope = tasks * (8.0 * rows + 8.0 * small)
    step = slope + tasks * (4.0 * rows + 2.7 * small)
    return proposals, length * step + slope


def squared_distance(state: State, W: Array) -> float:
    """How far the frequencies of `state` are from W, in coordinates whitened by its components."""
    total = 0.0
    for k, Sigma in enumerate(state.Sigma):
        members = state.Z == k
        white = solve_lower(cholesky(Sigma), (W[members] - state.W[members]).T)
        total += float((white**2).sum())
    return total


def in_words(trial: Trial | None) -> dict[str, Any]:
    """What a trial found, as plain data."""
    if trial is None:
        return {}
    return {
        "trials": trial.times,
        "climbing": trial.climbs,
        "climbed_by_proposals": trial.climbed[0],
        "climbed_by_gradient": trial.climbed[1],
        "moved_by_proposals": trial.moved[0],
        "moved_by_gradient": trial.moved[1],
    }


def _sum(a: Pair, b: Pair) -> Pair:
    return a[0] + b[0], a[1] + b[1]
