"""The moves that an estimator's parameters ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from banklearn.sampler.frequencies import Moves
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.schedule import STEP, Pace
from banklearn.sampler.sweep import Tuning

if TYPE_CHECKING:
    from banklearn.estimators.base import BankBase
    from banklearn.estimators.choosing import Chooses


def moves_of(estimator: Chooses) -> Moves:
    """How its frequencies are proposed, in pilots as in chains."""
    return Moves(
        jump=float(estimator.jump_probability),
        switch=float(estimator.switch_probability),
        exchange=float(estimator.exchange_share),
    )


def tuning_of(estimator: BankBase, engine: Any = None) -> Tuning:
    """The tuning with which its chains begin on an engine; warm-up adapts it."""
    if getattr(estimator, "inference", "") == "laplace-mh":  # the joint move, and no other
        return Tuning(moves_of(estimator))
    auto = estimator.gradient_every == "auto"
    length = estimator.gradient_length
    work = getattr(engine, "work_of_step", None) or STEP
    return Tuning(
        moves_of(estimator),
        interweave_every=estimator.interweave_every,
        scheme=estimator.proposal,
        gradient_every=0 if auto else int(estimator.gradient_every),
        gradient=GradientTuning(length=length, reach=1 if estimator.n_warmup else None),
        pace=Pace(step=min(work, STEP)) if auto else None,
    )
