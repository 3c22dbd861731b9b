"""Rows that occur several times, merged into one row with a weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def row_hash(A: Array) -> NDArray[np.uint64]:
    """A 64-bit hash of every row's bits (-0.0 taken as 0.0), whatever the row's place."""
    bits = np.ascontiguousarray(A + 0.0).view(np.uint64)
    h = np.full(len(A), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for j in range(bits.shape[1]):
        h = (h ^ bits[:, j]) * np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
    return h


def merge_rows(X: Array, y: Array, weight: Array | None) -> tuple[Array, Array, Array | None]:
    """Merge rows with equal (x, y) by adding their weights.

    Without weights and duplicates everything stays as it is. Otherwise rows come in an order
    that depends on their values alone, so that a row given twice and a row of weight two are the
    same data, bit for bit.
    """
    both = np.column_stack([X, y])
    h = row_hash(both)
    if weight is None and len(np.unique(h)) == len(h):
        return X, y, None
    # Ties of the hash are put in order of the values, so that equal rows are neighbours.
    order = np.lexsort((*both.T[::-1], h))
    both = both[order]
    new = np.ones(len(both), dtype=bool)
    new[1:] = (both[1:] != both[:-1]).any(axis=1)
    start = np.flatnonzero(new)
    w = np.ones(len(both)) if weight is None else weight[order]
    merged = np.add.reduceat(w, start)
    kept = both[start]
    return np.ascontiguousarray(kept[:, :-1]), np.ascontiguousarray(kept[:, -1]), merged
