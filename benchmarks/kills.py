"""Fits killed at random moments with kill -9, resumed until they end, compared bit for bit.

    python benchmarks/kills.py --kills 100
    python benchmarks/kills.py --kills 100 --engines memory files --jobs 8 --limit 400

A fit runs in a process of its own with checkpoint_every=0, so that it is nearly always computing
or writing. It is killed after a random time and started again with resume=True, until it has been
killed as often as its share and then ends by itself. Its draws must be those of a fit that nobody
disturbed. Processes are forked from one that has everything imported and compiled, so that kills
fall into fits and not into imports. --engines names how the data is handed to fit (see ENGINES);
every fit computes on one core per chain, and --jobs fits run at the same time.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import random
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from banklearn import BankClassifier, BankRegressor
from banklearn.numerics.threads import limited_to

Data = tuple[np.ndarray, np.ndarray]
#: Engine and task.
Case = tuple[str, str]
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
    with limited_to(1):  # threads that the parent started are not there in a fork
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


@dataclass(frozen=True)
class Outcome:
    """One fit that was killed and resumed until it ended."""

    kills: int
    cut_writes: int
    digest: str


def options_of(case: Case, folder: str, given: argparse.Namespace) -> dict[str, Any]:
    engine, task = case
    return {
        "engine": engine,
        "task": task,
        "rows": given.rows,
        "frequencies": given.frequencies,
        "folder": folder,
    }


def undisturbed(case: Case, given: argparse.Namespace) -> tuple[str, float]:
    """What a fit ends with when nobody kills it, and how long it takes."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        return Fit(options_of(case, folder, given)).result(), time.monotonic() - begin


def disturbed(
    case: Case, given: argparse.Namespace, kills: int, seconds: float, seed: str
) -> Outcome:
    """A fit that is killed so many times and then left alone."""
    with tempfile.TemporaryDirectory() as folder:
        options = options_of(case, folder, given)
        span = 1.5 * seconds / (given.per_fit + 1)
        done = kill_until(options, kills, span, random.Random(seed))
        cut = len(list(Path(folder).glob("checkpoint/.*.part")))
        return Outcome(done, cut, Fit(options).result())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--per-fit", type=int, default=5, help="kills before a fit may end")
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--frequencies", type=int, default=12)
    parser.add_argument("--engines", nargs="+", default=["memory"], choices=list(ENGINES))
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="fits at the same time")
    parser.add_argument("--limit", type=float, default=math.inf, help="seconds; begin none after")
    given = parser.parse_args()
    begin = time.monotonic()
    # The Laplace sampler keeps numbers for every row, and is for arrays in memory.
    cases = [(e, t) for e in given.engines for t in given.tasks if (e, t) != ("files", "laplace")]
    for task in given.tasks:
        make_model(task, 4).set_params(n_warmup=6, n_draws=1).fit(*make_data(task, 60))
    kills = fits = different = cut_writes = 0
    # Forked from this process, and forking the fits in turn: all is compiled already.
    with ProcessPoolExecutor(given.jobs, get_context("fork")) as pool:
        whole = dict(zip(cases, pool.map(undisturbed, cases, [given] * len(cases)), strict=True))
        begun: dict[Future[Outcome], tuple[Case, int]] = {}
        number = 0
        while True:
            # A fit may end before it has had all its kills: the next one has the rest.
            planned = kills + sum(share for _, share in begun.values())
            late = time.monotonic() - begin > given.limit
            while len(begun) < given.jobs and planned < given.kills and not late:
                case, share = cases[number % len(cases)], min(given.per_fit, given.kills - planned)
                seed = f"{given.seed} {number}"
                job = pool.submit(disturbed, case, given, share, whole[case][1], seed)
                begun[job] = (case, share)
                number, planned = number + 1, planned + share
            if not begun:
                break
            for job in wait(begun, return_when=FIRST_COMPLETED).done:
                case, _ = begun.pop(job)
                outcome = job.result()
                kills, fits = kills + outcome.kills, fits + 1
                cut_writes += outcome.cut_writes
                different += outcome.digest != whole[case][0]
                print(
                    f"{case[0]}, {case[1]}: {kills} kills, {fits} fits, {different} different",
                    flush=True,
                )
    print(
        f"{kills} kills of {fits} fits, {cut_writes} fits with a write cut short by the "
        f"last kill, {different} fits that ended with other bits, "
        f"{time.monotonic() - begin:.0f} s"
    )
    if different or kills < given.kills:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
