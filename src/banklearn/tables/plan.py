"""The plan of a table: every decision, as plain data that travels with the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from banklearn.tables.cells import Array
from banklearn.tables.columns import KINDS, Column, Unseen
from banklearn.tables.errors import TableError, listed
from banklearn.tables.table import Table
from banklearn.tables.targets import TargetPlan

#: Grows when plans written by older versions can no longer be read.
FORMAT = 1


@dataclass(frozen=True)
class TablePlan:
    """How each column of a table becomes inputs, and which column is the target."""

    target: TargetPlan
    columns: tuple[Column, ...]
    missing: tuple[str, ...] = ()

    @property
    def inputs(self) -> list[str]:
        """Names of the model's inputs."""
        return [name for column in self.columns for name in column.inputs()]

    @property
    def needed(self) -> list[str]:
        """Columns that a table must have for a prediction."""
        return [column.name for column in self.columns if column.inputs()]

    def apply(self, table: Table, unseen: Unseen = "refuse") -> tuple[Array, list[str]]:
        """Inputs (n, d) of a table, by the names of its columns, and sentences on what was done.

        unseen "ignore" treats levels that no training row had as unknown instead of refusing.
        """
        self._refuse_missing_columns(table)
        notes: list[str] = []
        known = {column.name for column in self.columns} | {self.target.name}
        if extra := [name for name in table.names if name not in known]:
            notes.append(f"Columns that the model does not know, passed over: {listed(extra)}.")
        parts = [column.apply(table, unseen, notes) for column in self.columns]
        return np.column_stack(parts).astype(np.float64), notes

    def describe(self) -> list[tuple[str, str]]:
        """Each column and what is done to it, in words."""
        return [(column.name, column.words()) for column in self.columns]

    def to_json(self) -> dict[str, Any]:
        """Lists, dictionaries, numbers and strings only."""
        return {
            "format": FORMAT,
            "target": _plain(asdict(self.target)),
            "columns": [_plain(asdict(column)) for column in self.columns],
            "missing": list(self.missing),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TablePlan:
        """The plan that to_json wrote."""
        if data.get("format") != FORMAT:
            raise TableError(
                f"The table plan has format {data.get('format')!r}, but this version reads format "
                f"{FORMAT}. Fit again, or use the version of banklearn that wrote the model."
            )
        columns = []
        for entry in data["columns"]:
            fields = {key: _frozen(value) for key, value in entry.items()}
            columns.append(KINDS[entry["kind"]](**fields))
        target = TargetPlan(**{key: _frozen(value) for key, value in data["target"].items()})
        return cls(target, tuple(columns), tuple(data["missing"]))

    def _refuse_missing_columns(self, table: Table) -> None:
        if absent := [name for name in self.needed if name not in table.columns]:
            raise TableError(
                f"{table.source} lacks {listed([repr(n) for n in absent])}, which the model needs. "
                f"Its columns are {listed(table.names, 20)}; the model was fitted on "
                f"{listed(self.needed, 20)}."
            )


def _plain(value: Any) -> Any:
    """Tuples as lists, all the way down."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


def _frozen(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
