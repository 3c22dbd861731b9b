"""What the benchmarks share: alternating timers, synthetic problems, tables.

revisions.py runs it with the package of any revision: only what the first one has is imported at
the top.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from threadpoolctl import threadpool_info

from banklearn.engines import MemoryEngine
from banklearn.gram import Gram
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.model.features import feature_rows, trend_columns
from banklearn.model.joint import State
from banklearn.model.priors import Prior
from banklearn.numerics.streams import Purpose, Streams
from banklearn.sampler import sweep as kernel
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.sweep import Model, Tuning

HERE = Path(__file__).resolve().parent
TREND = "constant"
#: Rows that are made, or summed by the plain versions here, at once.
CHUNK = 8192


def alternate(
    tasks: dict[str, Callable[[], object]], repeats: int, warmup: int = 1
) -> dict[str, list[float]]:
    """Seconds of every task in every round; in a round each task runs once, one after another."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for turn in range(warmup + repeats):
        for name, task in tasks.items():
            begin = time.perf_counter()
            task()
            taken = time.perf_counter() - begin
            if turn >= warmup:
                seconds[name].append(taken)
    return seconds


@contextmanager
def seconds_of_chains() -> Iterator[list[float]]:
    """How long the chains of every fit inside took, without what comes before and after them."""
    from banklearn.estimators import base

    run_chains, seconds = base.run_chains, []

    def timed(*arguments: Any) -> Any:
        begin = time.perf_counter()
        found = run_chains(*arguments)
        seconds.append(time.perf_counter() - begin)
        return found

    base.run_chains = timed
    try:
        yield seconds
    finally:
        base.run_chains = run_chains


def medians(seconds: dict[str, list[float]]) -> dict[str, float]:
    return {name: float(np.median(values)) for name, values in seconds.items()}


def slope(x: list[float], y: list[float]) -> float:
    """Slope of y against x on log-log axes, least squares."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def chunks(n: int, size: int = CHUNK) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def make_data(N: int, d: int, classes: int = 0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows X ~ N(0, I) and a sum of twelve waves with noise; labels 0/1 when classes is 2.

    Made in pieces, so that nothing larger than X itself is ever in memory.
    """
    rng = np.random.default_rng(seed)
    waves = rng.standard_normal((12, d)) * 1.5 / np.sqrt(d)
    heights = rng.standard_normal(12) / np.sqrt(6.0)
    phases = rng.uniform(0, 2 * np.pi, 12)
    X, y = np.empty((N, d)), np.empty(N)
    for part in chunks(N):
        X[part] = rng.standard_normal((part.stop - part.start, d))
        y[part] = np.cos(X[part] @ waves.T + phases) @ heights
        y[part] += 0.3 * rng.standard_normal(part.stop - part.start)
    return X, (y > 0).astype(float) if classes == 2 else y


def read_set(name: str) -> tuple[np.ndarray, np.ndarray]:
    """X (N, d) and y (N,) of a set of the paper, as they are in its Parquet file."""
    from pyarrow import parquet

    folder = os.environ.get("BANKLEARN_DATA")
    if not folder:
        sys.exit("Set BANKLEARN_DATA to the folder with the Parquet files of the paper's sets.")
    columns = parquet.read_table(Path(folder) / f"{name}.parquet").to_pydict()
    y = np.array(columns["y"], dtype=float)
    # Second targets are no features.
    X = np.column_stack([v for k, v in columns.items() if k not in ("y", "y2", "y7")])
    return X.astype(float), y


@dataclass
class Problem:
    """A chain on synthetic data, ready for its next sweep."""

    engine: MemoryEngine
    model: Model
    tuning: Tuning
    streams: Streams
    chain: Any
    sweep: int = 0

    def step(self) -> Any:
        """One whole sweep, all updates; returns its Info."""
        self.sweep += 1
        self.chain, info = kernel.step(
            self.chain, self.engine, self.model, self.tuning, self.streams, self.sweep
        )
        return info

    @property
    def h(self) -> int:
        return trend_columns(self.model.trend, self.chain.state.W.shape[1])

    def next_proposals(self) -> tuple[np.ndarray, np.ndarray]:
        """W* and log u of the next sweep, from the streams that the sweep itself will use."""
        from banklearn.sampler.switch import offer

        number = self.sweep + 1
        rng = self.streams.at(Purpose.PROPOSALS, number)
        W_star = offer(self.chain.state, self.model.prior, self.tuning.moves, rng).W
        return W_star, np.log(self.streams.at(Purpose.ACCEPT, number).random(len(W_star)))


def make_problem(
    X: np.ndarray, y: np.ndarray, M: int, classes: int = 0, seed: int = 0, settle: int = 2
) -> Problem:
    """All frequencies in one component, then a few sweeps so that the mixture is a mixture."""
    d = X.shape[1]
    streams, scale = Streams(seed), 1.5 / np.sqrt(d)
    likelihood: Any = Gaussian(1.0, 1e-6)
    if classes == 2:
        from banklearn.likelihoods.logistic import Logistic

        likelihood = Logistic(2)
    prior = Prior(np.zeros(d), 1.0, d + 2.0, np.full(d, scale**2))
    state = State(
        W=scale * streams.at(Purpose.START, block=1).standard_normal((M, d)),
        Z=np.zeros(M, dtype=np.int64),
        mu=np.zeros((1, d)),
        Sigma=scale**2 * np.eye(d)[None],
        alpha=1.0,
        lam=1.0,
        psi=np.full(d, scale**2),
    )
    model, engine = Model(prior, likelihood, TREND), MemoryEngine(X, y)
    chain = kernel.init(engine, model, state, streams)
    # The estimators' moves; walks of components are dropped by warm-up at the sizes of interest.
    tuning = Tuning(Moves(switch=0.5)) if hasattr(Moves, "switch") else Tuning()
    problem = Problem(engine, model, tuning, streams, chain)
    for _ in range(settle):
        problem.step()
    return problem


def exchanging(tuning: Tuning) -> Tuning:
    """The tuning with which every sweep exchanges frequencies."""
    return replace(tuning, moves=replace(tuning.moves, exchange=1.0))


def extended_gram(X: np.ndarray, y: np.ndarray, W: np.ndarray, W_star: np.ndarray) -> Gram:
    """The statistic of [trend | current | proposed] columns, summed plainly in pieces."""
    from banklearn.engines.host import HostOps
    from banklearn.numerics.blas import add_square, mirror

    both = np.concatenate([W, W_star])
    Q = trend_columns(TREND, X.shape[1]) + 2 * len(both)
    G, r = np.zeros((Q, Q)), np.zeros(Q)
    for part in chunks(len(X)):
        Phi = feature_rows(X[part], both, TREND, scale=1.0 / np.sqrt(len(W)))
        add_square(G, Phi)
        r += Phi @ y[part]
    return Gram(mirror(G)[None], r[None], np.array([y @ y]), np.array([float(len(y))]), HostOps())


def child(script: str, *arguments: object, source: Path | None = None) -> dict[str, Any]:
    """Run a script of this folder in a process of its own and read the JSON of its last line."""
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    answer = subprocess.run(
        command, env=environment(source), capture_output=True, text=True, check=False
    )
    if answer.returncode != 0:
        raise RuntimeError(f"{script} {' '.join(map(str, arguments))} failed:\n{answer.stderr}")
    return json.loads(answer.stdout.strip().splitlines()[-1])


def environment(source: Path | None) -> dict[str, str]:
    """The environment of a child; source is a src folder to import the package from."""
    inherited = dict(os.environ)
    if source is not None:
        before = inherited.get("PYTHONPATH")
        inherited["PYTHONPATH"] = str(source) + (os.pathsep + before if before else "")
    return inherited


def revision() -> str:
    """The commit of this checkout, with a plus sign when tracked files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--abbrev=10", "--exclude=*"]
    answer = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    from banklearn.numerics.threads import available_cores

    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [s for s in cpuinfo.read_text().splitlines() if s.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    libraries = [i for i in threadpool_info() if i.get("user_api") == "blas"]
    return {
        "cpu": model,
        "cores": available_cores(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "blas": sorted({f"{i['internal_api']} {i['version']}" for i in libraries}),
        "blas_threads": sorted({i["num_threads"] for i in libraries}),
        "load_before": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "revision": revision(),
    }


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def duration(seconds: float) -> str:
    """Seconds in a unit that suits them."""
    return f"{seconds * 1e3:.3g} ms" if seconds < 1.0 else f"{seconds:.3g} s"
