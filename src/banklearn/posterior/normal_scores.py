"""Inputs brought to normal scores: piecewise linear maps through quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Array = NDArray[np.float64]

#: Knots of a map at most; inputs with no more distinct values are mapped exactly.
KNOTS = 256
#: Normal scores of the quartiles.
QUARTILE = float(ndtri(0.75))


class NormalScores(NamedTuple):
    """Monotone maps, one per input: knots and their heights, (Q, d), both increasing.

    Between two knots a map is linear; beyond the outer ones it goes on with its mean slope, so
    that rows outside of the training range stay outside. Inputs with fewer knots repeat the last.
    """

    knots: Array
    heights: Array

    def __call__(self, U: Array) -> Array:
        """Scores (n, d) of values (n, d)."""
        out = np.empty(U.shape)
        for i in range(U.shape[1]):
            u, knots, heights = U[:, i], self.knots[:, i], self.heights[:, i]
            out[:, i] = np.interp(u, knots, heights)
            half = 0.5 * knots[-1] - 0.5 * knots[0]  # halves: the range itself may overflow
            rise = heights[-1] - heights[0]
            if half > 0:
                with np.errstate(over="ignore"):
                    below = np.minimum(0.5 * u - 0.5 * knots[0], 0.0) / half
                    above = np.maximum(0.5 * u - 0.5 * knots[-1], 0.0) / half
                    out[:, i] += rise * (below + above)
        return out

    def slope(self) -> Array:
        """Slope between the quartiles, (d,): how heights grow with values near the median."""
        out = np.ones(self.knots.shape[1])
        for i in range(len(out)):
            knots, heights = self.knots[:, i], self.heights[:, i]
            low, high = np.interp([-QUARTILE, QUARTILE], heights, knots)
            rise = np.interp([low, high], knots, heights)
            if not high > low:
                low, high, rise = knots[0], knots[-1], heights[[0, -1]]
            with np.errstate(over="ignore"):
                width = high - low
            if width > 0 and np.isfinite(width):
                out[i] = max((rise[1] - rise[0]) / width, 1e-100)
        return out

    @staticmethod
    def side_by_side(maps: Sequence[NormalScores]) -> NormalScores:
        """The maps of several groups of inputs as one."""
        most = max(len(m.knots) for m in maps)
        padded = [[np.pad(A, ((0, most - len(A)), (0, 0)), mode="edge") for A in m] for m in maps]
        return NormalScores(*(np.concatenate(parts, axis=1) for parts in zip(*padded, strict=True)))


def fit_normal_scores(U: Array, weight: Array | None, most: int = KNOTS) -> NormalScores:
    """Maps that bring the values of each column to normal scores, ties to their middle rank."""
    maps = [NormalScores(*_knots(U[:, i], weight, most)) for i in range(U.shape[1])]
    return NormalScores.side_by_side(maps)


def _knots(u: Array, weight: Array | None, most: int) -> tuple[Array, Array]:
    """Distinct values and the normal scores of their middle ranks, (Q, 1) each."""
    values, place = np.unique(u, return_inverse=True)
    mass = np.bincount(place, weights=weight, minlength=len(values)).astype(np.float64)
    share = mass / mass.sum()
    rank = np.cumsum(share) - 0.5 * share
    # The smallest double below one is not enough for a finite score of the last of many weights.
    heights = ndtri(np.clip(rank, 1e-15, 1.0 - 1e-15))
    if len(values) > most:
        # Evenly spaced in the score, so that tails keep their shape too.
        levels = ndtr(np.linspace(heights[0], heights[-1], most))
        chosen = np.unique(np.minimum(np.searchsorted(rank, levels), len(values) - 1))
        chosen[0], chosen[-1] = 0, len(values) - 1
        values, heights = values[chosen], heights[chosen]
    return values[:, None], heights[:, None]
