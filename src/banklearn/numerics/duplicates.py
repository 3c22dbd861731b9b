"""Rows that occur several times, merged into one row with a weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Rows that are compared at once, so that no copies of many are made.
_COMPARED = 65_536


def row_hash(X: Array, y: Array | None) -> NDArray[np.uint64]:
    """A 64-bit hash of every row's bits (-0.0 taken as 0.0), whatever the row's place."""
    h = np.full(len(X), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for values in X.T if y is None else (*X.T, y):
        column = np.ascontiguousarray(values + 0.0)
        h = (h ^ column.view(np.uint64)) * np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
    return h


def merge_rows(X: Array, y: Array, weight: Array | None) -> tuple[Array, Array, Array | None]:
    """Merge rows with equal (x, y) by adding their weights.

    Without weights and duplicates everything stays as it is. Otherwise rows come in an order
    that depends on their values alone, so that a row given twice and a row of weight two are the
    same data, bit for bit.
    """
    h = row_hash(X, y)
    order = np.argsort(h, kind="stable")
    h = h[order]
    if weight is None and (h[1:] != h[:-1]).all():
        return X, y, None
    # Neighbours with equal hashes are compared; different rows with one hash stay apart.
    new = np.ones(len(X), dtype=bool)
    new[1:] = h[1:] != h[:-1]
    same = np.flatnonzero(~new)
    here, before = order[same], order[same - 1]
    different = y[here] != y[before]
    for part in range(0, len(same), _COMPARED):
        some = slice(part, part + _COMPARED)
        different[some] |= (X[here[some]] != X[before[some]]).any(axis=1)
    new[same] = different
    start = np.flatnonzero(new)
    w = np.ones(len(X)) if weight is None else weight[order]
    kept = order[start]
    return X[kept], y[kept], np.add.reduceat(w, start)
