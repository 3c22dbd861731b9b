"""Both classification samplers in one run: effective samples per second.

Runs alternate between the samplers, so that a busy machine is busy for both. Each run warms up,
then samples for the given number of seconds; what counts is the log likelihood of the training
labels and the latent function at ten test rows. Only the time of sampling is counted.

    python benchmarks/samplers.py [--sets pima,eeg,susy] [--seconds 55] [--repeats 2] [--jobs 3]

A set takes 4 x seconds x repeats and a little more, on one core; with --jobs 3 the three sets
run at the same time, each in a process with a core of its own, in which its samplers take turns:
8 minutes. What was measured is kept in --work and not measured again; the table is made from that.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from chains import Course, Problem, drawn_weights, in_turn, prepare
from studies import processors

from banklearn.datasets import load
from banklearn.experiments.cells import Cell, Record
from banklearn.experiments.pool import run_cells
from banklearn.numerics.streams import Streams
from banklearn.posterior.diagnostics import effective_sample_size, r_hat
from banklearn.sampler import joint_move, sweep
from banklearn.sampler.sweep import Tuning

HERE = Path(__file__).parent
RESULT = HERE / "results" / "samplers.md"
KERNELS = {"polya-gamma": sweep, "laplace-mh": joint_move}
PROBES = 10


def split(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs and labels of four fifths of the rows, and the probe rows among the others."""
    data = load(name)
    order = np.random.default_rng(0).permutation(len(data.y))
    test, train = order[::5], np.setdiff1d(order, order[::5])
    return data.X[train], data.y[train], data.X[test[:PROBES]]


def course(label: str, problem: Problem, chain: int) -> Course:
    """A chain of one of the samplers at the classifier's start, with its default moves."""
    kernel: Any = KERNELS[label]
    streams = Streams(1, chain)
    tuning = problem.tuning if kernel is sweep else Tuning()
    begun = kernel.init(problem.engine, problem.model, problem.starting(streams), streams)
    return Course(problem, kernel, tuning, begun, streams, weights=drawn_weights)


def compare(name: str, M: int, seconds: float, repeats: int) -> dict[str, Any]:
    """Rows of the table for one set, as the record of a cell."""
    X, y, probes = split(name)
    problem = prepare("classification", X, y, probes, M)
    runs = {(label, c): course(label, problem, c) for c in range(repeats) for label in KERNELS}
    for adapting in (True, False):
        in_turn(runs.values(), seconds, 4, adapting)
    out = []
    for label in KERNELS:
        mine = [run for (which, _), run in runs.items() if which == label]
        draws = min(len(run.values) for run in mine)
        if draws < 8:
            raise ValueError(f"{name}, {label}: only {draws} sweeps in {seconds:g} s. Give more.")
        values = np.array([run.values[-draws:] for run in mine])
        time_per_sweep = sum(run.time for run in mine) / sum(len(run.values) for run in mine)
        spent = time_per_sweep * draws * len(mine)
        sizes = [effective_sample_size(values[:, :, i]) for i in range(values.shape[2])]
        hats = [r_hat(values[:, :, i]) for i in range(values.shape[2])]
        out.append(
            {
                "set": name,
                "rows": problem.engine.n_rows,
                "sampler": label,
                "ms": 1e3 * time_per_sweep,
                "likelihood": sizes[0] / spent,
                "probes": float(np.median(sizes[1:])) / spent,
                "worst": float(np.min(sizes[1:])) / spent,
                "r_hat": float(np.max(hats)),
                "mean": float(values[:, :, 0].mean()),
            }
        )
    return {"lines": out}


def cell(name: str, M: int, seconds: float, repeats: int) -> Cell:
    """The measurement of one set."""
    arguments = {"name": name, "M": M, "seconds": seconds, "repeats": repeats}
    return Cell(f"samplers-{name}", "samplers:compare", arguments, at_most=4.0 * seconds * repeats)


def table(records: list[Record], M: int, seconds: float, repeats: int) -> str:
    """The comparison in Markdown."""
    lines = [
        "| set | rows | sampler | ms per sweep | ESS/s, log likelihood | ESS/s, probes (median) "
        "| ESS/s, probes (least) | largest R-hat | mean log likelihood |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for r in [line for record in records for line in record["lines"]]:
        lines.append(
            f"| {r['set']} | {r['rows']} | {r['sampler']} | {r['ms']:.3g} "
            f"| {r['likelihood']:.3g} | {r['probes']:.3g} | {r['worst']:.3g} "
            f"| {r['r_hat']:.2f} | {r['mean']:.1f} |"
        )
    lines += [
        "",
        f"M = {M}, {repeats} chains per sampler, {seconds:g} s of warm-up and {seconds:g} s of "
        f"sampling per chain, samplers in turn on one core ({processors(records)}). Effective "
        "samples are those of all chains, divided by the time they took; where R-hat is far from 1 "
        "the chains have not met, and the figures are upper bounds.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="pima,eeg,susy")
    parser.add_argument("--seconds", type=float, default=55.0, help="per chain and phase")
    parser.add_argument("--repeats", type=int, default=2, help="chains per sampler")
    parser.add_argument("--frequencies", type=int, default=384)
    parser.add_argument("--jobs", type=int, default=1, help="sets measured at the same time")
    parser.add_argument("--within", type=float, help="seconds within which to end")
    parser.add_argument("--work", type=Path, default=HERE / ".cache" / "samplers")
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args()
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # read by the processes of the sets too
    how = (options.frequencies, options.seconds, options.repeats)
    cells = [cell(name, *how) for name in options.sets.split(",")]
    outcome = run_cells(cells, options.work, options.jobs, 1, within=options.within)
    records = [outcome.records[c.key] for c in cells if c.key in outcome.records]
    if records:
        text = table(records, *how)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text, encoding="utf-8")
        print(text)
    absent = [c.label for c in cells if c.key not in outcome.records]
    if absent:
        raise SystemExit(f"Not measured: {', '.join(absent)}. The same command tries them again.")


if __name__ == "__main__":
    main()
