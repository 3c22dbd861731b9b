"""What a source of rows is: blocks of (X, y, weight) that can be read again and again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Rows that a source reads at once, where it can choose.
ROWS_AT_ONCE = 65_536


@dataclass(frozen=True)
class RawBlock:
    """Rows as they were read: X (n, d) in float64, y (n,) of any type, weights or None.

    number counts the blocks of one read, place names the file (or is empty), and row is the
    number of the first row there.
    """

    X: Array
    y: Any
    weight: Array | None = None
    number: int = 0
    place: str = ""
    row: int = 0

    def where(self, i: int) -> str:
        """The i-th row of the block, in words."""
        at = f"row {i} of block {self.number}"
        return f"{at} (row {self.row + i} of {self.place})" if self.place else at


class Source(ABC):
    """Rows that need not fit in memory; every read gives the same rows in the same order."""

    #: Names of the inputs, where they have some.
    names: Sequence[str] | None = None
    #: Rows in all, where that is known before reading.
    n_rows: int | None = None

    @abstractmethod
    def blocks(self) -> Iterator[RawBlock]:
        """All rows, in blocks of any size."""

    def check(self) -> None:  # noqa: B027 (most sources have nothing to look at)
        """Look for trouble that shows without reading all rows."""


class SourceError(ValueError):
    """Data that cannot be used as they are; the message names file, block and row."""
