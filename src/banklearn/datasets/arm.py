"""A made-up robot arm, in the manner of Delve's family of kinematics sets: angles to a distance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Where the hand is measured from. The arm is one long and starts at the origin.
TARGET = (0.5, 0.5)


class Arm(NamedTuple):
    """Joint angles X (N, links), the measured distance y (N,) and the one without noise f (N,)."""

    X: Array
    y: Array
    f: Array


def hand(angles: Array) -> Array:
    """Where an arm of equal links that is one long ends, (N, 2).

    Forward kinematics in the plane: every angle (N, links) turns all the links that follow.
    """
    direction = np.cumsum(angles, axis=1)
    return np.column_stack([np.cos(direction).mean(axis=1), np.sin(direction).mean(axis=1)])


def make_arm(
    n_samples: int = 32_000,
    n_links: int = 8,
    widest: float = 0.5 * np.pi,
    noise: float = 0.01,
    random_state: int | np.random.Generator | None = None,
) -> Arm:
    """Angles uniform in (-widest, widest), and how far the hand is from TARGET, with noise."""
    if n_samples < 1 or n_links < 1:
        raise ValueError(
            f"An arm needs at least one link and one sample, but n_links = {n_links} and "
            f"n_samples = {n_samples}."
        )
    rng = np.random.default_rng(random_state)
    X = rng.uniform(-widest, widest, (n_samples, n_links))
    f = np.linalg.norm(hand(X) - TARGET, axis=1)
    return Arm(X, f + noise * rng.standard_normal(n_samples), f)
