"""How many chains predict best in the same time.

A chain visits a part of the posterior, and chains differ in the part, so that more of them predict
better, as long as each has the time to get anywhere. Every fit has the defaults but for the number
of chains, and the same seconds; where it has fewer cores than chains they share them.

    python benchmarks/chain_counts.py [--sets concrete,noise,pima,diabetic,bike,eeg,toms,prop]
        [--parts 0,1] [--chains 4,8] [--seconds 105,440] [--jobs 1] [--cores-per-job 1]

Rows are the training rows of fold 0, cut into five parts as in `error_laws.py`: one is held out and
judged by, the others are learned from. On 16 cores, in runs of ten minutes that go on from each
other:

    python benchmarks/chain_counts.py --jobs 16 --within 590 --work DIR
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from draws_study import SHOWN, scores
from held_out import add_options, cell_of, cores, fitted, parts_of, rows_of, times
from studies import measured, processors, publish, study_parser
from study_sets import task_of

from banklearn import BankClassifier, BankRegressor
from banklearn.experiments.cells import Cell, Record
from banklearn.experiments.tables import markdown


def estimator(name: str, chains: int, seconds: float, M: int) -> Any:
    """The defaults, but for time, size and the number of chains."""
    kind = BankRegressor if task_of(name) == "regression" else BankClassifier
    return kind(M, n_chains=chains, max_time=seconds, random_state=0, device="cpu")


def measure(name: str, part: int, chains: int, seconds: float, M: int, rows: int | None) -> Record:
    """Fit with so many chains, and score on the rows that were held out."""
    data = rows_of(name, part, rows)
    model = estimator(name, chains, seconds, M)
    spent = fitted(model, data)
    return {
        "set": name,
        "task": data.task,
        "part": part,
        "chains": chains,
        "rows": len(data.y),
        "judged": len(data.y_test),
        "seconds": spent,
        "sweeps": [int(n) for n in model.n_sweeps_],
        "draws": len(model.draws_),
        "scores": scores(model, data),
    }


def cell(name: str, part: int, chains: int, seconds: float, M: int, rows: int | None) -> Cell:
    """The measurement of one number of chains on one part of one set."""
    model = estimator(name, chains, seconds, M)
    label, runner = f"chains-{name}-{part}-{chains}", "chain_counts:measure"
    size = {"chains": chains, "seconds": seconds, "M": M, "rows": rows}
    return cell_of(label, runner, model, name=name, part=part, **size)


def table(records: Sequence[Record]) -> str:
    """A line for each number of chains on each set: means over parts that all numbers have."""
    lines = []
    for name in dict.fromkeys(record["set"] for record in records):
        own = [record for record in records if record["set"] == name]
        counts = sorted({r["chains"] for r in own})
        parts = [{r["part"] for r in own if r["chains"] == count} for count in counts]
        shared = set.intersection(*parts)
        first = error_by_part(own, counts[0])
        for count in counts:
            found = [r for r in own if r["chains"] == count and r["part"] in shared]
            if not found:
                continue
            error = error_by_part(own, count)
            better = sum(error[part] < first[part] for part in shared)
            means = [
                format(float(np.mean([r["scores"][key] for r in found])), digits)
                if key in found[0]["scores"]
                else "\N{EN DASH}"
                for key, digits in SHOWN.items()
            ]
            sweeps = [n for r in found for n in r["sweeps"]]
            beside = "\N{EN DASH}" if count == counts[0] else f"{better} of {len(shared)}"
            made = f"{min(sweeps)} to {max(sweeps)}"
            lines.append([name, str(count), *means, beside, made])
    header = ["set", "chains", "MSE or share of errors", "nlpd", "95 % intervals hold", "ECE"]
    return markdown([*header, "better than the fewest", "sweeps of a chain"], lines)


def error_by_part(records: Sequence[Record], chains: int) -> dict[int, float]:
    """The error on each part with so many chains."""
    return {r["part"]: r["scores"]["error"] for r in records if r["chains"] == chains}


def legend(records: Sequence[Record], options: argparse.Namespace) -> str:
    """How the table was measured."""
    return (
        f"Judged by fifths of the training rows of fold 0; M = {options.frequencies}, otherwise "
        f"the defaults, {times(options)}, {cores(options)} a fit "
        f"({processors(records)}). nlpd is the mean negative log predictive density."
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    sets = "concrete,noise,pima,diabetic,bike,eeg,toms,prop"
    parser = study_parser(__doc__, "chain_counts", sets, "fits")
    parser.set_defaults(cores_per_job=1)
    parser.add_argument("--chains", default="4,8", help="numbers of chains")
    add_options(parser, "105,440")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Measure what has not been measured, and write the table."""
    options = parse(arguments)
    cells = [
        cell(name, part, int(chains), seconds, options.frequencies, options.rows)
        for name, part, seconds in parts_of(options)
        for chains in options.chains.split(",")
    ]
    records = measured(cells, options)
    if records:
        publish(options.out, table(records), legend(records, options), records)
    return records


if __name__ == "__main__":
    main()
