"""The moves that an estimator's parameters ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from banklearn.sampler.frequencies import Moves
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.sweep import Tuning

if TYPE_CHECKING:
    from banklearn.estimators.base import BankBase


def tuning_of(estimator: BankBase) -> Tuning:
    """The tuning with which its chains begin; warm-up adapts it."""
    return Tuning(
        Moves(jump=estimator.jump_probability, switch=estimator.switch_probability),
        interweave_every=estimator.interweave_every,
        scheme=estimator.proposal,
        gradient_every=estimator.gradient_every,
        gradient=GradientTuning(length=estimator.gradient_length),
    )
