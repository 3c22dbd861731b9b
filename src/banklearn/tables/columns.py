"""How one column becomes inputs: plain data that is fitted once and applied ever after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from banklearn.tables.booleans import spelled_alike
from banklearn.tables.cells import Array, holds_booleans, to_days, to_levels, to_numbers
from banklearn.tables.errors import TableError, counted, listed
from banklearn.tables.table import Table

Unseen = Literal["refuse", "ignore"]

#: Periods of the parts of a date, in days.
PERIODS = {"hour": 1.0, "weekday": 7.0, "season": 365.2425}


@dataclass(frozen=True)
class NumberColumn:
    """Numbers; a missing one becomes fill (the median), with an indicator beside it."""

    name: str
    written: str
    fill: float
    indicator: bool
    kind: Literal["number"] = "number"

    def inputs(self) -> list[str]:
        """Names of the inputs that the column becomes."""
        return [self.name, *([f"{self.name} is missing"] if self.indicator else [])]

    def words(self) -> str:
        """What is done to the column, in words."""
        how = "" if self.written in ("plain", "native") else f" written with a {self.written}"
        filled = f"; missing values become {self.fill:.6g}, with an indicator"
        return f"a number{how}{filled if self.indicator else ''}"

    def apply(self, table: Table, unseen: Unseen, notes: list[str]) -> Array:
        """Inputs (n, number of inputs)."""
        written = "boolean" if self._from_booleans(table) else self.written
        return _filled(self, table, to_numbers(table, self.name, written, fitted=True), notes)

    def _from_booleans(self, table: Table) -> bool:
        """Whether zeros and ones of a typed format, as booleans once became, come as words."""
        may_be = self.written == "native" and self.fill in (0.0, 0.5, 1.0)
        return may_be and holds_booleans(table, self.name)


@dataclass(frozen=True)
class DateColumn:
    """Dates: days since the first training date, and cosine and sine of the parts that vary."""

    name: str
    written: str
    start: float
    fill: float
    indicator: bool
    parts: tuple[str, ...]
    kind: Literal["date"] = "date"

    def inputs(self) -> list[str]:
        """Names of the inputs that the column becomes."""
        names = [f"{self.name} (days)"]
        for part in self.parts:
            names += [f"{self.name} ({part}, cos)", f"{self.name} ({part}, sin)"]
        return [*names, *([f"{self.name} is missing"] if self.indicator else [])]

    def words(self) -> str:
        """What is done to the column, in words."""
        first = str(np.datetime64(round(self.start * 86400), "s")).removesuffix("T00:00:00")
        parts = f", and its {' and '.join(self.parts)} on a circle" if self.parts else ""
        how = "" if self.written == "native" else f" written {self.written}"
        return f"a date{how}: days since {first}{parts}"

    def apply(self, table: Table, unseen: Unseen, notes: list[str]) -> Array:
        """Inputs (n, number of inputs)."""
        days = _filled(self, table, to_days(table, self.name, self.written, fitted=True), notes)
        columns = [days[:, 0] - self.start]
        for part in self.parts:
            # 1970-01-01 was a Thursday; the phase makes the week start on Monday.
            phase = 3.0 if part == "weekday" else 0.0
            angle = 2.0 * np.pi * np.mod(days[:, 0] + phase, PERIODS[part]) / PERIODS[part]
            columns += [np.cos(angle), np.sin(angle)]
        return np.column_stack([*columns, *days.T[1:]])


@dataclass(frozen=True)
class OneHotColumn:
    """Levels as zeros and ones; of two levels without missing values one column is enough."""

    name: str
    levels: tuple[str, ...]
    indicator: bool
    kind: Literal["one-hot"] = "one-hot"

    def inputs(self) -> list[str]:
        """Names of the inputs that the column becomes."""
        names = [f"{self.name} = {level}" for level in self._shown()]
        return [*names, *([f"{self.name} is missing"] if self.indicator else [])]

    def words(self) -> str:
        """What is done to the column, in words."""
        missing = ", and one for missing values" if self.indicator else ""
        return f"text, one-hot: {listed(self.levels)}{missing}"

    def apply(self, table: Table, unseen: Unseen, notes: list[str]) -> Array:
        """Inputs (n, number of inputs)."""
        codes, missing = _codes(self, table, unseen, notes)
        shown = self._shown()
        offset = len(self.levels) - len(shown)
        out = np.zeros((len(codes), len(shown)))
        rows = np.flatnonzero(codes >= offset)
        out[rows, codes[rows] - offset] = 1.0
        return np.column_stack([out, missing]) if self.indicator else out

    def _shown(self) -> tuple[str, ...]:
        return self.levels[1:] if len(self.levels) == 2 else self.levels


@dataclass(frozen=True)
class TargetColumn:
    """Levels as the (shrunken) mean of the target in their training rows, one per class if many.

    A missing value is a level of its own where training rows have one.
    """

    name: str
    levels: tuple[str, ...]
    means: tuple[tuple[float, ...], ...]
    default: tuple[float, ...]
    missing: tuple[float, ...] | None
    labels: tuple[str, ...]
    kind: Literal["target-encoded"] = "target-encoded"

    def inputs(self) -> list[str]:
        """Names of the inputs that the column becomes."""
        return [f"{self.name} ({label})" for label in self.labels]

    def words(self) -> str:
        """What is done to the column, in words."""
        return (
            f"text, target-encoded: {len(self.levels)} levels replaced by the mean target of "
            "their training rows"
        )

    def apply(self, table: Table, unseen: Unseen, notes: list[str]) -> Array:
        """Inputs (n, number of inputs)."""
        codes, missing = _codes(self, table, unseen, notes)
        absent = self.default if self.missing is None else self.missing
        values = np.array([*self.means, self.default, absent], dtype=np.float64)
        position = np.where(codes < 0, len(self.levels), codes)
        return values[np.where(missing, len(self.levels) + 1, position)]


@dataclass(frozen=True)
class UnusedColumn:
    """A column that is no input, and why."""

    name: str
    reason: str
    kind: Literal["left out"] = "left out"

    def inputs(self) -> list[str]:
        """None."""
        return []

    def words(self) -> str:
        """Why the column is left out."""
        return f"left out: {self.reason}"

    def apply(self, table: Table, unseen: Unseen, notes: list[str]) -> Array:
        """No inputs, (n, 0); the table need not have the column."""
        return np.zeros((table.n_rows, 0))


Column = NumberColumn | DateColumn | OneHotColumn | TargetColumn | UnusedColumn
KINDS: dict[str, Any] = {
    "number": NumberColumn,
    "date": DateColumn,
    "one-hot": OneHotColumn,
    "target-encoded": TargetColumn,
    "left out": UnusedColumn,
}


def _filled(
    column: NumberColumn | DateColumn, table: Table, values: Array, notes: list[str]
) -> Array:
    """Values with the missing ones filled in, and the indicator if the column has one."""
    missing = np.isnan(values)
    if missing.any():
        count = counted(int(missing.sum()), "missing value")
        known = "" if column.indicator else "; there was none in the training rows"
        notes.append(f"Column {column.name!r}: {count} replaced by the training median{known}.")
    values = np.where(missing, column.fill, values)
    return np.column_stack([values, missing]) if column.indicator else values[:, None]


def _codes(
    column: OneHotColumn | TargetColumn, table: Table, unseen: Unseen, notes: list[str]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The number of each row's level (-1: missing or unknown), and which rows are missing."""
    words = spelled_alike(to_levels(table, column.name), column.levels)
    number = {level: i for i, level in enumerate(column.levels)}
    codes = np.array([-1 if w is None else number.get(w, -1) for w in words], dtype=np.int64)
    missing = np.array([w is None for w in words], dtype=bool)
    new = np.flatnonzero((codes < 0) & ~missing)
    if len(new):
        levels = listed(sorted({repr(words[i]) for i in new}))
        if unseen == "refuse":
            raise TableError(
                f"{table.where(int(new[0]), column.name)}: {words[new[0]]!r} did not occur in the "
                f"training rows, which have {listed([repr(w) for w in column.levels])}. In all "
                f"{counted(len(new), 'row')} with new levels ({levels}). --unseen ignore predicts "
                "them as if nothing was known about that column."
            )
        notes.append(
            f"Column {column.name!r}: {counted(len(new), 'row')} with levels that did not occur "
            f"in the training rows ({levels}), treated as unknown."
        )
    has_place = column.indicator if isinstance(column, OneHotColumn) else column.missing is not None
    if missing.any() and not has_place:
        notes.append(
            f"Column {column.name!r}: {counted(int(missing.sum()), 'missing value')}; there was "
            "none in the training rows, so they are treated as unknown."
        )
    return codes, missing
