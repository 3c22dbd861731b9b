"""From a file to rows with a target: what fit, compare and report begin with."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banklearn.tables import ReadOptions, Table, TableError, read
from banklearn.tables.errors import counted
from banklearn.tables.targets import TargetPlan, learn_target

Rows = NDArray[np.int64]

#: Fewer rows than this say nothing.
FEWEST_ROWS = 10


class Prepared(NamedTuple):
    """Rows that have a target, and sentences: on what was done, and on rows left out."""

    table: Table
    target: TargetPlan
    y: Any
    notes: list[str]
    unusable: list[str]


def prepare(path: Path, target: str, task: str, options: ReadOptions) -> Prepared:
    """Read a file and its target; rows that cannot be used are named, never lost silently."""
    table = read(path, options)
    notes, unusable = list(table.notes), list(table.unusable)
    plan, y, rows = learn_target(table, target, task, notes)
    unusable += without_target(table, target, rows)
    if len(rows) < FEWEST_ROWS:
        raise TableError(
            f"{table.source} has {counted(len(rows), 'row')} with a target, too few to learn from "
            f"(at least {FEWEST_ROWS} are needed). {' '.join(unusable)}".rstrip()
        )
    return Prepared(table.take(rows), plan, y, notes, unusable)


def without_target(table: Table, target: str, rows: Rows) -> list[str]:
    """A sentence on the rows without a target, given those that have one; none if all have."""
    others = np.setdiff1d(np.arange(table.n_rows), rows)
    if len(others) == 0:
        return []
    return [
        f"{counted(len(others), 'row')} without a value in {target!r}, the target, not used: "
        f"{table.places(others)}."
    ]


def held_out(y: Any, share: float, task: str, seed: int) -> tuple[Rows, Rows]:
    """Row numbers (training, held out), in the order of the table; classes in equal shares.

    Every class has a row in training: a model that has never met it cannot predict it.
    """
    everything = np.arange(len(y), dtype=np.int64)
    if share == 0:
        return everything, everything[:0]
    from sklearn.model_selection import train_test_split

    held, labels, places = min(math.ceil(share * len(y)), len(y) - 1), None, None
    if task == "classification":
        _, places, counts = np.unique(y, return_inverse=True, return_counts=True)
        few = min(round(share * len(y)), len(y) - held)
        labels = y if counts.min() >= 2 and few >= len(counts) else None
    _, test = train_test_split(everything, test_size=held, random_state=seed, stratify=labels)
    test = np.sort(test)
    if places is not None:
        unknown = np.setdiff1d(places[test], np.delete(places, test))
        test = np.setdiff1d(test, [test[places[test] == one][0] for one in unknown])
    return np.setdiff1d(everything, test), test


def digest(path: Path) -> str:
    """SHA-256 of a file, to know it again."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
