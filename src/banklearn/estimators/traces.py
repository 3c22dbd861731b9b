"""What a chain reported, as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from banklearn.posterior.draws import Draw
from banklearn.sampler.interweave import KINDS
from banklearn.sampler.run import Run


def trace_of(run: Run[Draw]) -> dict[str, Any]:
    """The trace of one chain as arrays."""
    names = (
        "log_evidence",
        "log_likelihood",
        "accepted_jumps",
        "accepted_local",
        "accepted_switches",
        "accepted_exchanges",
        "interweave_acceptance",
        "K",
        "alpha",
        "lam",
        "gradient_acceptance",
        "jitter",
        "trouble",
    )
    trace: dict[str, Any] = {n: np.array([getattr(i, n) for i in run.trace]) for n in names}
    trace["warmup"] = run.warmup
    return trace


def schedule_of(run: Run[Draw]) -> dict[str, Any]:
    """The moves of the chain proper: what warm-up left of them, with its steps."""
    tuning = run.tuning
    woven, every = tuning.interweave_every > 0, tuning.gradient_every
    fixed = 1.0 / every if every else 0.0
    return {
        "gradient_rate": fixed if tuning.pace is None else tuning.pace.rate,
        "gradient_length": tuning.gradient.steps,
        "gradient_step": tuning.gradient.step,
        "gradient_tried": tuning.gradient.times,
        **{
            f"interweave_{kind}": step if woven else 0.0
            for kind, step in zip(KINDS, tuning.interweave.steps, strict=True)
        },
        "gradient_single": tuning.gradient.single,
        "arithmetic": run.arithmetic,
    }
