"""Rows chosen at random by what they hold, so that their order in the data does not matter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from banklearn.numerics.duplicates import row_hash
from banklearn.numerics.moments import ROWS

Array = NDArray[np.float64]
Keys = NDArray[np.uint64]
Places = NDArray[np.intp]

#: Keys that are kept at most; of more rows, those with the smallest keys.
CAPACITY = 1 << 22


@dataclass(frozen=True)
class RowKeys:
    """A hash of every row's values, with the row's place, for rows that may come in pieces.

    Sorted by their keys, rows are in an order that depends on nothing but their values, and a
    sample is drawn from that order. Equal rows have equal keys; which of them is chosen makes no
    difference. pieces are (keys, places); keys of `halvings` = h leading zero bits are kept.
    """

    n_rows: int
    pieces: tuple[tuple[Keys, Places], ...]
    halvings: int = 0

    @classmethod
    def of(cls, X: Array, y: Array | None) -> RowKeys:
        """The keys of rows that are in memory."""
        blocks = [slice(start, start + ROWS) for start in range(0, len(X), ROWS)]
        keys = [row_hash(X[part], None if y is None else y[part]) for part in blocks]
        places = np.arange(len(X), dtype=np.intp)
        return cls(len(X), ((np.concatenate(keys), places),) if keys else ())._within_capacity()

    def __add__(self, other: RowKeys) -> RowKeys:
        """Of these rows and then the others."""
        halvings = max(self.halvings, other.halvings)
        pieces = self._thinned(halvings).pieces
        for keys, places in other._thinned(halvings).pieces:
            pieces = (*pieces, (keys, places + self.n_rows))
        return RowKeys(self.n_rows + other.n_rows, pieces, halvings)._within_capacity()

    def choose(self, count: int, rng: np.random.Generator) -> Places:
        """The places of so many rows, drawn without replacement, in increasing order."""
        if count >= self.n_rows:
            return np.arange(self.n_rows)
        if count > len(self._in_order):
            # So many equal rows that none was kept: any other choice is as good.
            return np.sort(rng.choice(self.n_rows, count, replace=False))
        return np.sort(self._in_order[rng.choice(len(self._in_order), count, replace=False)])

    def choose_among(self, places: Places, count: int, rng: np.random.Generator) -> Places:
        """So many of the given places, drawn without replacement, in increasing order."""
        if count >= len(places):
            return np.sort(places)
        known = self._in_order[np.isin(self._in_order, places)]
        ordered = known if len(known) == len(places) else np.sort(places)
        return np.sort(ordered[rng.choice(len(ordered), count, replace=False)])

    @property
    def different(self) -> int:
        """How many rows differ; an estimate, where not all keys are kept."""
        keys, _ = _joined(self.pieces)
        return min(len(np.unique(keys)) << self.halvings, self.n_rows)

    @cached_property
    def _in_order(self) -> Places:
        keys, places = _joined(self.pieces)
        return places[np.argsort(keys, kind="stable")]

    def _within_capacity(self) -> RowKeys:
        kept = self
        while sum(len(keys) for keys, _ in kept.pieces) > CAPACITY:
            kept = kept._thinned(kept.halvings + 1)
        return kept

    def _thinned(self, halvings: int) -> RowKeys:
        if halvings == self.halvings:
            return self
        keys, places = _joined(self.pieces)
        small = keys >> np.uint64(64 - halvings) == 0
        return RowKeys(self.n_rows, ((keys[small], places[small]),), halvings)


def _joined(pieces: tuple[tuple[Keys, Places], ...]) -> tuple[Keys, Places]:
    keys, places = zip(*pieces, strict=True)
    return np.concatenate(keys), np.concatenate(places)
