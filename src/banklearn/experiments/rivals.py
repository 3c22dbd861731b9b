"""Beyond the paper: trees and Gaussian processes on the same folds, both tasks."""

from __future__ import annotations

from dataclasses import replace

from banklearn.experiments.cells import Record
from banklearn.experiments.comparison import compare
from banklearn.experiments.options import Options

METHODS = ("bank", "trees", "lightgbm", "svgp", "gp")


def run(options: Options) -> list[Record]:
    """Measure rivals beyond the paper and write rivals.parquet, .md, .png and .svg.

    LightGBM and GPyTorch are optional (``pip install banklearn[rivals]``); those that are absent
    are named in the summary. Cells of BaNK are shared with the two tables.
    """
    options = replace(options, methods=options.methods or METHODS)
    return compare("rivals", "Rivals beyond the paper", ("regression", "classification"), options)
