"""Table 1 of the paper: regression on its sets, five folds, BaNK beside the paper's rivals."""

from __future__ import annotations

from dataclasses import replace

from banklearn.experiments.cells import Record
from banklearn.experiments.comparison import compare
from banklearn.experiments.options import Options
from banklearn.experiments.paper import REGRESSION_METHODS


def run(options: Options) -> list[Record]:
    """Measure table 1 and write regression.parquet, .md, .png and .svg."""
    options = replace(options, methods=options.methods or REGRESSION_METHODS)
    return compare("regression", "Regression: table 1 of the paper", ("regression",), options)
