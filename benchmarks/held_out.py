"""What studies share that judge by fifths of the training rows of fold 0: rows, options, times."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from study_sets import Rows, study_rows

from banklearn.experiments.cells import Cell, parameters_of
from banklearn.experiments.one_fold import compile_first

PARTS = 5
#: Training rows from which on a set has the longer time.
LARGE = 2000


class Part(NamedTuple):
    """One fifth of a set's training rows to judge by, and the seconds of a fit to the others."""

    name: str
    part: int
    seconds: float


def rows_of(name: str, part: int | None, rows: int | None) -> Rows:
    """Training rows of fold 0 without a fifth of them, and that fifth; None: its test rows."""
    data = study_rows(name, rows)
    if part is None:
        return data
    order = np.random.default_rng(7).permutation(len(data.y))
    held = np.zeros(len(data.y), dtype=bool)
    held[order[part::PARTS]] = True
    X, y = data.X, data.y
    return data._replace(X=X[~held], y=y[~held], X_test=X[held], y_test=y[held])


def fitted(model: Any, data: Rows) -> float:
    """Fit, in silence about chains that were cut, which records tell; the seconds that it took."""
    compile_first("bank", data.task)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data.X, data.y)
    return time.perf_counter() - begin


def cell_of(label: str, runner: str, model: Any, **arguments: Any) -> Cell:
    """The measurement of one part of one set; model is what its `seconds` are for."""
    seconds, parameters = arguments["seconds"], parameters_of(model)
    return Cell(label, runner, arguments, "", seconds, parameters, at_most=seconds + 60.0)


def add_options(parser: argparse.ArgumentParser, seconds: str) -> None:
    """Which parts, and how long a fit may take."""
    parser.add_argument(
        "--parts", help="held-out fifths; default: all of sets below 2000 rows, else the first"
    )
    parser.add_argument("--seconds", default=seconds, help="below and from 2000 rows on")


def parts_of(options: argparse.Namespace) -> Iterator[Part]:
    """All that the command line asks for, set by set."""
    few, many = map(float, options.seconds.split(","))
    for name in options.sets.split(","):
        small = len(study_rows(name, options.rows).y) < LARGE
        parts = (
            map(int, options.parts.split(",")) if options.parts else range(PARTS if small else 1)
        )
        for part in parts:
            yield Part(name, part, few if small else many)


def times(options: argparse.Namespace) -> str:
    """The seconds of a fit in words."""
    few, many = options.seconds.split(",")
    return f"{few} s below {LARGE} rows and {many} s from there on"


def cores(options: argparse.Namespace) -> str:
    """The cores of a fit in words."""
    return "one core" if options.cores_per_job == 1 else f"{options.cores_per_job} cores"
