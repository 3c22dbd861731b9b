"""The log evidence that the default schedule reaches, beside the paper's move, at equal wall time.

Both fit the same rows with the same seed until time is up, with one chain unless --chains says
otherwise (four would have a quarter of the time each), and differ in their moves alone:

default   the estimator as it is
jumps     the paper's move alone: every frequency proposed afresh from its component, no local
          move, switch, interweaving or gradient, no warm-up on subsamples

Evidence is a density of the target alone, whatever was done to the inputs, so that the two can be
compared also where they chose another input scaling or another start for their frequencies; every
record tells what was chosen. In regression it is the log evidence on all training rows, averaged
over the last five sweeps of every chain. In classification the sampler's own evidence is that of
an augmentation which differs from sweep to sweep; what is compared is log P(Y | X, W, lam) with the
weights integrated out by Laplace's method, at the last draw of every chain: a function of
frequencies and lam alone, computed after time is up.

All 60 fits on 16 cores, two cores each; a fit that cannot end within the time is left for the
next run of the same command (two runs of ten minutes):

    python benchmarks/schedule.py --jobs 8 --cores-per-job 2 --within 590 --work DIR \
        [--seconds 60] [--seeds 10] [--chains 1] [--sets bike,arm,eeg] [--out DIR/schedule.md]

On two cores, one fit after another, that is 65 minutes: leave --jobs and --within out.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from studies import measured, processors, publish, study_parser
from study_sets import study_rows, task_of

from banklearn import BankClassifier, BankRegressor
from banklearn.datasets.names import Task
from banklearn.experiments.cells import Cell, Record, parameters_of
from banklearn.experiments.one_fold import compile_first
from banklearn.experiments.tables import markdown, plus_minus, standard_error
from banklearn.model.features import feature_rows
from banklearn.model.laplace import laplace_log_evidence

#: Settings of each schedule; both run until time is up, however many sweeps that takes.
PAPER = {
    "jump_probability": 1.0,
    "switch_probability": 0.0,
    "exchange_share": 0.0,
    "interweave_every": 0,
    "gradient_every": 0,
    "growing_warmup": False,
}
SCHEDULES: dict[str, dict[str, Any]] = {"default": {}, "jumps": PAPER}
ENDLESS = 1_000_000
#: Sweeps at the end of a chain whose evidence is averaged.
LAST = 5


def estimator(
    task: Task, schedule: str, chains: int, seconds: float, seed: int, M: int
) -> BankRegressor | BankClassifier:
    """The estimator of a cell."""
    kind = BankRegressor if task == "regression" else BankClassifier
    settings = {"n_draws": ENDLESS, "n_chains": chains, "max_time": seconds}
    return kind(M, random_state=seed, device="cpu", **settings, **SCHEDULES[schedule])


def measure(
    name: str, schedule: str, chains: int, seed: int, seconds: float, M: int, rows: int | None
) -> Record:
    """Fit until time is up; the evidence at the end."""
    data = study_rows(name, rows)
    compile_first("bank", data.task)
    model = estimator(data.task, schedule, chains, seconds, seed, M)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # time is meant to end it
        model.fit(data.X, data.y)
    spent = time.perf_counter() - begin
    values = (
        last_evidences(model)
        if data.task == "regression"
        else laplace_evidences(model, data.X, data.y)
    )
    return {
        "set": name,
        "rows": len(data.X),
        "schedule": schedule,
        "seed": seed,
        "seconds": spent,
        "log_evidence": float(np.mean(values)),
        "of_chains": values,
        "sweeps": [int(n) for n in model.n_sweeps_],
        "warmup": [int(trace["warmup"]) for trace in model.trace_],
        "scaling": model.input_scaling_.kind,
        "trend": model.trend_,
        "scale": model._start.scale,  # of its chains; starting_point_ is the best fixed kernel
    }


def last_evidences(model: Any) -> list[float]:
    """Mean log evidence of the last sweeps of each chain; those of the warm-up do not count."""
    ends = [trace["log_evidence"][int(trace["warmup"]) :][-LAST:] for trace in model.trace_]
    return [float(end.mean()) for end in ends]


def laplace_evidences(model: Any, X: np.ndarray, y: np.ndarray) -> list[float]:
    """Laplace's approximation of the log evidence at the last draw of each chain, two classes."""
    last = {draw.chain: draw for draw in model.draws_}
    rows, codes = model.input_scaling_(X), (y == model.classes_[1]).astype(float)
    return [
        laplace_log_evidence(feature_rows(rows, draw.W, model.trend_), codes, draw.lam)
        for draw in last.values()
    ]


def cell(
    name: str, schedule: str, chains: int, seed: int, seconds: float, M: int, rows: int | None
) -> Cell:
    """One fit."""
    arguments = {"name": name, "schedule": schedule, "chains": chains, "seed": seed}
    arguments |= {"seconds": seconds, "M": M, "rows": rows}
    parameters = parameters_of(estimator(task_of(name), schedule, chains, seconds, seed, M))
    label = f"schedule-{name}-{schedule}-{seed}"
    # In order of seeds, so that what is measured first are whole pairs.
    return Cell(
        label, "schedule:measure", arguments, "", -float(seed), parameters, at_most=seconds + 20.0
    )


def pairs(records: Sequence[Record]) -> dict[str, list[tuple[Record, Record]]]:
    """By set: (default, jumps) of every seed that has both."""
    found = {(r["set"], r["seed"], r["schedule"]): r for r in records}
    out: dict[str, list[tuple[Record, Record]]] = {}
    for name, seed, schedule in found:
        if schedule == "default" and (name, seed, "jumps") in found:
            out.setdefault(name, []).append(
                (found[name, seed, "default"], found[name, seed, "jumps"])
            )
    return out


def table(records: Sequence[Record]) -> str:
    """Evidences and wins by set, in Markdown."""
    lines = []
    for name, both in pairs(records).items():
        values = np.array([[a["log_evidence"], b["log_evidence"]] for a, b in both])
        gained = values[:, 0] - values[:, 1]
        sweeps = [
            round(float(np.mean([np.mean(r["sweeps"]) for r in side])))
            for side in zip(*both, strict=True)
        ]
        lines.append(
            [
                name,
                str(both[0][0]["rows"]),
                f"{values[:, 0].mean():.1f}",
                f"{values[:, 1].mean():.1f}",
                plus_minus(float(gained.mean()), standard_error(gained)),
                f"{gained.min():.1f}",
                f"{sweeps[0]}, {sweeps[1]}",
                f"{int((gained > 0).sum())} of {len(gained)}",
            ]
        )
    header = ["set", "rows", "log evidence, default", "jumps only", "difference"]
    return markdown(
        [*header, "smallest difference", "sweeps (default, jumps)", "default is above"], lines
    )


def legend(records: Sequence[Record], seconds: float, M: int) -> str:
    """How the table was measured."""
    spent = [r["seconds"] for r in records]
    chains = ", ".join(sorted({str(len(r["of_chains"])) for r in records}))
    cores = ", ".join(sorted({str(r["cores"]) for r in records}))
    return (
        f"M = {M}, {seconds:g} s a fit ({min(spent):.1f} to {max(spent):.1f} s measured), "
        f"chains of a fit: {chains}, cores of a fit: {cores} ({processors(records)}). "
        f"Regression: mean of the last {LAST} sweeps on all rows. Classification: "
        "Laplace's approximation at the last draws."
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = study_parser(__doc__, "schedule", "bike,arm,eeg", "fits")
    parser.add_argument("--seconds", type=float, default=60.0, help="of every fit")
    parser.add_argument("--seeds", type=int, default=10, help="seeds 0, 1, ...")
    parser.add_argument("--chains", type=int, default=1, help="of every fit")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Measure what has not been measured, and write the table."""
    options = parse(arguments)
    cells = [
        cell(
            name, schedule, options.chains, seed, options.seconds, options.frequencies, options.rows
        )
        for seed in range(options.seeds)
        for name in options.sets.split(",")
        for schedule in SCHEDULES
    ]
    records = measured(cells, options)
    if records:
        how = legend(records, options.seconds, options.frequencies)
        publish(options.out, table(records), how, records)
    return records


if __name__ == "__main__":
    main()
