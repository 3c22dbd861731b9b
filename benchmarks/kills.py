"""Fits killed at random moments with kill -9, resumed until they end, compared bit for bit.

    python benchmarks/kills.py --kills 100

A fit runs in a process of its own with checkpoint_every=0, so that it is nearly always computing
or writing. It is killed after a random time and started again with resume=True, until it has been
killed as often as its share and then ends by itself. Its draws must be those of a fit that nobody
disturbed. Processes are forked from one that has everything imported and compiled, so that kills
fall into fits and not into imports. --engines names how the data is handed to fit (see ENGINES).
"""

from __future__ import annotations

import argparse
import hashlib
import random
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

Data = tuple[np.ndarray, np.ndarray]


Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def in_memory(data: Data, folder: Path) -> Arguments:
    """Arrays as they are."""
    return data, {}


def from_files(data: Data, folder: Path) -> Arguments:
    """Parquet files in the folder, read anew for every sum."""
    import pyarrow as pa
    from pyarrow import parquet

    X, y = data
    path = folder / "rows.parquet"
    if not path.exists():
        columns = {f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y}
        parquet.write_table(pa.table(columns), folder / "rows.new", row_group_size=150)
        (folder / "rows.new").replace(path)
    return (str(path),), {"target": "y"}


#: What fit is given, from arrays and a folder for files; another engine is one more entry.
ENGINES: dict[str, Callable[[Data, Path], Arguments]] = {
    "memory": in_memory,
    "files": from_files,
}
TASKS = ("regression", "two classes", "three classes", "laplace")


def make_data(task: str, rows: int) -> Data:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((rows, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    noisy = f + 0.3 * rng.standard_normal(rows)
    classes = {"three classes": (noisy > -0.5).astype(int) + (noisy > 0.7)}
    return X, noisy if task == "regression" else classes.get(task, noisy > 0)


def make_model(task: str, frequencies: int) -> Any:
    from banklearn import BankClassifier, BankRegressor

    plan: dict[str, Any] = {
        "n_warmup": 40,
        "n_draws": 20,
        "thin": 2,
        "random_state": 11,
        "gradient_every": 0 if task == "laplace" else 5,
    }
    if task == "regression":
        return BankRegressor(frequencies, **plan)
    inference = "laplace-mh" if task == "laplace" else "polya-gamma"
    return BankClassifier(frequencies, inference=inference, **plan)


def digest(model: Any) -> str:
    """A hash of every number of every draw and of the traces."""
    found = hashlib.sha256()
    for draw in model.draws_:
        for name, value in sorted(vars(draw).items()):
            found.update(name.encode() + np.ascontiguousarray(value).tobytes())
    for trace in model.trace_:
        for name, value in sorted(trace.items()):
            found.update(name.encode() + np.ascontiguousarray(value).tobytes())
    return found.hexdigest()


def child(options: dict[str, Any], answer: Connection) -> None:
    """One fit, which may be killed; sends a word when it begins, and what it ends with."""
    folder = Path(options["folder"])
    data = make_data(options["task"], options["rows"])
    arguments, keywords = ENGINES[options["engine"]](data, folder)
    model = make_model(options["task"], options["frequencies"])
    model.set_params(checkpoint=folder / "checkpoint", checkpoint_every=0)
    answer.send("begun")
    model.fit(*arguments, **keywords, resume=True)
    answer.send(digest(model))


class Fit:
    """A running process."""

    def __init__(self, options: dict[str, Any]) -> None:
        fork = get_context("fork")
        self.answer, other = fork.Pipe(duplex=False)
        self.process = fork.Process(target=child, args=(options, other))
        self.process.start()
        other.close()
        assert self.answer.recv() == "begun"

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.join()
        assert self.process.exitcode == -9

    def result(self) -> str:
        """What it ends with by itself."""
        found = str(self.answer.recv())
        self.process.join()
        return found


def kill_until(options: dict[str, Any], kills: int, span: float, rng: random.Random) -> int:
    """Kill a fit `kills` times, unless it ends first; how often it was."""
    for done in range(kills):
        fit = Fit(options)
        if fit.answer.poll(rng.uniform(0.0, span)):
            fit.result()
            return done
        fit.kill()
    return kills


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--per-fit", type=int, default=5, help="kills before a fit may end")
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--frequencies", type=int, default=12)
    parser.add_argument("--engines", nargs="+", default=["memory"], choices=list(ENGINES))
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for task in arguments.tasks:
        make_model(task, 4).set_params(n_warmup=6, n_draws=1).fit(*make_data(task, 60))
    rng = random.Random(arguments.seed)
    cases = [(engine, task) for engine in arguments.engines for task in arguments.tasks]
    whole: dict[tuple[str, str], tuple[str, float]] = {}
    kills = fits = different = 0
    interrupted_writes = 0
    while kills < arguments.kills:
        engine, task = cases[fits % len(cases)]
        with tempfile.TemporaryDirectory() as name:
            options = {
                "engine": engine,
                "task": task,
                "rows": arguments.rows,
                "frequencies": arguments.frequencies,
                "folder": name,
            }
            if (engine, task) not in whole:
                begin = time.monotonic()
                whole[engine, task] = Fit(options).result(), time.monotonic() - begin
                continue
            expected, seconds = whole[engine, task]
            span = 1.5 * seconds / (arguments.per_fit + 1)
            wanted = min(arguments.per_fit, arguments.kills - kills)
            kills += kill_until(options, wanted, span, rng)
            interrupted_writes += len(list(Path(name).glob("checkpoint/.*.part")))
            different += Fit(options).result() != expected
            fits += 1
            print(
                f"{engine}, {task}: {kills} kills, {fits} fits, {different} different", flush=True
            )
    print(
        f"{kills} kills of {fits} fits, {interrupted_writes} fits with a write cut short by the "
        f"last kill, {different} fits that ended with other bits"
    )
    if different:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
