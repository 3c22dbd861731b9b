"""Time and error against the number of rows N and of frequencies M, and the fitted slopes.

Seconds are those of one sweep: the same chain is run twice, once further than the other time, and
the difference of the two times is divided by the sweeps in between, so that neither the choice of
a starting point nor the predictions count. The set "waves" is synthetic, 8 inputs, up to 128 000
rows, and serves the slopes in N, which need rows by the ten thousand to outweigh what does not
depend on them; it is timed only. bike and susy give errors too, by a third, longer run.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from banklearn.datasets import folds, load
from banklearn.datasets.names import Task
from banklearn.experiments.cells import Cell, Record
from banklearn.experiments.methods import METHODS
from banklearn.experiments.one_fold import compile_first
from banklearn.experiments.options import Options
from banklearn.experiments.paper import TIMING_FREQUENCIES
from banklearn.experiments.pool import measure_all
from banklearn.experiments.results import merge, read_results, write_results
from banklearn.experiments.timing_summary import write_timing

Array = NDArray[np.float64]

SAMPLERS = ("regression", "polya-gamma", "laplace-mh")
SETS = {"waves": SAMPLERS, "bike": ("regression",), "susy": ("polya-gamma", "laplace-mh")}
WAVES_ROWS = (8_000, 16_000, 32_000, 64_000, 128_000)
SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
IDENTITY = ("set", "sampler", "axis", "N", "M")


@dataclass(frozen=True)
class Effort:
    """Sweeps of warm-up, draws kept, and sweeps per draw, of one chain."""

    warmup: int
    draws: int
    thin: int

    @property
    def sweeps(self) -> int:
        """All sweeps of the run."""
        return self.warmup + self.draws * self.thin

    def settings(self) -> dict[str, int]:
        """As parameters of an estimator."""
        return {"n_warmup": self.warmup, "n_draws": self.draws, "thin": self.thin}


#: The two runs whose difference is timed, and the one whose error is reported.
TIMED = (Effort(2, 1, 1), Effort(2, 1, 5))
FOR_ERROR = Effort(40, 10, 2)
TINY = Effort(4, 2, 1)


def waves(rows: int, task: str, seed: int = 0) -> tuple[Array, Array]:
    """Smooth waves over 8 inputs; noise 0.3, or labels by a logistic law."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 8))
    directions = rng.standard_normal((6, 8)) / np.sqrt(8)
    f = np.sin(2.0 * X @ directions.T).sum(axis=1)
    if task == "regression":
        return X, (f + 0.3 * rng.standard_normal(rows)) / np.std(f)
    return X, (rng.random(rows) < 1.0 / (1.0 + np.exp(-2.0 * f))).astype(float)


def measure(
    name: str, sampler: str, rows: int, M: int, for_error: list[int] | None = None, seed: int = 0
) -> dict[str, Any]:
    """Seconds per sweep, and the error on test rows of a run with the effort ``for_error``."""
    task: Task = "regression" if sampler == "regression" else "classification"
    compile_first("bank-laplace" if sampler == "laplace-mh" else "bank", task)
    if name == "waves":
        X, y = waves(rows, task)
        train = test = np.arange(rows)
    else:
        data = load(name)
        X, y = data.X, data.y / data.y.std() if task == "regression" else data.y
        train, test = folds(len(y))[0]
        train = train[:rows]

    def fitted(effort: Effort) -> tuple[Any, float]:
        settings = {
            "n_frequencies": M,
            "n_chains": 1,
            "growing_warmup": False,
            "input_scaling": "standard",
            "trend": "constant",
            "device": "cpu",
            "random_state": seed,
        }
        how = {} if task == "regression" else {"inference": sampler}
        model = METHODS["bank"].make(task, {**settings, **how, **effort.settings()})
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X[train], y[train])
        return model, time.perf_counter() - begin

    seconds = [fitted(effort)[1] for effort in TIMED]
    record = {
        "set": name,
        "sampler": sampler,
        "N": len(train),
        "M": M,
        "seed": seed,
        "seconds": seconds[1],
        "seconds per sweep": (seconds[1] - seconds[0]) / (TIMED[1].sweeps - TIMED[0].sweeps),
    }
    if for_error is not None:
        model, record["seconds"] = fitted(Effort(*for_error))
        predicted = model.predict(X[test])
        wrong = (predicted - y[test]) ** 2 if task == "regression" else predicted != y[test]
        record["error"] = float(np.mean(wrong))
    return record


def plan(options: Options) -> list[tuple[str, Cell]]:
    """The cells with the axis they lie on; both axes share a cell where they cross.

    With the tiny budget everything is cut to the least.
    """
    samplers = options.methods or SAMPLERS
    for what, names, known in (
        ("sampler", samplers, SAMPLERS),
        ("set to time", options.sets, tuple(SETS)),
    ):
        if wrong := [name for name in names if name not in known]:
            raise ValueError(f"There is no {what} {wrong[0]!r}; there are {', '.join(known)}.")
    tiny = options.budget.tiny
    cells: list[tuple[str, Cell]] = []
    for name in options.sets or SETS:
        for_error = None if name == "waves" else TINY if tiny else FOR_ERROR
        if name == "waves":
            sizes = tuple(n // 100 for n in WAVES_ROWS[:3]) if tiny else WAVES_ROWS
            full = sizes[1]
        else:
            # Not from the names' table: a copy of susy may have fewer rows than the paper's.
            full = 320 if tiny else len(folds(len(load(name).y))[0][0])
            sizes = tuple(int(share * full) for share in SHARES)
        frequencies = (4, 8) if tiny else TIMING_FREQUENCIES
        for sampler in [s for s in SETS[name] if s in samplers]:
            points = [("N", n, frequencies[-1]) for n in sizes]
            points += [("M", full, m) for m in frequencies]
            cells += [(axis, _cell(name, sampler, n, m, for_error)) for axis, n, m in points]
    return cells


def _cell(name: str, sampler: str, rows: int, M: int, for_error: Effort | None) -> Cell:
    arguments: dict[str, Any] = {"name": name, "sampler": sampler, "rows": rows, "M": M}
    sweeps = sum(effort.sweeps for effort in TIMED)
    if for_error is not None:
        arguments["for_error"] = [for_error.warmup, for_error.draws, for_error.thin]
        sweeps += for_error.sweeps
    return Cell(
        f"timing-{name}-{sampler}-{rows}-{M}",
        "banklearn.experiments.timing:measure",
        arguments,
        cost=rows * M * (M + 48) * sweeps,
        configuration=f"{[effort.settings() for effort in TIMED]}",
    )


def run(options: Options) -> list[Record]:
    """Measure and write timing.parquet, .md, .png and .svg.

    ``methods`` are the samplers, ``sets`` among waves, bike and susy. The seconds of each method
    on each set come from the tables that lie in the same output folder.
    """
    points = plan(options)
    cells = [cell for _, cell in points]
    outcome = measure_all(cells, options)
    path = options.out / "timing.parquet"
    new = [
        {**outcome.records[cell.key], "axis": axis}
        for axis, cell in points
        if cell.key in outcome.records
    ]
    records = merge(read_results(path), new, IDENTITY)
    write_results(path, records)
    write_timing(options.out, records)
    return records
