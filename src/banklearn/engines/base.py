"""The contract between statistics and engines."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from banklearn.gram import Block, Ops, WorkingFunction
from banklearn.model.features import Trend

Array = NDArray[np.float64]
Result = TypeVar("Result", covariant=True)


class Statistic(Protocol[Result]):
    """Something that is a sum over blocks of rows."""

    def zero(self, ops: Ops) -> list[Any]:
        """Fresh accumulators."""
        ...

    def add(self, ops: Ops, total: list[Any], block: Block) -> None:
        """Add one block to the accumulators, in place."""
        ...

    def finish(self, ops: Ops, total: list[Any]) -> Result:
        """The result from the summed accumulators."""
        ...


class Engine(Protocol):
    """A way to sum over blocks. Block boundaries and the order of summation are fixed."""

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        ...

    def sum(self, statistic: Statistic[Any]) -> Any:
        """The finished sum of a statistic over all blocks."""
        ...

    def subset(self, rows: NDArray[np.intp]) -> Engine:
        """An engine over some of the rows, in the given order."""
        ...

    def exact(self) -> Engine:
        """An engine over the same rows that sums in double precision."""
        ...

    def rough(self) -> Engine:
        """An engine over the same rows that may sum in single precision, or itself.

        For what is decided by sums of this one afterwards.
        """
        ...

    def freeze(self, working: WorkingFunction, W: Array, trend: Trend) -> WorkingFunction:
        """Working weights at the features of W that stay the same for several sums."""
        ...
