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
import time
from pathlib import Path
from typing import Any

import numpy as np

from banklearn import BankClassifier
from banklearn.datasets import load
from banklearn.engines.memory import MemoryEngine
from banklearn.experiments.cells import Cell, Record
from banklearn.experiments.pool import run_cells
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.features import feature_rows
from banklearn.numerics.streams import Streams
from banklearn.posterior.diagnostics import effective_sample_size, r_hat
from banklearn.sampler import joint_move, sweep
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.start import starting_state
from banklearn.sampler.sweep import Model, Tuning, adapt

HERE = Path(__file__).parent
RESULT = HERE / "results" / "samplers.md"
KERNELS = {"polya-gamma": sweep, "laplace-mh": joint_move}
PROBES = 10


def prepare(name: str, M: int) -> tuple[MemoryEngine, Model, Any, np.ndarray]:
    """Engine, model and start as the classifier would choose them, and the probe rows."""
    data = load(name)
    X, y = data.X, data.y
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[::5], np.setdiff1d(order, order[::5])
    labels = np.unique(y)
    position = np.where(y == labels[1], 0.0, 1.0)
    # The shortest possible fit chooses scaling, trend and prior.
    chosen = BankClassifier(M, n_warmup=0, n_draws=1, thin=1, n_chains=1, random_state=0)
    chosen.fit(X[train], y[train])
    engine = MemoryEngine(chosen.input_scaling_(X[train]), position[train])
    model = Model(chosen.prior_, Logistic(2), chosen.trend_)
    return engine, model, chosen.starting_point_, chosen.input_scaling_(X[test[:PROBES]])


class Run:
    """One chain that is warmed up, then sampled in slices."""

    def __init__(self, kernel: Any, engine: Any, model: Model, start: Any, M: int, chain: int):
        self.kernel, self.engine, self.model = kernel, engine, model
        self.streams, self.sweep = Streams(1, chain), 0
        self.tuning = Tuning()
        if kernel is sweep:  # as the classifier's defaults
            self.tuning = Tuning(Moves(switch=0.5), interweave_every=1)
        lam = model.likelihood.start_lam(start.lam)
        alpha = model.prior.alpha_shape / model.prior.alpha_rate
        state = starting_state(M, engine.X.shape[1], start.scale, lam, alpha, self.streams)
        self.chain = kernel.init(engine, model, state, self.streams)
        self.values: list[list[float]] = []
        self.time = 0.0

    def go(self, seconds: float, probes: np.ndarray | None) -> None:
        """Sweep for some seconds; without probes this is warm-up, and adapts."""
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            self.sweep += 1
            self.chain, info = self.kernel.step(
                self.chain, self.engine, self.model, self.tuning, self.streams, self.sweep
            )
            if probes is None:
                self.tuning = adapt(self.tuning, info, self.sweep)
                continue
            Phi = feature_rows(probes, self.chain.state.W, self.model.trend)
            self.values.append([info.log_likelihood, *(self.chain.beta[0] @ Phi)])
        if probes is not None:
            self.time += time.perf_counter() - begin


def compare(name: str, M: int, seconds: float, repeats: int) -> dict[str, Any]:
    """Rows of the table for one set, as the record of a cell."""
    engine, model, start, probes = prepare(name, M)
    runs = {
        (label, c): Run(kernel, engine, model, start, M, c)
        for c in range(repeats)
        for label, kernel in KERNELS.items()
    }
    slices = 4
    for phase in (None, probes):
        for _ in range(slices):
            for run in runs.values():  # samplers take turns
                run.go(seconds / slices, phase)
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
                "rows": engine.n_rows,
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


def processors(records: list[Record]) -> str:
    """The processors on which the records were made."""
    return ", ".join(sorted({str(record["cpu"]) for record in records}))


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
