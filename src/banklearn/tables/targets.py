"""The target column: what is to be predicted, and the rows that can be used for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from banklearn.tables.booleans import spelled_alike
from banklearn.tables.cells import (
    Array,
    Form,
    holds_booleans,
    native_form,
    recognise_form,
    refuse_extreme,
    to_levels,
    to_numbers,
)
from banklearn.tables.errors import TableError, counted, listed
from banklearn.tables.table import Table

Task = Literal["regression", "classification"]
#: A number with as few distinct whole values may be a label.
FEW = 10


@dataclass(frozen=True)
class TargetPlan:
    """Name, task and how the cells are written; classes in order for classification."""

    name: str
    task: Task
    written: str
    classes: tuple[str, ...] = ()

    def values(self, table: Table) -> tuple[Any, NDArray[np.int64]]:
        """Target values and the rows that have one."""
        if self.task == "regression":
            numbers = self._numbers(table)
            rows = np.flatnonzero(np.isfinite(numbers))
            return numbers[rows], rows
        if self.written == "text":
            words = spelled_alike(to_levels(table, self.name), self.classes)
            words = _numbered_alike(words, self.classes)
        else:
            words = [None if np.isnan(value) else f"{value:.15g}" for value in self._numbers(table)]
        rows = np.array([i for i, word in enumerate(words) if word is not None], dtype=np.int64)
        return np.array([words[i] for i in rows], dtype=np.str_), rows

    def _numbers(self, table: Table) -> Array:
        """The cells as numbers; booleans of a typed format, once zeros and ones, come as words."""
        may_be = self.written == "native" and self.classes in ((), ("0", "1"))
        boolean = may_be and holds_booleans(table, self.name)
        return to_numbers(table, self.name, "boolean" if boolean else self.written)


def _numbered_alike(words: list[str | None], classes: tuple[str, ...]) -> list[str | None]:
    """Words in the spelling of a class that is the same number, such as 1.0 for 1."""
    spelling = {value: c for c in classes if (value := _value(c)) is not None}
    if len(spelling) < len(classes):
        return words
    return [
        w if w is None or w in classes or (value := _value(w)) is None else spelling.get(value, w)
        for w in words
    ]


def _value(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def learn_target(
    table: Table, name: str, task: str, notes: list[str]
) -> tuple[TargetPlan, Any, NDArray[np.int64]]:
    """Decide the task and read the target: the plan, values (n,) and the rows that have one."""
    table.column(name)
    if name in table.repeated:
        raise TableError(
            f"{table.source} has more than one column called {name!r}; rename all but the target."
        )
    form = native_form(table, name) or Form("text", "text")
    if task != "classification" and form.kind == "text":
        form = recognise_form(table, name)
    if task == "regression" and form.kind == "text" and holds_booleans(table, name):
        form = Form("number", "boolean")
    if form.kind == "date":
        raise TableError(
            f"{table.source}, column {name!r} holds dates; a target must be numbers or labels."
        )
    numbers = to_numbers(table, name, form.written) if form.kind == "number" else None
    if numbers is not None:
        refuse_extreme(table, name, numbers)
    if task == "regression" and form.kind == "text":
        first = next(word for word in to_levels(table, name) if word is not None)
        raise TableError(
            f"{table.source}, column {name!r} holds text ({first!r}), but regression needs "
            "numbers. Say --task classification if these are labels."
        )
    chosen: Task = "regression"
    if task == "classification" or form.kind == "text":
        chosen = "classification"
    if task == "auto" and numbers is not None:
        chosen = _task_of_numbers(numbers, name, notes)
    plan = TargetPlan(name, chosen, form.written)
    values, rows = plan.values(table)
    if len(rows) == 0:
        raise TableError(f"{table.source}, column {name!r}, the target, has no value at all.")
    distinct = np.unique(values)
    if len(distinct) == 1:
        what = "class" if chosen == "classification" else "value"
        raise TableError(
            f"{table.source}, column {name!r}, the target, is {distinct[0].item()!r} in all "
            f"{counted(len(rows), 'row')}: with one {what} there is nothing to learn."
        )
    if chosen == "classification":
        _refuse_many(table, name, distinct, len(rows))
        plan = TargetPlan(name, chosen, form.written, tuple(str(c) for c in distinct))
    return plan, values, rows


def _task_of_numbers(numbers: Any, name: str, notes: list[str]) -> Task:
    distinct = np.unique(numbers[~np.isnan(numbers)])
    if len(distinct) == 2:
        notes.append(
            f"The target {name!r} has two values, {distinct[0]:g} and {distinct[1]:g}: they are "
            "taken as classes (--task regression for numbers)."
        )
        return "classification"
    if 1 < len(distinct) <= FEW and np.all(distinct == np.round(distinct)):
        notes.append(
            f"The target {name!r} has {len(distinct)} whole values: they are taken as numbers "
            "(--task classification for classes)."
        )
    return "regression"


def _refuse_many(table: Table, name: str, classes: Any, n: int) -> None:
    if len(classes) > max(2, n // 2):
        raise TableError(
            f"{table.source}, column {name!r}, the target, has {len(classes)} different labels in "
            f"{counted(n, 'row')} ({listed([repr(str(c)) for c in classes], 4)}): too many to "
            "learn classes."
        )
