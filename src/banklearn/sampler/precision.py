"""lam given W: random-walk Metropolis on log lam with the weights integrated out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from banklearn.gram import Gram
from banklearn.likelihoods.base import Likelihood
from banklearn.model.evidence import Ridge
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import JitterCount


@dataclass(frozen=True)
class Solved:
    """The factored equations of every task at one lam, and the log evidence they give."""

    lam: float
    solutions: Sequence[Ridge]
    log_evidence: float


def solve(
    gram: Gram,
    lam: float,
    likelihood: Likelihood,
    count: JitterCount,
    known: Sequence[Ridge] | None = None,
) -> Solved:
    """Factor, unless the factored equations are known, and evaluate at lam."""
    solutions = known or [gram.ridge(t, lam, count) for t in range(len(gram.r))]
    return Solved(lam, solutions, likelihood.log_evidence(gram, solutions))


def log_conditional(solved: Solved, prior: Prior) -> float:
    """Unnormalised log p(log lam | W, Y)."""
    return solved.log_evidence + prior.log_lam(solved.lam)


def update(
    now: Solved,
    gram: Gram,
    likelihood: Likelihood,
    prior: Prior,
    step: float,
    rng: np.random.Generator,
    count: JitterCount,
) -> tuple[Solved, float]:
    """Propose log lam + step N(0, 1); returns the new point and the acceptance probability."""
    proposal = now.lam * float(np.exp(step * rng.standard_normal()))
    log_u = float(np.log(rng.random()))
    if not 1e-280 < proposal < 1e280:
        return now, 0.0
    new = solve(gram, proposal, likelihood, count)
    log_ratio = log_conditional(new, prior) - log_conditional(now, prior)
    return (new if log_u < log_ratio else now), float(np.exp(min(log_ratio, 0.0)))
