"""The reference engine: arrays in memory, one block after another, all cores through BLAS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.base import Statistic
from banklearn.engines.mixed import Arithmetic, Summed
from banklearn.gram import BLOCK_ROWS, Block, Frozen, WorkingFunction
from banklearn.model.features import Trend

Array = NDArray[np.float64]


class MemoryEngine(Summed):
    """Blocks are views of X (N, d) and y (N,); memory beyond them does not grow with N.

    X may be anything that has a length and gives rows, (n, d) as an array, for a slice or for
    their numbers: rows that are made when they are asked for cost no memory.
    """

    def __init__(
        self,
        X: Any,
        y: Array,
        weight: Array | None = None,
        block_rows: int = BLOCK_ROWS,
        arithmetic: Arithmetic = "double",
    ) -> None:
        self.X, self.y, self.weight, self.block_rows = X, y, weight, block_rows
        self.arithmetic = arithmetic

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        return len(self.X)

    def blocks(self) -> Iterator[Block]:
        """The blocks in order."""
        for start in range(0, len(self.X), self.block_rows):
            part = slice(start, start + self.block_rows)
            weight = None if self.weight is None else self.weight[part]
            yield Block(self.X[part], self.y[part], weight, start)

    def sum(self, statistic: Statistic[Any]) -> Any:
        """Add the blocks in order."""
        ops = self.ops_for(statistic)
        total = statistic.zero(ops)
        for block in self.blocks():
            statistic.add(ops, total, block)
        return statistic.finish(ops, total)

    def subset(self, rows: NDArray[np.intp]) -> MemoryEngine:
        """Some of the rows, copied."""
        weight = None if self.weight is None else self.weight[rows]
        return MemoryEngine(self.X[rows], self.y[rows], weight, self.block_rows, self.arithmetic)

    def freeze(self, working: WorkingFunction, W: Array, trend: Trend) -> WorkingFunction:
        """Drawn once and kept."""
        return Frozen(working)
