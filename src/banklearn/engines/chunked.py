"""Out of core: blocks are read from disk while the blocks before are summed.

Rows are cut into the blocks of the memory engine whatever sizes they are read in, and added in the
same order, so that both engines give the same chain. Memory does not grow with the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.base import Engine, Statistic
from banklearn.engines.host import HostOps
from banklearn.engines.memory import MemoryEngine
from banklearn.engines.mixed import Arithmetic, Summed
from banklearn.engines.pieces import Piece, SharedReader, piece_rows, recut
from banklearn.gram import Block, Redrawn, WorkingFunction
from banklearn.model.features import Trend

Array = NDArray[np.float64]

#: A subset of fewer bytes is kept in memory.
SUBSET_BYTES = 256 << 20
#: Working weights of so many bytes are kept, for each chain.
FROZEN_BYTES = 128 << 20


class ChunkedEngine(Summed):
    """Sums over rows that are read anew each time; `read` begins a read from the first row."""

    def __init__(
        self,
        read: Callable[[], Iterator[Piece]],
        n_rows: int,
        n_inputs: int,
        weighted: bool,
        arithmetic: Arithmetic = "double",
    ) -> None:
        self.n_rows, self.n_inputs, self.weighted = n_rows, n_inputs, weighted
        self.arithmetic = arithmetic
        self.reader = SharedReader(lambda: self._complete(recut(read(), piece_rows(n_inputs))))

    def expect(self, chains: int) -> None:
        """So many chains will share each read of the data."""
        self.reader.expect(chains)

    def member(self) -> AbstractContextManager[None]:
        """Around the work of one of them."""
        return self.reader.member()

    def sum(self, statistic: Statistic[Any]) -> Any:
        """Add the blocks in order, in one read."""
        with closing(self.reader.pieces()) as pieces:
            return _sum(self.ops_for(statistic), statistic, pieces)

    def subset(self, rows: NDArray[np.intp]) -> Engine:
        """Some of the rows: gathered in memory, or picked out of every read where they are many."""
        if len(rows) * self.n_inputs * 8 > SUBSET_BYTES:
            return PickedEngine(self, rows)
        X, y, weight = self.sum(Gather(rows, self.n_inputs, self.weighted))
        return MemoryEngine(X, y, weight, arithmetic=self.arithmetic)

    def freeze(self, working: WorkingFunction, W: Array, trend: Trend) -> WorkingFunction:
        """Drawn anew each time where there are too many rows to keep a few numbers for each."""
        return Redrawn(working, W, trend, FROZEN_BYTES)

    def _complete(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        seen = 0
        for piece in pieces:
            seen += len(piece)
            if seen <= self.n_rows:
                yield piece
        if seen != self.n_rows:
            raise RuntimeError(
                f"The data changed during the fit: {self.n_rows} rows at first, {seen} now."
            )


class PickedEngine:
    """A subset that is too large for memory: every read of the whole gives its rows."""

    def __init__(self, whole: ChunkedEngine, rows: NDArray[np.intp]) -> None:
        if (np.diff(rows) <= 0).any():
            raise ValueError("Rows of a large subset must be in increasing order.")
        self.whole, self.rows, self.n_rows = whole, rows, len(rows)
        self.arithmetic = whole.arithmetic

    def sum(self, statistic: Statistic[Any]) -> Any:
        """Add the blocks in order, in one read of the whole."""
        with closing(self.whole.reader.pieces()) as every:
            pieces = recut(self._picked(every), piece_rows(self.whole.n_inputs))
            return _sum(self.whole.ops_for(statistic), statistic, pieces)

    def exact(self) -> PickedEngine:
        """The same rows, summed in double precision."""
        return self._of(self.whole.exact())

    def rough(self) -> PickedEngine:
        """The same rows, multiplied in single precision."""
        return self._of(self.whole.rough())

    def _of(self, whole: ChunkedEngine) -> PickedEngine:
        return self if whole is self.whole else PickedEngine(whole, self.rows)

    def _picked(self, every: Iterator[Piece]) -> Iterator[Piece]:
        start = 0
        for piece in every:
            low, high = np.searchsorted(self.rows, (start, start + len(piece)))
            yield piece[self.rows[low:high] - start]
            start += len(piece)

    def subset(self, rows: NDArray[np.intp]) -> Engine:
        """Some of these rows."""
        return self.whole.subset(self.rows[rows])

    def freeze(self, working: WorkingFunction, W: Array, trend: Trend) -> WorkingFunction:
        """As for the whole."""
        return self.whole.freeze(working, W, trend)


class Gather:
    """Some of the rows, as a sum over blocks: each block puts its rows where they belong."""

    def __init__(self, rows: NDArray[np.intp], n_inputs: int, weighted: bool) -> None:
        self.order = np.argsort(rows, kind="stable")
        self.sorted = rows[self.order]
        self.n_inputs, self.weighted = n_inputs, weighted

    def zero(self, ops: Any) -> list[Any]:
        """Room for X, y and weights."""
        n = len(self.sorted)
        return [np.empty((n, self.n_inputs)), np.empty(n), np.empty(n) if self.weighted else None]

    def add(self, ops: Any, total: list[Any], block: Block) -> None:
        """The rows that are in this block."""
        low, high = np.searchsorted(self.sorted, (block.start, block.start + len(block.y)))
        here, there = self.sorted[low:high] - block.start, self.order[low:high]
        for out, values in zip(total, (block.X, block.y, block.weight), strict=True):
            if out is not None and values is not None:
                out[there] = values[here]

    def finish(self, ops: Any, total: list[Any]) -> list[Any]:
        """X, y and weights."""
        return total


def _sum(ops: HostOps, statistic: Statistic[Any], pieces: Iterator[Piece]) -> Any:
    total = statistic.zero(ops)
    start = 0
    for piece in pieces:
        for block in piece.blocks(start):
            statistic.add(ops, total, block)
        start += len(piece)
    return statistic.finish(ops, total)
