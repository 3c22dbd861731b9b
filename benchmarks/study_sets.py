"""The rows that the studies of the sampler look at: training rows of fold 0, or made-up ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banklearn.datasets import folds, load, make_arm
from banklearn.datasets.names import Task, find_spec

Array = NDArray[np.float64]

#: Made-up sets: the distance that a robot arm leaves (d = 8), and whether it is below the median.
MADE_UP: dict[str, Task] = {"arm": "regression", "arm-near": "classification"}


class Rows(NamedTuple):
    """Rows of a task, to train on and to test on."""

    task: Task
    X: Array
    y: np.ndarray
    X_test: Array
    y_test: np.ndarray


def task_of(name: str) -> Task:
    """Regression or classification."""
    return MADE_UP[name] if name in MADE_UP else find_spec(name).task


def study_rows(name: str, rows: int | None = None) -> Rows:
    """Rows of a set; with ``rows`` the first so many of the training rows alone.

    The target of a regression is divided by its standard deviation over all rows, so that errors
    are those of the tables. The arm has 32 000 training rows.
    """
    task = task_of(name)
    if name in MADE_UP:
        made = make_arm(40_000, random_state=0)
        X, y = made.X, made.y
        train, test = np.arange(32_000), np.arange(32_000, 40_000)
        y = y / y.std() if task == "regression" else (y < np.median(y)).astype(int)
    else:
        data = load(name)
        X, y = data.X, data.y
        train, test = folds(len(y))[0]
        y = y / y.std() if task == "regression" else y
    train = train[:rows]
    return Rows(task, X[train], y[train], X[test], y[test])
