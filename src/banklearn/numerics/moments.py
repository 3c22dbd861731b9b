"""Moments and extremes of columns that combine, so that rows may come in pieces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from banklearn.numerics.weighted import mass, mean_and_std

Array = NDArray[np.float64]

#: Rows that are taken together: rows in pieces give the same bits as rows at once.
ROWS = 4096


@dataclass(frozen=True)
class Moments:
    """Weight of the rows; mean, standard deviation (population) and extremes of each column."""

    mass: float
    mean: Array
    std: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, A: Array, weight: Array | None = None) -> Moments:
        """The moments of rows that are in memory."""
        if len(A) > ROWS:
            parts = [slice(start, start + ROWS) for start in range(0, len(A), ROWS)]
            weights = [None if weight is None else weight[part] for part in parts]
            return reduce(add, (cls.of(A[part], w) for part, w in zip(parts, weights, strict=True)))
        mean, std = mean_and_std(A, weight)
        return cls(mass(len(A), weight), mean, std, A.min(axis=0), A.max(axis=0))

    def __add__(self, other: Moments) -> Moments:
        """The moments of both sets of rows (Chan, Golub and LeVeque, 1979)."""
        mass = self.mass + other.mass
        a, b = self.mass / mass, other.mass / mass
        # Halves, so that the difference of two extreme means does not overflow.
        between = 2.0 * np.sqrt(a * b) * (0.5 * other.mean - 0.5 * self.mean)
        within = np.hypot(np.sqrt(a) * self.std, np.sqrt(b) * other.std)
        return Moments(
            mass,
            a * self.mean + b * other.mean,
            np.hypot(within, between),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )
