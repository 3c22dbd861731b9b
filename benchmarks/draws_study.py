"""One draw, the average of one chain, of several chains, and a polished draw, side by side.

All from one fit with the default settings and --chains chains, on fold 0 of a set:

one draw             each of some draws of the first chain predicts alone; their mean scores
one chain            the average over the draws of the first chain
several chains       the average over the draws of all
polished             the best draw of the first chain, climbed to a mode (banklearn.polish)

Seconds are of the processor: a draw costs the chain that found it, so that one draw and one chain
cost the same. A whole fit may take --seconds; chains that share a core share them.

    python benchmarks/draws_study.py [--sets noise,concrete,bike,eeg] [--chains 4] [--seconds 420]

On 16 cores, four for the chains of each set, all sets at once (8 minutes):

    python benchmarks/draws_study.py --jobs 4 --cores-per-job 4 --seconds 420 --within 595 \
        --work DIR [--out DIR/draws_study.md]
"""

from __future__ import annotations

import argparse
import copy
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from studies import measured, processors, publish, study_parser
from study_sets import Rows, study_rows, task_of

from banklearn import BankClassifier, BankRegressor, polish
from banklearn.experiments.cells import Cell, Record, parameters_of
from banklearn.experiments.one_fold import compile_first
from banklearn.experiments.scores import classification_scores, regression_scores
from banklearn.experiments.tables import markdown

#: Draws that predict alone.
ALONE = 5
#: What is shown, by its name in the scores; the figures of a line that is not there are dashes.
SHOWN = {"error": ".4g", "nlpd": ".3f", "coverage": ".3f", "ece": ".3f"}


def estimator(name: str, chains: int, seconds: float | None, M: int) -> Any:
    """The estimator of a set; the laws of draws are compared, not what is learned of them all."""
    common = {"n_chains": chains, "max_time": seconds, "random_state": 0, "device": "cpu"}
    if task_of(name) == "regression":
        return BankRegressor(M, error_law="normal", **common)
    return BankClassifier(M, **common)


def measure(name: str, chains: int, seconds: float | None, M: int, rows: int | None) -> Record:
    """Fit once, and score every way to predict."""
    data = study_rows(name, rows)
    compile_first("bank", data.task)
    model = estimator(name, chains, seconds, M)
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the record tells what was cut
        model.fit(data.X, data.y)
    whole = time.process_time() - begin
    first = with_draws(model, [draw for draw in model.draws_ if draw.chain == 0])
    begin = time.process_time()
    point = polish(first, data.X, data.y)
    polishing = time.process_time() - begin
    places = np.linspace(0, len(first.draws_) - 1, ALONE).round().astype(int)
    alone = [scores(with_draws(first, [first.draws_[i]]), data) for i in dict.fromkeys(places)]
    lines = {
        "one draw": {key: float(np.mean([s[key] for s in alone])) for key in alone[0]},
        "one chain": scores(first, data),
        f"{chains} chains": scores(model, data),
        "polished": scores(point, data),
    }
    spent = {"one draw": whole / chains, "one chain": whole / chains, "polished": polishing}
    spent["polished"] += whole / chains
    spent[f"{chains} chains"] = whole
    return {
        "set": name,
        "task": data.task,
        "rows": len(data.X),
        "draws": {"one draw": 1, "one chain": len(first.draws_), "polished": 1}
        | {f"{chains} chains": len(model.draws_)},
        "sweeps": [int(n) for n in model.n_sweeps_],
        "planned": model.n_warmup + model.n_draws * model.thin,
        "scores": lines,
        "seconds": spent,
    }


def with_draws(model: Any, draws: list[Any]) -> Any:
    """The model with these draws alone."""
    part = copy.copy(model)
    part.draws_ = draws
    return part


def scores(model: Any, data: Rows) -> dict[str, float]:
    """Error, nlpd and coverage, or calibration error, on the test rows."""
    score = regression_scores if data.task == "regression" else classification_scores
    found = score(model, data.X_test, data.y_test)
    return {key: float(found[key]) for key in SHOWN if key in found}


def cell(name: str, chains: int, seconds: float | None, M: int, rows: int | None) -> Cell:
    """The measurement of one set."""
    arguments = {"name": name, "chains": chains, "seconds": seconds, "M": M, "rows": rows}
    parameters = parameters_of(estimator(name, chains, seconds, M))
    at_most = None if seconds is None else seconds + 60.0
    return Cell(
        f"draws-{name}", "draws_study:measure", arguments, "", 1.0, parameters, at_most=at_most
    )


def table(records: Sequence[Record]) -> str:
    """A line for each way to predict, in Markdown."""
    lines = []
    for record in records:
        for way, found in record["scores"].items():
            shown = [
                format(found[key], digits) if key in found else "\N{EN DASH}"
                for key, digits in SHOWN.items()
            ]
            lines.append(
                [
                    record["set"],
                    way,
                    str(record["draws"][way]),
                    *shown,
                    f"{record['seconds'][way]:.0f}",
                ]
            )
    header = ["set", "prediction", "draws", "MSE or share of errors", "nlpd"]
    return markdown([*header, "95 % intervals hold", "ECE", "processor seconds"], lines)


def legend(records: Sequence[Record], M: int) -> str:
    """How the table was measured."""
    made = "; ".join(
        f"{r['set']} {min(r['sweeps'])} to {max(r['sweeps'])} of {r['planned']}" for r in records
    )
    return (
        f"Fold 0, M = {M}, default settings but normal errors; sweeps that the chains made: {made} "
        f"({processors(records)}). nlpd is the mean negative log predictive density of test rows. "
        f"The figures of one draw are means over {ALONE} draws."
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = study_parser(__doc__, "draws_study", "noise,concrete,bike,eeg", "sets")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--seconds", type=float, help="of a whole fit; default: all its sweeps")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Measure what has not been measured, and write the table."""
    options = parse(arguments)
    how = (options.chains, options.seconds, options.frequencies, options.rows)
    cells = [cell(name, *how) for name in options.sets.split(",")]
    records = measured(cells, options)
    if records:
        publish(options.out, table(records), legend(records, options.frequencies), records)
    return records


if __name__ == "__main__":
    main()
