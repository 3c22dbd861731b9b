"""What becomes of a sweep's proposals: each for its own place, all at once, or for every place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from banklearn.gram import Gram
from banklearn.likelihoods.base import Likelihood
from banklearn.model.evidence import Ridge
from banklearn.model.joint import State
from banklearn.numerics.linalg import JitterCount
from banklearn.sampler import precision
from banklearn.sampler.accept import accept_in_turn, extended_columns
from banklearn.sampler.exchange import exchange
from banklearn.sampler.frequencies import joint_acceptance, select_all
from banklearn.sampler.switch import Proposals

#: Every proposal is a candidate for every place; for its own, one place after another; or all of
#: them are accepted together, or none.
How = Literal["exchange", "in-turn", "at-once"]
NAN = float("nan")


@dataclass(frozen=True)
class Shares:
    """Which share of each kind of proposal was accepted; NaN where there was none.

    Of an exchange: the share of places that a candidate took.
    """

    jumps: float = NAN
    local: float = NAN
    switches: float = NAN
    exchanges: float = NAN


@dataclass(frozen=True)
class Decided:
    """State and statistic after the decisions; solutions where they came out of the work."""

    state: State
    gram: Gram
    shares: Shares
    trouble: bool
    solutions: Sequence[Ridge] | None = None


def decide(
    how: How,
    state: State,
    offered: Proposals,
    ext: Gram,
    h: int,
    likelihood: Likelihood,
    rng: np.random.Generator,
    count: JitterCount,
) -> Decided:
    """State and statistic after the decisions on [h trend | current | proposed] columns."""
    if how == "exchange":
        done = exchange(ext, state.lam, h, *likelihood.accept_form(ext), rng)
        shares, gram = Shares(exchanges=mean_of(done.entered)), ext.select(done.columns(h))
        return Decided(done.taken(state, offered), gram, shares, done.trouble, done.solutions)
    log_u, trouble, solutions = np.log(rng.random(state.M)), False, None
    if how == "in-turn":
        turns = accept_in_turn(ext, state.lam, h, log_u, *likelihood.accept_form(ext))
        accepted, trouble, solutions = turns.accepted, turns.trouble, turns.solutions
    else:
        star = precision.solve(select_all(ext, h, state.M), state.lam, likelihood, count)
        current = ext.select(np.arange(h + 2 * state.M))
        now = precision.solve(current, state.lam, likelihood, count)
        yes = log_u[0] < joint_acceptance(star.log_evidence, now.log_evidence)
        accepted = np.full(state.M, yes)
    changed = offered.Z != state.Z
    shares = Shares(
        jumps=mean_of(accepted[(offered.rho == 1.0) & ~changed]),
        local=mean_of(accepted[offered.rho < 1.0]),
        switches=mean_of(accepted[changed]),
    )
    gram = ext.select(extended_columns(h, state.M, accepted))
    return Decided(offered.taken(state, accepted), gram, shares, trouble, solutions)


def mean_of(flags: NDArray[np.bool_]) -> float:
    """Share of true flags, NaN when there is none."""
    return float(flags.mean()) if len(flags) else NAN
