"""``load(name)``: a data set of the paper from a local folder, or downloaded into it once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.datasets import get_data_home

from .download import fetch_columns
from .names import UCI, Spec, Task, find_spec
from .parquet import Array, read_table, write_table

VARIABLE = "BANKLEARN_DATA"


@dataclass(frozen=True)
class Dataset:
    """Rows X (N, d) and targets y (N,): floats for regression, class numbers otherwise."""

    name: str
    task: Task
    X: Array
    y: np.ndarray
    feature_names: tuple[str, ...]


class DatasetNotFoundError(FileNotFoundError):
    """A data set is neither on this machine nor could it be fetched."""


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """``data_home``, else the folder named by BANKLEARN_DATA, else scikit-learn's data home."""
    if data_home is not None:
        return Path(data_home).expanduser()
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE]).expanduser()
    return Path(get_data_home()) / "banklearn"


def load(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    target: str | None = None,
    download: bool = True,
) -> Dataset:
    """A data set of the paper by name.

    Parameters
    ----------
    name : one of ``banklearn.datasets.NAMES``, or "space7" for the seven classes of space.
    data_home : folder of ``<name>.parquet`` files; None looks at the environment variable
        BANKLEARN_DATA, then takes a folder in scikit-learn's data home.
    target : another target column of the file ("y2" of prop, "y7" of space); None means "y".
    download : fetch what the folder does not have from OpenML or UCI and keep it there.
    """
    if name == "space7":
        name, target = "space", target or "y7"
    spec = find_spec(name)
    path = data_folder(data_home) / f"{name}.parquet"
    if not path.exists():
        if not download:
            raise DatasetNotFoundError(missing(spec, path, "download=False"))
        fetch(spec, path)
    return to_dataset(spec, read_table(path), target or "y", path)


def fetch(spec: Spec, path: Path) -> None:
    """Download a data set and write it to ``path``.

    The bar moves without an end: scikit-learn's fetchers do not tell how much is still to come.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            bar.add_task(f"Fetching the data set {spec.name} ({spec.n_rows} rows)", total=None)
            write_table(path, fetch_columns(spec))
    except (OSError, ValueError, KeyError) as error:
        raise DatasetNotFoundError(missing(spec, path, str(error))) from error


def missing(spec: Spec, path: Path, reason: str) -> str:
    """What is not there, why, and exactly what to put where."""
    if isinstance(spec.source, UCI):
        source = spec.source.url
    else:
        source = f"https://www.openml.org/d/{spec.source.data_id}"
    extra = "".join(f" (and, before it, {other!r})" for other in spec.others)
    return (
        f"The data set {spec.name!r} is not in {path.parent} and could not be fetched from "
        f"{source}: {reason}. Put a Parquet file at {path} with {spec.n_rows} rows, one column "
        f"for each of {spec.n_features} features, and last a column 'y'{extra} with the target, "
        f"{spec.target}; or set {VARIABLE}, or data_home, to a folder that has {path.name}."
    )


def to_dataset(spec: Spec, columns: dict[str, np.ndarray], target: str, path: Path) -> Dataset:
    """Features and the chosen target; further targets are left out."""
    targets = ("y", *spec.others)
    if target not in targets:
        raise ValueError(
            f"{target!r} is no target of {spec.name!r}; its targets are {', '.join(targets)}."
        )
    if target not in columns:
        raise ValueError(f"{path} has no column {target!r}; its columns are {', '.join(columns)}.")
    names = tuple(column for column in columns if column not in targets)
    X = np.column_stack([columns[column].astype(np.float64) for column in names])
    kind = np.float64 if spec.task == "regression" else np.int64
    name = "space7" if target == "y7" else spec.name
    return Dataset(name, spec.task, X, columns[target].astype(kind), names)
