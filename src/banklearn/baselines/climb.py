"""L-BFGS that can be watched by a score on other rows and stopped early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from .chunks import Array

CHECK_EVERY = 10
PATIENCE = 5


@dataclass(frozen=True)
class Climb:
    """Where a climb ended: parameters, their score, and how many steps it took."""

    theta: Array
    score: float
    steps: int


def climb(
    objective: Callable[[Array], tuple[float, Array]],
    theta: Array,
    max_iter: int,
    watch: Callable[[Array], float] | None = None,
    limits: list[tuple[float | None, float | None]] | None = None,
) -> Climb:
    """Minimise ``objective`` (value and gradient) from theta by at most ``max_iter`` steps.

    Without ``watch`` the score is minus the objective at the end.  With it, ``watch`` scores the
    start, every tenth step and the end; the best of them is returned, and five checks without a
    better one end the climb.
    """
    if max_iter == 0:
        return Climb(theta, watch(theta) if watch else -objective(theta)[0], 0)
    seen = [Climb(theta, watch(theta), 0)] if watch else []
    steps = 0

    def callback(current: Array) -> None:
        nonlocal steps
        steps += 1
        if watch and steps % CHECK_EVERY == 0:
            seen.append(Climb(current.copy(), watch(current), steps))
            best = max(range(len(seen)), key=lambda i: seen[i].score)
            if len(seen) - 1 - best >= PATIENCE:
                raise StopIteration

    if limits is not None:
        lower = [-np.inf if low is None else low for low, _ in limits]
        upper = [np.inf if high is None else high for _, high in limits]
        theta = np.clip(theta, lower, upper)
    found = minimize(
        objective,
        theta,
        jac=True,
        method="L-BFGS-B",
        bounds=limits,
        callback=callback,
        options={"maxiter": max_iter, "maxcor": 20},
    )
    if watch is None:
        return Climb(found.x, -float(found.fun), steps)
    seen.append(Climb(found.x, watch(found.x), steps))
    return max(seen, key=lambda one: one.score)
