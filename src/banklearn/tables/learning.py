"""``learn_plan``: decide from training rows how each column becomes inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from banklearn.tables.cells import (
    Array,
    Form,
    recognise_form,
    refuse_extreme,
    to_days,
    to_levels,
    to_numbers,
)
from banklearn.tables.columns import (
    Column,
    DateColumn,
    NumberColumn,
    OneHotColumn,
    TargetColumn,
    UnusedColumn,
)
from banklearn.tables.errors import TableError, counted
from banklearn.tables.plan import TablePlan
from banklearn.tables.table import Table
from banklearn.tables.targets import TargetPlan

#: Text with at most as many levels becomes zeros and ones, with more it is target-encoded.
MOST_LEVELS = 12
#: Text in which more than this share of the rows has a level of its own says nothing that
#: carries over to new rows: names, identifiers, remarks.
DISTINCT = 0.5
#: A part of a date becomes an input if the dates span this many of its periods.
SPANS = 2.0


@dataclass(frozen=True)
class PlanOptions:
    """Choices of the user: columns to leave out, columns that are text whatever they look like,
    and how text is encoded ("auto": by its number of levels)."""

    drop: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    encode: Literal["auto", "one-hot", "target"] = "auto"


class Learned(NamedTuple):
    """A plan, the training inputs (n, d) and sentences on what was found.

    The inputs are not quite plan.apply(table): a row's own target has no part in its target
    encoding (cross-fitting), since the model would trust such an input too much.
    """

    plan: TablePlan
    X: Array
    notes: list[str]


def learn_plan(
    table: Table,
    target: TargetPlan,
    y: Any,
    options: PlanOptions | None = None,
    seed: int = 0,
    whole: Table | None = None,
) -> Learned:
    """Plan the columns of a table of training rows, all of which have a target y (n,).

    How cells are written is looked up in the whole table, if it is given: in a few rows all numbers
    may be whole, and say nothing of the decimal sign. What they hold is of training rows alone.
    """
    options = options or PlanOptions()
    for name in (*options.drop, *options.text):
        table.column(name)
    notes: list[str] = []
    columns: list[Column] = []
    parts: list[Array] = []
    for name in table.names:
        if name == target.name:
            continue
        column, part = _column(table, name, target, y, options, seed, whole or table)
        columns.append(column)
        parts.append(column.apply(table, "refuse", notes) if part is None else part)
    columns = _without_copies(columns, table, parts)
    plan = TablePlan(target, tuple(columns), table.missing)
    if not plan.inputs:
        reasons = "; ".join(f"{name!r} {words}" for name, words in plan.describe()) or "no others"
        raise TableError(
            f"{table.source} has no column to predict {target.name!r} from ({reasons})."
        )
    kept = [part for column, part in zip(columns, parts, strict=True) if column.inputs()]
    return Learned(plan, np.column_stack(kept).astype(np.float64), notes)


def _column(
    table: Table,
    name: str,
    target: TargetPlan,
    y: Any,
    options: PlanOptions,
    seed: int,
    whole: Table,
) -> tuple[Column, Array | None]:
    """The plan of one column, and its training inputs where they differ from applying it."""
    if name in options.drop:
        return UnusedColumn(name, "as asked"), None
    form = Form("text", "text") if name in options.text else recognise_form(whole, name)
    if form.kind == "number":
        numbers = to_numbers(table, name, form.written)
        refuse_extreme(table, name, numbers)
        return _number(name, form.written, numbers), None
    if form.kind == "date":
        return _date(name, form.written, to_days(table, name, form.written)), None
    return _text(table, name, target, y, options.encode, seed, name in options.text)


def _number(name: str, written: str, values: Array) -> Column:
    present = values[~np.isnan(values)]
    if len(present) == 0:
        return UnusedColumn(name, "every value is missing")
    if len(present) == len(values) and present.min() == present.max():
        return UnusedColumn(name, f"constant, always {present[0]:g}")
    return NumberColumn(name, written, float(np.median(present)), len(present) < len(values))


def _date(name: str, written: str, days: Array) -> Column:
    present = days[~np.isnan(days)]
    if len(present) == 0:
        return UnusedColumn(name, "every value is missing")
    if len(present) == len(days) and present.min() == present.max():
        return UnusedColumn(name, "constant, always the same date")
    first, last = float(present.min()), float(present.max())
    parts = []
    if np.any(np.abs(present - np.round(present)) > 1e-9) and last - first >= SPANS:
        parts.append("hour")
    if last - first >= 7 * SPANS:
        parts.append("weekday")
    if last - first >= 365 * SPANS:
        parts.append("season")
    fill = float(np.median(present))
    return DateColumn(name, written, first, fill, len(present) < len(days), tuple(parts))


def _text(
    table: Table, name: str, target: TargetPlan, y: Any, encode: str, seed: int, asked: bool
) -> tuple[Column, Array | None]:
    words = to_levels(table, name)
    present = [word for word in words if word is not None]
    levels = tuple(sorted(set(present)))
    missing = len(present) < len(words)
    if not levels:
        return UnusedColumn(name, "every value is missing"), None
    if len(levels) == 1 and not missing:
        return UnusedColumn(name, f"constant, always {levels[0]!r}"), None
    if len(levels) > max(MOST_LEVELS, DISTINCT * len(present)) and not asked:
        return UnusedColumn(
            name,
            f"text with {counted(len(levels), 'level')} in {counted(len(present), 'row')}, such as "
            f"{present[0]!r}: an identifier or a remark (--text {name!r} uses it all the same)",
        ), None
    if encode == "one-hot" or (encode == "auto" and len(levels) <= MOST_LEVELS):
        return OneHotColumn(name, levels, missing), None
    return _target_encoded(name, words, target, y, seed)


def _target_encoded(
    name: str, words: list[str | None], target: TargetPlan, y: Any, seed: int
) -> tuple[Column, Array]:
    """Shrunken target means per level by scikit-learn, cross-fitted for the training rows."""
    from sklearn.model_selection import KFold

    many = len(target.classes) > 2
    # One share for each class (of two, the second): a class that a part lacks has none there.
    classes = target.classes[-1:] if len(target.classes) == 2 else target.classes
    shares = [y] if target.task == "regression" else [(y == c).astype(float) for c in classes]
    X = np.array(words, dtype=object)[:, None]
    encoders = [_encoder(X, share) for share in shares]
    inputs = np.empty((len(X), len(shares)))
    for rest, part in KFold(min(5, len(words)), shuffle=True, random_state=seed).split(X):
        for k, share in enumerate(shares):
            inputs[part, k] = _encoder(X[rest], share[rest]).transform(X[part])[:, 0]
    found = list(encoders[0].categories_[0])
    means = np.stack([encoder.encodings_[0] for encoder in encoders], axis=1)
    default = tuple(float(encoder.target_mean_) for encoder in encoders)
    known = [
        (str(w), tuple(m.tolist())) for w, m in zip(found, means, strict=True) if w is not None
    ]
    absent = [tuple(m.tolist()) for w, m in zip(found, means, strict=True) if w is None]
    labels = tuple(f"P({c})" for c in classes) if many else ("mean target",)
    column = TargetColumn(
        name,
        tuple(w for w, _ in known),
        tuple(m for _, m in known),
        default,
        absent[0] if absent else None,
        labels,
    )
    return column, inputs


def _encoder(X: Any, y: Array) -> Any:
    from sklearn.preprocessing import TargetEncoder

    return TargetEncoder(target_type="continuous").fit(X, y)


def _without_copies(columns: list[Column], table: Table, parts: list[Array]) -> list[Column]:
    """Columns with the same values as an earlier one are left out."""
    seen: dict[bytes, str] = {}
    out: list[Column] = []
    for column, part in zip(columns, parts, strict=True):
        key = part.tobytes()
        if part.size and key in seen:
            out.append(UnusedColumn(column.name, f"the same values as {seen[key]!r}"))
            continue
        seen.setdefault(key, column.name)
        out.append(column)
    return out
