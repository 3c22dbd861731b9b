"""Whether gradient moves pay: hold-outs of training rows, one core, at equal time.

For each set and seed a fifth of the training rows of fold 0 is held out. Fits that differ in
``gradient_every`` alone have one core each, and end after the same time. Compared are the
error on held-out rows (squared error of the standardised target, or error rate), minus the log
predictive density there, and the mean log likelihood of the last sweeps.

On 16 cores, in three minutes; what was measured is kept in --work:

    python benchmarks/gradients.py --jobs 16 --work DIR [--sets noise,concrete,bike,eeg]
        [--seconds 110] [--every 0,auto] [--seeds 2] [--chains 1] [--out DIR/gradients.md]

On a GPU, which the fits share, where steps are cheap: a gradient move in every sweep beside the
default.

    python benchmarks/gradients.py --device cuda --jobs 16 --every 1,auto --sets concrete,noise
        --chains 4 --seconds 40 --seeds 4 --work DIR
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from studies import measured, processors, publish, study_parser
from study_sets import study_rows, task_of

from banklearn import BankClassifier, BankRegressor
from banklearn.datasets.names import Task
from banklearn.experiments.cells import Cell, Record, parameters_of
from banklearn.experiments.one_fold import compile_first
from banklearn.experiments.scores import classification_scores, regression_scores
from banklearn.experiments.tables import markdown

#: Sweeps at the end of a chain whose log likelihood is averaged.
LAST = 10


def estimator(
    task: Task, every: str, chains: int, seed: int, seconds: float, M: int, device: str
) -> BankRegressor | BankClassifier:
    """The estimator of a cell."""
    kind = BankRegressor if task == "regression" else BankClassifier
    gradient_every = every if every == "auto" else int(every)
    settings = {"n_chains": chains, "max_time": seconds, "gradient_every": gradient_every}
    return kind(M, random_state=seed, device=device, **settings)


def measure(
    name: str,
    every: str,
    chains: int,
    seed: int,
    seconds: float,
    M: int,
    rows: int | None,
    device: str = "cpu",
) -> Record:
    """One fit, and how it does on the rows that were held out."""
    data = study_rows(name, rows)
    order = np.random.default_rng(1000 + seed).permutation(len(data.y))
    held, kept = np.split(order, [len(order) // 5])
    compile_first("bank", data.task)
    model: Any = estimator(data.task, every, chains, seed, seconds, M, device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # time is meant to end it
        model.fit(data.X[kept], data.y[kept])
    score = regression_scores if data.task == "regression" else classification_scores
    found = score(model, data.X[held], data.y[held])
    return {
        "set": name,
        "every": every,
        "seed": seed,
        "error": found["error"],
        "minus_log_density": found["nlpd"],
        "log_likelihood": mean_over(model, lambda t: t["log_likelihood"][-LAST:].mean()),
        "sweeps": mean_over(model, lambda t: len(t["K"])),
        "warmup": mean_over(model, lambda t: t["warmup"]),
        "moves": mean_over(model, lambda t: np.isfinite(t["gradient_acceptance"]).sum()),
        "schedule": model.schedule_,
    }


def mean_over(model: Any, value: Callable[[dict[str, Any]], float]) -> float:
    """The mean over chains."""
    return float(np.mean([value(trace) for trace in model.trace_]))


def cell(
    name: str,
    every: str,
    chains: int,
    seed: int,
    seconds: float,
    M: int,
    rows: int | None,
    device: str,
) -> Cell:
    """One fit."""
    arguments = {"name": name, "every": every, "chains": chains, "seed": seed, "seconds": seconds}
    arguments |= {"M": M, "rows": rows, "device": device}
    parameters = parameters_of(estimator(task_of(name), every, chains, seed, seconds, M, device))
    label = f"gradients-{name}-{every}-{seed}"
    # In order of seeds, so that what is measured first are whole comparisons.
    return Cell(
        label, "gradients:measure", arguments, "", -float(seed), parameters, at_most=seconds + 20.0
    )


def table(records: Sequence[Record]) -> str:
    """A line for each set and value of gradient_every, seeds side by side."""
    lines = []
    for name, every in dict.fromkeys((r["set"], r["every"]) for r in records):
        mine = [r for r in records if (r["set"], r["every"]) == (name, every)]
        lines.append(
            [
                name,
                every,
                ", ".join(f"{r['error']:.4f}" for r in mine),
                ", ".join(f"{r['minus_log_density']:.3f}" for r in mine),
                ", ".join(f"{r['log_likelihood']:.0f}" for r in mine),
                ", ".join(f"{r['sweeps']:.0f}" for r in mine),
                ", ".join(f"{r['moves']:.0f}" for r in mine),
            ]
        )
    header = ["set", "`gradient_every`", "error", "minus log density", "log likelihood"]
    return markdown([*header, "sweeps", "gradient moves"], lines)


def legend(records: Sequence[Record], options: argparse.Namespace) -> str:
    """How the table was measured."""
    gpu = "" if options.device == "cpu" else f" and {options.device}, shared by {options.jobs}"
    return (
        f"M = {options.frequencies}, chains: {options.chains}, one core{gpu}, "
        f"{options.seconds:g} s ({processors(records)}). Four fifths of the training rows of fold "
        "0, errors on the last fifth, an entry for each way to draw it; log likelihood of the last "
        f"{LAST} sweeps, sweeps and moves as means over chains."
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = study_parser(
        __doc__, "gradients", "noise,concrete,bike,eeg", "fits", cores_per_job=None
    )
    parser.add_argument("--seconds", type=float, default=110.0, help="of every fit")
    parser.add_argument("--every", default="0,auto", help="values of gradient_every, side by side")
    parser.add_argument("--seeds", type=int, default=2, help="seeds 0, 1, ...")
    parser.add_argument("--chains", type=int, default=1, help="of every fit")
    parser.add_argument("--device", default="cpu", help="cuda: fits share a GPU")
    given = parser.parse_args(arguments)
    if given.device != "cpu" and given.out == parser.get_default("out"):
        given.out = given.out.with_stem("gradients-gpu")
    return given


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Measure what has not been measured, and write the table."""
    options = parse(arguments)
    how = (options.seconds, options.frequencies, options.rows, options.device)
    cells = [
        cell(name, every, options.chains, seed, *how)
        for name in options.sets.split(",")
        for every in options.every.split(",")
        for seed in range(options.seeds)
    ]
    records = measured(cells, options)
    if records:
        publish(options.out, table(records), legend(records, options), records)
    return records


if __name__ == "__main__":
    main()
