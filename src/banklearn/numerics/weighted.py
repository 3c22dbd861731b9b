"""Moments and quantiles where a row of weight w counts as w rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def mass(rows: int, weight: Array | None) -> float:
    """How many rows so many rows of these weights stand for."""
    return float(rows) if weight is None else float(weight.sum())


def mean_and_std(A: Array, weight: Array | None) -> tuple[Array, Array]:
    """Column means and standard deviations (population), safe against overflow."""
    size = np.max(np.abs(A), axis=0, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    B = np.divide(A, size, order="C")  # sums round alike however A lies in memory
    mean = np.average(B, axis=0, weights=weight)
    std = np.sqrt(np.average((B - mean) ** 2, axis=0, weights=weight))
    return mean * size, std * size


def median(A: Array, weight: Array | None) -> Array:
    """Column medians: the smallest value with at least half of the weight at or below it."""
    if weight is None:
        weight = np.ones(len(A))
    out = np.empty(A.shape[1])
    for i in range(A.shape[1]):
        order = np.argsort(A[:, i], kind="stable")
        cumulative = np.cumsum(weight[order])
        # A relative slack keeps rounding in the sum from moving the median.
        at = np.searchsorted(cumulative, 0.5 * cumulative[-1] * (1 - 1e-12))
        out[i] = A[order[min(int(at), len(A) - 1)], i]
    return out
