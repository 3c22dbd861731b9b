"""Predictions as a table with one row per row, and its writing."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import typer
from pyarrow import csv, feather, parquet

from banklearn.storage.atomic import replacing
from banklearn.tables import Table
from banklearn.tables.targets import TargetPlan

#: A whole number as Python writes it, short enough for 64 bits.
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}", re.ASCII)
FORMATS = (".parquet", ".feather", ".csv", ".csv.gz")


def check_format(out: Path) -> str:
    """The suffix that decides the format; others are refused before any work is done."""
    for suffix in FORMATS:
        if out.name.lower().endswith(suffix):
            return suffix
    raise typer.BadParameter(
        f"{out.name} should end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}.", param_hint="--out"
    )


def prediction_columns(
    model: Any, X: Any, table: Table, target: TargetPlan, interval: float | None
) -> dict[str, Any]:
    """Columns of the output by name; what is beside the target gives way to its name."""
    columns: dict[str, Any] = {}

    def beside(name: str, values: Any) -> None:
        while name in columns or name == target.name:
            name += "_"
        columns[name] = values

    beside("row", np.arange(1, len(X) + 1))
    if table.unit == "line":
        beside("line", table.numbers)
    if target.task == "regression":
        columns[target.name] = model.predict(X)
        if interval is not None:
            lower, upper = model.predict_interval(X, interval)
            beside("lower", lower)
            beside("upper", upper)
        return columns
    p = model.predict_proba(X)
    classes = model.classes_
    columns[target.name] = _labels(classes)[p.argmax(axis=1)]
    bounds = None if interval is None else model.predict_proba_interval(X, interval)
    for i, label in enumerate(classes):
        beside(f"P({label})", p[:, i])
        if bounds is not None:
            beside(f"P({label}) lower", bounds[0][:, i])
            beside(f"P({label}) upper", bounds[1][:, i])
    return columns


def _labels(classes: Any) -> Any:
    """Labels as the whole numbers of 64 bits that they are, or as words."""
    words = [str(label) for label in classes]
    if all(WHOLE.fullmatch(word) for word in words):
        return np.array([int(word) for word in words])
    return np.array(words)


def write(out: Path, columns: dict[str, Any]) -> None:
    """Write a table in the format that the name says; a file that is there stays until it is whole.

    What is no ordinary file, such as /dev/stdout, is written to as it is.
    """
    suffix = check_format(out)
    arrays = {
        name: pa.array(values.tolist() if values.dtype.kind == "U" else values)
        for name, values in columns.items()
    }
    table = pa.table(arrays)
    ordinary = out.is_file() or not out.exists()
    try:
        with replacing(out) if ordinary else out.open("wb") as file:
            if suffix == ".parquet":
                parquet.write_table(table, file)
            elif suffix == ".feather":
                feather.write_feather(table, file)
            elif suffix == ".csv.gz":
                with gzip.open(file, "wb") as stream:
                    csv.write_csv(table, stream)
            else:
                csv.write_csv(table, file)
    except OSError as error:
        error.filename = error.filename or str(out)
        raise
