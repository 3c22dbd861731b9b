"""What a chain reported, as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from banklearn.posterior.draws import Draw
from banklearn.sampler.run import Run


def trace_of(run: Run[Draw]) -> dict[str, Any]:
    """The trace of one chain as arrays."""
    names = (
        "log_evidence",
        "log_likelihood",
        "accepted_jumps",
        "accepted_local",
        "accepted_switches",
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
