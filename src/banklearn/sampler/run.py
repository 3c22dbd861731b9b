"""Chains: warm-up, thinning, time limits, interruption, several chains side by side."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.base import Engine
from banklearn.model.joint import State
from banklearn.numerics.scratch import release
from banklearn.numerics.streams import Purpose, Streams
from banklearn.numerics.threads import available_cores, limited_to
from banklearn.sampler.sweep import Info, Model, Tuning, adapt

D = TypeVar("D")

#: Share of max_time after which warm-up ends, finished or not.
WARMUP_SHARE = 0.6


@dataclass(frozen=True)
class Plan:
    """How long to run. stages: warm-up on growing subsamples, as (rows, sweeps)."""

    n_warmup: int
    n_draws: int
    thin: int = 1
    max_time: float | None = None
    stages: tuple[tuple[int, int], ...] = ()

    @property
    def n_sweeps(self) -> int:
        """Sweeps in all."""
        return self.n_warmup + self.n_draws * self.thin


class Kernel(Protocol):
    """A Markov kernel: a module with init and step (:mod:`.sweep`, :mod:`.joint_move`)."""

    def init(
        self, engine: Any, model: Model, state: State, streams: Streams, sweep: int, beta: Any
    ) -> Any:
        """A chain at a state."""
        ...

    def step(
        self, chain: Any, engine: Any, model: Model, tuning: Tuning, streams: Streams, sweep: int
    ) -> tuple[Any, Info]:
        """One sweep."""
        ...


class Monitor(Protocol):
    """Somebody who watches the chains."""

    def __call__(self, chain: int, sweep: int, plan: Plan, info: Info) -> None:
        """Called after every sweep, from the thread of its chain."""
        ...


@dataclass
class Run(Generic[D]):
    """What a chain leaves behind."""

    draws: list[D]
    trace: list[Info] = field(default_factory=list)
    warmup: int = 0
    tuning: Tuning = field(default_factory=Tuning)
    cut: str = ""


def growing_stages(n_rows: int, n_warmup: int, smallest: int = 2500) -> tuple[tuple[int, int], ...]:
    """Warm-up on subsamples that double in size, the last third of the sweeps on all rows.

    A subsample is a tempered posterior: jumps are accepted more often, and cost less.
    """
    sizes: list[int] = []
    size = smallest
    while size * 2 <= n_rows and n_warmup >= 6:
        sizes.append(size)
        size *= 2
    sizes = sizes[-6:] if len(sizes) <= 6 else [sizes[0], *sizes[1 :: max(1, len(sizes) // 5)]]
    sizes = sorted(set(sizes))
    if not sizes:
        return ((n_rows, n_warmup),)
    # Sweeps fall with size; what is left goes to all rows.
    weight = np.array([1.0 / (1.0 + i) for i in range(len(sizes))])
    counts = np.floor(n_warmup * (2 / 3) * weight / weight.sum()).astype(int)
    stages = [(s, int(c)) for s, c in zip(sizes, counts, strict=True) if c > 0]
    return (*stages, (n_rows, n_warmup - sum(c for _, c in stages)))


def run_chain(
    engine: Engine,
    model: Model,
    start: State,
    plan: Plan,
    streams: Streams,
    keep: Callable[[Any, int], D],
    tuning: Tuning,
    kernel: Kernel,
    monitor: Monitor | None = None,
    stop: threading.Event | None = None,
) -> Run[D]:
    """Warm up on the stages of the plan, then sample on all rows.

    max_time ends warm-up at 60 % and the chain at 100 %. Whatever happens, at least one draw is
    kept: the last state, if sampling proper never began.
    """
    stop = stop or threading.Event()
    begin = time.monotonic()
    run: Run[D] = Run([], tuning=tuning)

    def late(share: float) -> bool:
        return plan.max_time is not None and time.monotonic() - begin > share * plan.max_time

    stages = plan.stages or ((engine.n_rows, plan.n_warmup),)
    state, sweep = start, 0
    chain: Any = None
    for i, (rows, sweeps) in enumerate(stages):
        if sweeps and (late(WARMUP_SHARE) or stop.is_set()):
            run.cut = run.cut or ("time" if not stop.is_set() else "stop")
            break
        part = _subsample(engine, rows, streams, i)
        chain = kernel.init(part, model, state, streams, sweep, chain and chain.beta)
        # Each stage has its share of the warm-up time, so that all rows are reached.
        share = WARMUP_SHARE * (i + 1) / len(stages)
        for _ in range(sweeps):
            if late(share) or stop.is_set():
                run.cut = run.cut or ("time" if not stop.is_set() else "stop")
                break
            sweep += 1
            chain, info = kernel.step(chain, part, model, run.tuning, streams, sweep)
            run.tuning = adapt(run.tuning, info, sweep)
            run.trace.append(info)
            if monitor:
                monitor(streams.chain, sweep, plan, info)
        state = chain.state
    run.warmup = len(run.trace)
    if chain is None or stages[-1][0] != engine.n_rows or late(WARMUP_SHARE) or run.cut:
        chain = kernel.init(engine, model, state, streams, sweep, chain and chain.beta)
    # Sweeps are numbered as if warm-up had been complete: addresses of streams stay apart.
    sweep = max(sweep, plan.n_warmup)
    for i in range(plan.n_draws * plan.thin):
        if stop.is_set() or (run.draws and late(1.0)):
            run.cut = run.cut or ("time" if not stop.is_set() else "stop")
            break
        sweep += 1
        chain, info = kernel.step(chain, engine, model, run.tuning, streams, sweep)
        run.trace.append(info)
        if (i + 1) % plan.thin == 0 or late(1.0):
            run.draws.append(keep(chain, sweep))
        if monitor:
            monitor(streams.chain, sweep, plan, info)
    if not run.draws:
        run.draws.append(keep(chain, sweep))
    release()
    return run


def _subsample(engine: Engine, rows: int, streams: Streams, stage: int) -> Engine:
    if rows >= engine.n_rows:
        return engine
    rng = streams.at(Purpose.SUBSAMPLE, block=stage)
    chosen: NDArray[np.intp] = np.sort(rng.choice(engine.n_rows, rows, replace=False))
    return engine.subset(chosen)


def chains_at_once(n_chains: int, large: bool) -> int:
    """How many chains run side by side on the CPU.

    As many as there are, with one core each, when they fill the cores or when the data is too
    small to keep several cores busy; otherwise one after another on all cores.
    """
    cores = available_cores()
    return min(n_chains, cores) if n_chains >= cores or not large else 1


def run_chains(
    run_one: Callable[[int, threading.Event], Run[D]], n_chains: int, workers: int
) -> tuple[Sequence[Run[D]], bool]:
    """All chains, `workers` of them at once, and whether they were interrupted."""
    stop = threading.Event()
    interrupted = False
    with limited_to(1 if workers > 1 else None), ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(run_one, c, stop) for c in range(n_chains)]
        try:
            while not all(job.done() for job in jobs):
                time.sleep(0.02)
                if any(job.done() and job.exception() for job in jobs):
                    stop.set()
        except KeyboardInterrupt:
            interrupted = True
            stop.set()
        runs = [job.result() for job in jobs]
    return runs, interrupted
