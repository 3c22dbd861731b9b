"""A table as it was read: one Arrow array per column, and where each row stood in the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from banklearn.tables.errors import TableError, listed

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Table:
    """Columns by name; text files keep their cells as text until a plan says what they are.

    numbers holds the line of the file on which each row starts (unit "line"), or the row's
    number from 1 on in formats without lines (unit "row"). notes are sentences on what was done
    while reading; unusable are sentences on rows that could not be read at all. missing are
    words for a missing value beside the usual ones. repeated are names that more than one column
    had; all but the first of those are called otherwise here.
    """

    source: str
    columns: dict[str, Any]
    numbers: Rows
    unit: Literal["line", "row"]
    separator: str | None = None
    notes: tuple[str, ...] = ()
    unusable: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()

    @cached_property
    def looked_up(self) -> dict[str, bool]:
        """What was found out about all columns together, so that each column need not look."""
        return {}

    @property
    def names(self) -> list[str]:
        """Column names, in the file's order."""
        return list(self.columns)

    @property
    def n_rows(self) -> int:
        """Rows that could be read."""
        return len(next(iter(self.columns.values())))

    def column(self, name: str) -> Any:
        """A column; an unknown name is refused with the nearest names there are."""
        if name in self.columns:
            return self.columns[name]
        near = get_close_matches(name, self.names, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
        raise TableError(
            f"{self.source} has no column {name!r}.{hint} Its columns are {listed(self.names, 20)}."
        )

    def take(self, rows: Rows | Sequence[int]) -> Table:
        """The same table with some of its rows."""
        index = np.asarray(rows, dtype=np.int64)
        picked = {name: values.take(pa.array(index)) for name, values in self.columns.items()}
        return replace(self, columns=picked, numbers=self.numbers[index])

    def where(self, row: int, name: str | None = None) -> str:
        """A place in words: "data.csv, line 17, column 'x'"."""
        place = f"{self.source}, {self.unit} {int(self.numbers[row])}"
        return place if name is None else f"{place}, column {name!r}"

    def places(self, rows: Rows | Sequence[int]) -> str:
        """Some rows in words: "lines 3, 17, 20 and 5 more"."""
        numbers = self.numbers[np.asarray(rows, dtype=np.int64)].tolist()
        return f"{self.unit}{'' if len(numbers) == 1 else 's'} {listed(numbers)}"
