"""How often gradient moves are made: not while many candidates are taken, then ever more often.

Candidates from the mixture cost little, and as long as many of them are taken nothing finds new
frequencies faster. Where the data know their frequencies well few are taken, and those that matter
move along the gradient or not at all. With a share a < FEW of the places that take a candidate in a
sweep, gradient moves get ODDS (1 - a) / a times the work of the sweeps, but never more than MOST.
Warm-up on some of the rows is where long trajectories are learned for little, and more candidates
are taken there than will be on all rows: up to FEW_OF_PART they begin there already.

A GPU with few rows is different: a sweep there is waiting for decisions in memory, and steps are
next to nothing (``work_of_step`` of its engine; with many rows they count as elsewhere). Where a
step is CHEAP, gradient moves get their share of the work however many candidates are taken. No more
than that: with more of them chains mix faster, and predict worse for it in the same time.

Warm-up measures a, as a running mean, and the pace is frozen with it. Without a sweep of warm-up on
all rows there are none: nobody knows what is taken there. Work is counted, not timed:
the same seed gives the same schedule on every machine of a kind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

#: As long as so large a share of the places takes a candidate there are none.
FEW = 0.35
#: The same where sweeps see some of the rows.
FEW_OF_PART = 0.55
#: Work of gradient moves for that of sweeps, if half of the places took a candidate.
ODDS = 1.0 / 3.0
#: Work of gradient moves for that of sweeps where hardly any place takes one.
MOST = 1.5
#: Work of a step of a trajectory, in sweeps, where it is that of its products.
STEP = 0.6
#: Steps of less work than this are cheap: a trajectory of 24 takes less than five sweeps.
CHEAP = 0.2
#: Weight of the last sweep in the running mean.
RATE = 0.1
GOLDEN = (5.0**0.5 - 1.0) / 2.0


@dataclass(frozen=True)
class Pace:
    """Gradient moves per sweep, and the share of places that candidates took, once it is known."""

    rate: float = 0.0
    taken: float | None = None
    #: Whether sweeps see all rows.
    whole: bool = True
    #: Work of a step, in sweeps.
    step: float = STEP

    def due(self, sweep: int) -> bool:
        """Whether this sweep has a gradient move.

        Multiples of the golden ratio are spread evenly over [0, 1) from the first on, so that
        the share of sweeps is right while the rate still changes.
        """
        return sweep * GOLDEN % 1.0 < self.rate

    def after(self, taken: float, length: int) -> Pace:
        """The pace after a sweep in which so many took a candidate, for moves of `length` steps."""
        mean = taken if self.taken is None else (1.0 - RATE) * self.taken + RATE * taken
        return replace(self, taken=mean).of_length(length)

    def of_length(self, length: int) -> Pace:
        """The pace for moves of `length` steps; as it is where nobody knows what is taken."""
        if (mean := self.taken) is None:
            return self
        pays = self.step < CHEAP or mean < (FEW if self.whole else FEW_OF_PART)
        work = min(ODDS * (1.0 - mean) / max(mean, 1e-12), MOST) if pays else 0.0
        return replace(self, rate=min(work / (self.step * length), 1.0))
