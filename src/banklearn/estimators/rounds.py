"""Chains that run in rounds, and end at the first look that finds them settled.

A round takes every chain from where it stands to the same number of draws. Between rounds all
chains wait, so that what is decided depends on draws alone: not on which chain was faster, nor on
whether they ran side by side, one after another or elsewhere. A fit that goes on from a checkpoint
looks again where the one before it did, and comes to the same decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from banklearn.posterior.settling import Settling
from banklearn.sampler.run import Run

D = TypeVar("D")
Runs = Sequence[Run[D]]


def in_rounds(
    run_round: Callable[[int], tuple[Runs[D], bool]],
    looks: Sequence[int],
    look: Callable[[Runs[D], int | None], Settling | None],
    asked: Callable[[], bool] = lambda: False,
) -> tuple[Runs[D], bool, Settling | None]:
    """The chains, whether they were interrupted, and what the last look found.

    run_round brings all chains to a number of draws. A round that was cut short is the last one,
    and all that it left is looked at. So is one in which somebody asked for the end, be it in the
    last sweep, which leaves nothing of the round to cut: the chains are then cut before the next.
    """
    runs: Runs[D] = ()
    for draws in looks:
        runs, interrupted = run_round(draws)
        if interrupted or any(len(run.draws) < draws for run in runs):
            return runs, interrupted, look(runs, None)
        if asked() and draws < looks[-1]:
            for run in runs:
                run.cut = "stop"
            return runs, False, look(runs, None)
        try:
            found = look(runs, draws)
        except KeyboardInterrupt:  # between two rounds: what was sampled is kept all the same
            return runs, True, None
        if found is not None and found.settled:
            break
    return runs, False, found
