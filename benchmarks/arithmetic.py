"""Mixed arithmetic beside double precision: what rounding does to the log evidence, and the time.

The default schedule warms up in double precision for --warm seconds. At the state that it reached
the error of the log evidence by mixed arithmetic is computed, and pairs of sweeps from it are timed
in both, in turn. An error above 0.05 is one at which a fit goes on in double precision.

    python benchmarks/arithmetic.py [--sets noise,bike] [--jobs 2] [--warm 60] [--repeats 7]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from chains import Problem, prepare
from mixing import PROBES, warmed
from studies import measured, processors, publish, study_parser
from study_sets import study_rows, task_of

from banklearn.engines.memory import MemoryEngine
from banklearn.experiments.cells import Cell, Record
from banklearn.experiments.one_fold import compile_first
from banklearn.experiments.tables import markdown
from banklearn.numerics.linalg import NumericalError
from banklearn.numerics.streams import Streams
from banklearn.sampler import sweep
from banklearn.sampler.rounding import LARGEST, restated, rounding_error
from banklearn.sampler.sweep import Chain, Tuning


def timed(problem: Problem, chain: Chain, tuning: Tuning, at: int) -> float:
    """Seconds of a sweep that exchanges, the mean of two."""
    tuning = replace(tuning, moves=replace(tuning.moves, exchange=1.0))
    begin = time.perf_counter()
    for number in (at + 1, at + 2):
        chain, _ = sweep.step(chain, problem.engine, problem.model, tuning, Streams(9), number)
    return (time.perf_counter() - begin) / 2


def measure(name: str, warm: float, repeats: int, M: int, rows: int | None) -> Record:
    """Error and times at the state that one chain reached."""
    compile_first("bank", task_of(name))
    data = study_rows(name, rows)
    problem = prepare(data.task, data.X, data.y, data.X[:PROBES], M)
    chain, tuning, at = warmed(problem, Streams(1), warm)
    own: Any = problem.engine
    engine = MemoryEngine(own.X, own.y, own.weight, own.block_rows, "mixed")
    facts = {"set": name, "rows": own.n_rows, "sweeps": at}
    try:
        there = restated(engine, problem.model, chain, Streams(1), at)
    except NumericalError:
        return {**facts, "error": None, "seconds": None}
    error = rounding_error(engine, problem.model, there, Streams(1), at)
    seconds: dict[str, list[float]] = {"double": [], "mixed": []}
    for _ in range(1 + repeats):
        for label, begun, where in (("double", chain, own), ("mixed", there, engine)):
            seconds[label].append(timed(replace(problem, engine=where), begun, tuning, at))
    medians = {label: float(np.median(s[1:])) for label, s in seconds.items()}
    return {**facts, "error": error, "seconds": medians}


def cell(name: str, options: argparse.Namespace) -> Cell:
    """The measurement of a set."""
    arguments = {"name": name, "warm": options.warm, "repeats": options.repeats}
    arguments |= {"M": options.frequencies, "rows": options.rows}
    return Cell(f"arithmetic-{name}", "arithmetic:measure", arguments)


def table(records: Sequence[Record]) -> str:
    """One line for each set."""
    lines = []
    for r in records:
        if r["error"] is None:
            lines.append([r["set"], str(r["rows"]), "cannot be factored", "**no**", *3 * ["-"]])
            continue
        double, mixed = r["seconds"]["double"], r["seconds"]["mixed"]
        lines.append(
            [
                r["set"],
                str(r["rows"]),
                f"{r['error']:.2g}",
                "yes" if r["error"] <= LARGEST else "**no**",
                f"{1e3 * double:.0f}",
                f"{1e3 * mixed:.0f}",
                f"{double / mixed:.2f}",
            ]
        )
    header = ["set", "rows", "error of the log evidence", "kept", "ms a sweep, double", "mixed"]
    return markdown([*header, "ratio"], lines)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Measure what is missing, then write the table."""
    sets = "concrete,noise,prop,bike,toms,eeg,susy"
    parser = study_parser(__doc__, "arithmetic", sets, "chains", None)
    parser.add_argument("--warm", type=float, default=60.0, help="seconds of warm-up")
    parser.add_argument("--repeats", type=int, default=7, help="times that sweeps are timed")
    options = parser.parse_args(arguments)
    records = measured([cell(name, options) for name in options.sets.split(",")], options)
    if records:
        legend = (
            f"M = {options.frequencies}, one chain, {options.warm:g} s of warm-up on one core "
            f"({processors(records)}); sweeps that exchange, medians of {options.repeats} pairs "
            "in turn."
        )
        publish(options.out, table(records), legend, records)
    return records


if __name__ == "__main__":
    main()
