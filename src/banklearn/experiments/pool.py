"""Run cells, one after another or in processes that own their cores; what is known is not run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from banklearn.experiments.cells import Cell, Record, compute, read
from banklearn.experiments.options import Options
from banklearn.experiments.progress import Progress
from banklearn.numerics.threads import available_cores, limited_to

#: What the libraries below read when they are loaded.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


#: Seconds that a cell of bounded time may need beyond its bound: to start a process, to read the
#: data, to compile, to score.
MARGIN = 60.0


@dataclass
class Outcome:
    """Records by cell key, what went wrong with cells that have none, and what was not begun."""

    records: dict[str, Record] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    left: list[Cell] = field(default_factory=list)


def run_cells(
    cells: Sequence[Cell],
    folder: Path,
    jobs: int = 1,
    cores_per_job: int = 2,
    quiet: bool = False,
    within: float | None = None,
) -> Outcome:
    """Measure every cell that has no record yet, dearest first, and return all records.

    ``within`` seconds everything ends: a cell that would take longer than what is left is not
    begun (one that does not say how long it takes is), and one that still runs then is given up.
    The same call with more time goes on from there.

    With ``jobs`` = 1 they run in this process, on at most ``cores_per_job`` threads (and never on
    more than there are cores: BLAS threads that share one wait for each other); otherwise in
    that many processes, each pinned to ``cores_per_job`` cores that no other one uses. A cell
    that fails does not stop the others; it is tried again the next time.
    """
    if jobs < 1 or cores_per_job < 1:
        raise ValueError(
            f"jobs and cores_per_job must be at least 1, but are {jobs} and {cores_per_job}."
        )
    slots = core_slots(jobs, cores_per_job) if jobs > 1 or within is not None else []
    deadline = float("inf") if within is None else time.monotonic() + within
    outcome = Outcome()
    left: list[Cell] = []
    for cell in {c.key: c for c in cells}.values():
        if (record := read(cell, folder)) is not None:
            outcome.records[cell.key] = record
        else:
            left.append(cell)
    left.sort(key=lambda cell: -cell.cost)
    with Progress(len(outcome.records), len(outcome.records) + len(left), quiet) as progress:
        if not slots:
            for cell in left:
                progress.began(cell.label)
                with limited_to(min(cores_per_job, available_cores())):
                    problem = attempt(cell, folder)
                _note(outcome, progress, cell, folder, problem)
        elif left:
            for cell, problem in _in_processes(left, folder, slots, progress.began, deadline):
                _note(outcome, progress, cell, folder, problem)
    seen = outcome.records.keys() | outcome.failures.keys()
    outcome.left = [cell for cell in left if cell.key not in seen]
    return outcome


def measure_all(cells: Sequence[Cell], options: Options) -> Outcome:
    """Measure as the options of an experiment say."""
    return run_cells(
        cells, options.cells, options.jobs, options.cores_per_job, options.quiet, options.within
    )


def _note(
    outcome: Outcome, progress: Progress, cell: Cell, folder: Path, problem: str | None
) -> None:
    record = read(cell, folder) if problem is None else None
    if record is not None:
        outcome.records[cell.key] = record
    else:
        outcome.failures[cell.key] = problem or "no record was written"
    progress.ended(cell.label, problem)


def attempt(cell: Cell, folder: Path) -> str | None:
    """Compute a cell; a problem comes back as text."""
    try:
        compute(cell, folder)
    except Exception:
        return traceback.format_exc()
    return None


def core_slots(jobs: int, cores_per_job: int) -> list[set[int]]:
    """Disjoint sets of cores, one per job; empty sets where the system cannot pin processes."""
    if not hasattr(os, "sched_getaffinity"):
        return [set() for _ in range(jobs)]
    cores = sorted(os.sched_getaffinity(0))
    if jobs * cores_per_job > len(cores):
        raise ValueError(
            f"{jobs} jobs of {cores_per_job} cores need {jobs * cores_per_job} cores, but this "
            f"process may use {len(cores)}; ask for fewer jobs or cores_per_job=1."
        )
    return [set(cores[i * cores_per_job : (i + 1) * cores_per_job]) for i in range(jobs)]


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    slot: set[int]
    cell: Cell


def _in_processes(
    left: list[Cell],
    folder: Path,
    slots: list[set[int]],
    began: Callable[[str], None],
    deadline: float = float("inf"),
) -> Iterator[tuple[Cell, str | None]]:
    """Each cell with its problem or None, as they end."""
    waiting = list(left)
    workers: list[_Worker] = []
    try:
        for slot in slots:
            if (cell := _next(waiting, deadline)) is not None:
                workers.append(_start(slot, cell, folder))
                began(cell.label)
        while workers:
            by_pipe = {worker.pipe: worker for worker in workers}
            seconds = max(deadline - time.monotonic(), 0.0)
            ready = wait(list(by_pipe), None if seconds == float("inf") else seconds)
            if not ready:
                return  # time is up
            for pipe in ready:
                worker = by_pipe[pipe]  # type: ignore[index]  # wait returns what it was given
                done = worker.cell
                try:
                    problem, alive = worker.pipe.recv(), True
                except EOFError:  # killed, by the system for its memory or by somebody
                    worker.process.join()
                    problem = f"its process ended with exit code {worker.process.exitcode}"
                    alive = False
                workers.remove(worker)
                if (cell := _next(waiting, deadline)) is not None:
                    if alive:
                        worker.pipe.send((cell, folder))
                        worker.cell = cell
                        workers.append(worker)
                    else:
                        workers.append(_start(worker.slot, cell, folder))
                    began(cell.label)
                elif alive:
                    worker.pipe.send(None)
                    worker.process.join()
                yield done, problem
    finally:
        for worker in workers:
            worker.process.terminate()
            worker.process.join()


def _next(waiting: list[Cell], deadline: float) -> Cell | None:
    """Take the first cell that can end in time, or that does not say how long it takes."""
    seconds = deadline - time.monotonic()
    for i, cell in enumerate(waiting):
        if seconds > (0.0 if cell.at_most is None else cell.at_most + MARGIN):
            return waiting.pop(i)
    return None


def _start(slot: set[int], cell: Cell, folder: Path) -> _Worker:
    """A fresh process on its cores. It inherits both from here: its libraries start their threads
    while they are loaded, before any code of its own runs."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=work, args=(there, len(slot)), daemon=True)
    with _pinned(slot), _threads(len(slot)):
        process.start()
    there.close()
    here.send((cell, folder))
    return _Worker(process, here, slot, cell)


def work(pipe: Connection, threads: int) -> None:
    """Compute the cells that come through the pipe until None comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent answers an interrupt, and ends us
    with limited_to(threads or None):
        while (job := pipe.recv()) is not None:
            pipe.send(attempt(*job))


@contextmanager
def _pinned(slot: set[int]) -> Iterator[None]:
    if not slot:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, slot)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    if count:
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(count)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
