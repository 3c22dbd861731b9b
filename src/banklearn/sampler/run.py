"""Chains: warm-up, thinning, time limits, interruption, resumption, several side by side."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from banklearn.engines.base import Engine
from banklearn.model.joint import State
from banklearn.numerics.row_keys import RowKeys
from banklearn.numerics.scratch import release
from banklearn.numerics.streams import Purpose, Streams
from banklearn.numerics.threads import available_cores, one_thread_each, within_limit
from banklearn.sampler import gradient
from banklearn.sampler.footing import Footing, Kernel
from banklearn.sampler.sweep import Info, Model, Tuning, adapt, entering, settled

D = TypeVar("D")

#: Share of max_time after which warm-up ends, finished or not.
WARMUP_SHARE = 0.6
#: Rows of the subsamples on which warm-up may run: 2500, 5000, ..., 640 000.
SUBSAMPLES = tuple(2500 * 2**k for k in range(9))


@dataclass(frozen=True)
class Plan:
    """How long to run. stages: warm-up on growing subsamples, as (rows, sweeps).

    With `pause`, a chain ends after so many draws, and may go on later up to n_draws.
    """

    n_warmup: int
    n_draws: int
    thin: int = 1
    max_time: float | None = None
    stages: tuple[tuple[int, int], ...] = ()
    pause: int | None = None

    @property
    def n_sweeps(self) -> int:
        """Sweeps in all."""
        return self.n_warmup + self.n_draws * self.thin

    @property
    def sampling(self) -> int:
        """Sweeps of sampling after which a chain ends, or pauses."""
        return self.thin * (self.n_draws if self.pause is None else self.pause)


class Monitor(Protocol):
    """Somebody who watches the chains."""

    def __call__(self, chain: int, sweep: int, plan: Plan, info: Info) -> None:
        """Called after every sweep, from the thread of its chain."""
        ...


@dataclass
class Run(Generic[D]):
    """What a chain leaves behind, and all that it needs to go on from there.

    stage and done say where it stands: sweeps done in a stage of the warm-up, or in sampling,
    which comes after the last stage. sweep is the address of the last sweep's random streams;
    link is the packed chain, where the run was stored; arithmetic is what it goes on in.
    """

    draws: list[D]
    trace: list[Info] = field(default_factory=list)
    warmup: int = 0
    tuning: Tuning = field(default_factory=Tuning)
    cut: str = ""
    stage: int = 0
    done: int = 0
    sweep: int = 0
    link: dict[str, Any] | None = None
    arithmetic: str = "double"


class Bookmark(Protocol[D]):
    """Where a chain's progress is kept, so that another run can go on from it."""

    def load(self) -> Run[D] | None:
        """The stored progress, with its link; None where there is none."""
        ...

    def save(self, run: Run[D], pack: Callable[[], dict[str, Any]], ended: bool) -> None:
        """Called after every sweep, and once when the chain ends; may do nothing."""
        ...


def growing_stages(n_rows: int, n_warmup: int) -> tuple[tuple[int, int], ...]:
    """Warm-up on subsamples that double in size, the last third of the sweeps on all rows.

    A subsample is a tempered posterior: jumps are accepted more often, and cost less. The largest
    must fit in memory; larger ones would gain little.
    """
    sizes = [size for size in SUBSAMPLES if 2 * size <= n_rows]
    if not sizes or n_warmup < 6:
        return ((n_rows, n_warmup),)
    # Sweeps fall with size; what is left goes to all rows.
    weight = 1.0 / np.arange(1, len(sizes) + 1)
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
    bookmark: Bookmark[D] | None = None,
    rows: RowKeys | None = None,
    elapsed: float = 0.0,
) -> Run[D]:
    """Warm up on the stages of the plan, then sample on all rows.

    Subsamples are chosen among rows by their keys; without these, by their places.

    max_time, of which `elapsed` seconds have passed, ends warm-up at 60 % and the chain at 100 %.
    Whatever happens, at least one draw is kept: the last state, if sampling proper never began.
    With a bookmark the chain goes on where it says, as if it had never stopped.
    """
    stop = stop or threading.Event()
    begin = time.monotonic() - elapsed
    at = Footing(kernel, model, streams, engine)
    fresh: Run[D] = Run([], tuning=tuning, arithmetic=at.arithmetic)
    run = (bookmark.load() if bookmark else None) or fresh
    link, run.link, run.cut = run.link, None, ""

    def late(share: float, ahead: float = 0.0) -> bool:
        spent = time.monotonic() - begin + ahead
        return plan.max_time is not None and spent > share * plan.max_time

    def cut() -> None:
        run.cut = run.cut or ("stop" if stop.is_set() else "time")

    def advance(share: float, adapting: bool) -> Info | None:
        """One sweep; None where someone stopped it in its midst.

        Where a trajectory went is told to nobody: it holds on to the work space of its stage.
        """

        def hurried(ahead: float) -> bool:
            if stop.is_set():
                raise gradient.Abandoned
            return late(share, ahead)

        try:
            info = at.step(run.tuning, run.sweep + 1, run.done + 1, hurried)
        except gradient.Abandoned:
            return None
        run.sweep += 1
        run.done += 1
        if adapting:
            run.tuning = adapt(run.tuning, info, run.sweep)
        told = replace(info, flown=None)
        run.trace.append(told)
        return told

    def store(ended: bool) -> None:
        """A stage may begin in another arithmetic than the last sweep had, so it is asked here."""
        run.arithmetic = at.arithmetic
        if bookmark:
            bookmark.save(run, lambda: kernel.pack(at.chain), ended)

    def report(info: Info) -> None:
        store(False)
        if monitor:
            monitor(streams.chain, run.sweep, plan, info)

    stages = plan.stages or ((engine.n_rows, plan.n_warmup),)
    state = start
    for i, (size, sweeps) in enumerate(stages):
        if i < run.stage:
            continue
        if sweeps and (late(WARMUP_SHARE) or stop.is_set()) and link is None:
            cut()
            break
        part = _subsample(engine, size, streams, i, rows)
        if link is not None:
            at.go_on(part, link, run.arithmetic)
            link = None
        else:
            run.stage, run.done = i, 0
            run.tuning = entering(run.tuning, i, whole=part is engine)
            at.begin(part, state, run.sweep)
        # Each stage has its share of the warm-up time, so that all rows are reached.
        share = WARMUP_SHARE * (i + 1) / len(stages)
        while run.done < sweeps:
            if late(share) or stop.is_set() or (info := advance(share, True)) is None:
                cut()
                break
            report(info)
        state = at.chain.state
        if stop.is_set():
            cut()
            break
    if link is not None:
        at.go_on(engine, link, run.arithmetic)
    else:
        if bookmark and stop.is_set():
            if at.chain is not None:
                store(True)
            bookmark = None  # what follows only rounds off what is at hand
        run.warmup = len(run.trace)
        if run.stage < len(stages) - 1 or stages[-1][0] != engine.n_rows:
            run.tuning = entering(run.tuning, len(stages), whole=True)
        run.tuning = settled(run.tuning)
        at.sample(engine, state, run.sweep)
        # Sweeps are numbered as if warm-up had been complete: addresses of streams stay apart.
        run.stage, run.done, run.sweep = len(stages), 0, max(run.sweep, plan.n_warmup)
    while run.done < plan.sampling:
        if stop.is_set() or (run.done and late(1.0)) or (info := advance(1.0, False)) is None:
            cut()
            break
        if run.done % plan.thin == 0:
            run.draws.append(keep(at.chain, run.sweep))
        report(info)
    store(True)
    if not run.draws or (run.cut == "time" and run.done % plan.thin):
        run.draws.append(keep(at.chain, run.sweep))
    release()
    return run


def _subsample(
    engine: Engine, size: int, streams: Streams, stage: int, rows: RowKeys | None
) -> Engine:
    if size >= engine.n_rows:
        return engine
    rng = streams.at(Purpose.SUBSAMPLE, block=stage)
    if rows is not None:
        return engine.subset(rows.choose(size, rng))
    return engine.subset(np.sort(rng.choice(engine.n_rows, size, replace=False)))


def chains_at_once(n_chains: int, large: bool) -> int:
    """How many chains run side by side on the CPU.

    As many as there are, each with its share of the cores; one after another on all cores where
    that would leave some of these idle and the data is large enough to keep them busy.
    """
    cores = within_limit(available_cores())
    idle = n_chains < cores < 2 * n_chains
    return 1 if idle and large else min(n_chains, cores)


def run_chains(
    run_one: Callable[[int, threading.Event], Run[D]],
    n_chains: int,
    workers: int,
    one_core_each: bool,
) -> tuple[Sequence[Run[D]], bool]:
    """All chains, `workers` of them at once, and whether they were interrupted."""
    stop = threading.Event()
    interrupted = False
    one_core_each = one_core_each and workers > 1
    limit = one_thread_each() if one_core_each else nullcontext()  # fits may overlap
    with limit, ThreadPoolExecutor(workers) as pool:
        jobs: list[Future[Run[D]]] = []

        def begin() -> None:
            while len(jobs) < n_chains:
                jobs.append(pool.submit(run_one, len(jobs), stop))

        try:
            begin()
            # A limited wait, so that Ctrl-C is noticed; a chain that fails ends it at once.
            while wait(jobs, timeout=0.1, return_when=FIRST_EXCEPTION).not_done:
                if any(job.done() and job.exception() for job in jobs):
                    stop.set()
                    wait(jobs)
        except KeyboardInterrupt:
            interrupted = True
            stop.set()
            begin()  # chains that had not begun leave their first draw
        runs = [job.result() for job in jobs]
    return runs, interrupted
