"""Table 2 of the paper: classification on its sets, five folds, BaNK beside the paper's rivals."""

from __future__ import annotations

from dataclasses import replace

from banklearn.experiments.cells import Record
from banklearn.experiments.comparison import compare
from banklearn.experiments.options import Options
from banklearn.experiments.paper import CLASSIFICATION_METHODS


def run(options: Options) -> list[Record]:
    """Measure table 2 and write classification.parquet, .md, .png and .svg."""
    options = replace(options, methods=options.methods or CLASSIFICATION_METHODS)
    return compare(
        "classification", "Classification: table 2 of the paper", ("classification",), options
    )
