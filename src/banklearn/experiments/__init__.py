"""The paper's section 4, one module per table or figure, each with a function ``run(options)``.

Measurements are cells (:mod:`.cells`), kept in small files and never made twice; :mod:`.pool`
runs them, the experiments turn them into a Parquet file, a Markdown summary and figures.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from banklearn.experiments.budgets import Budget, parse_budget
from banklearn.experiments.cells import Record
from banklearn.experiments.options import Options

EXPERIMENTS = ("synthetic", "regression", "classification", "timing", "rivals")

__all__ = ["EXPERIMENTS", "Budget", "Options", "experiment", "parse_budget"]


def experiment(name: str) -> Callable[[Options], list[Record]]:
    """The function of an experiment by name."""
    if name not in EXPERIMENTS:
        raise ValueError(
            f"There is no experiment {name!r}. The experiments are {', '.join(EXPERIMENTS)}."
        )
    function: Callable[[Options], list[Record]] = importlib.import_module(
        f"banklearn.experiments.{name}"
    ).run
    return function
