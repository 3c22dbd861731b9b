"""Chains spread over a Dask cluster whose workers all hold the rows: for data that is small.

A chain runs in legs of a few seconds. Each is one task, which takes the chain where the leg before
left it and brings it back, as a checkpoint would: progress is seen, an interrupt is heard and a
checkpoint is written between legs, and a lost worker costs one leg.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from banklearn.engines.dask import PATIENCE, ClusterError, LostWorkError, result, wait_for_workers
from banklearn.engines.memory import MemoryEngine
from banklearn.numerics.row_keys import RowKeys
from banklearn.numerics.threads import one_thread_each
from banklearn.posterior.draws import Draw
from banklearn.sampler.job import Job
from banklearn.sampler.run import Bookmark, Monitor, Run

#: Seconds of a leg; at least one sweep is made in each.
LEG = 2.0
#: How often rows are sent anew after all workers that held them were lost.
ATTEMPTS = 5

Rows = tuple[MemoryEngine, RowKeys]


class Spread:
    """The rows of one fit on every worker of a cluster."""

    def __init__(
        self, client: Any, engine: MemoryEngine, keys: RowKeys, patience: float = PATIENCE
    ) -> None:
        self.client, self.patience = client, patience
        self._rows: Rows = (engine, keys)
        self._lock = threading.Lock()
        self._sent = self._send()

    def run(
        self,
        job: Job[Draw],
        monitor: Monitor,
        stop: threading.Event,
        bookmark: Bookmark[Draw] | None,
    ) -> Run[Draw]:
        """One chain, leg after leg."""
        begin = time.monotonic()
        run = bookmark.load() if bookmark else None
        told = len(run.trace) if run else 0
        ended = False
        while not ended:
            last = stop.is_set()
            ended, run, stored = self._leg(job, run, time.monotonic() - begin, last)
            fresh = run.trace[told:]
            told = len(run.trace)
            if bookmark and stored is not None:
                bookmark.save(stored, _packed(stored), ended)
            for ago, info in zip(range(len(fresh) - 1, -1, -1), fresh, strict=True):
                monitor(job.streams.chain, run.sweep - ago, job.plan, info)
        assert run is not None
        return run

    def _leg(
        self, job: Job[Draw], run: Run[Draw] | None, elapsed: float, last: bool
    ) -> tuple[bool, Run[Draw], Run[Draw] | None]:
        for _ in range(ATTEMPTS):
            sent = self._sent
            task = self.client.submit(
                leg, sent, job, run, elapsed, 0.0 if last else LEG, last, pure=False
            )
            try:
                found: tuple[bool, Run[Draw], Run[Draw] | None]
                found = result(self.client, task, self.patience)
                return found
            except LostWorkError:
                with self._lock:
                    if self._sent is sent:
                        self._sent = self._send()
        raise ClusterError(
            f"All workers that held the rows were lost {ATTEMPTS} times. Workers usually die when "
            "they run out of memory; give them more."
        )

    def _send(self) -> Any:
        """The rows to every worker; anew where one is lost while it receives them."""
        from distributed.comm import CommClosedError

        for _ in range(ATTEMPTS):
            wait_for_workers(self.client, self.patience)
            try:
                return self.client.scatter(self._rows, broadcast=True, hash=False)
            except (CommClosedError, TimeoutError) as error:
                lost = error
        raise ClusterError(
            f"Workers were lost {ATTEMPTS} times while the rows were sent to them. Workers usually "
            "die when they run out of memory; give them more."
        ) from lost


class _LegOver(Exception):  # noqa: N818 (nothing went wrong)
    """Leaves a chain in the middle, with all that it needs to go on."""

    def __init__(self, run: Run[Draw]) -> None:
        self.run = run


class _Leg:
    """A bookmark (:class:`banklearn.sampler.run.Bookmark`) that ends a leg when its time is up."""

    def __init__(self, run: Run[Draw] | None, last_sweep: int, seconds: float) -> None:
        self.run, self.last_sweep = run, last_sweep
        self.end = time.monotonic() + seconds
        self.stored: Run[Draw] | None = None

    def load(self) -> Run[Draw] | None:
        """Where the leg begins."""
        return self.run

    def save(self, run: Run[Draw], pack: Callable[[], dict[str, Any]], ended: bool) -> None:
        """Leave here, unless this sweep was the last anyway."""
        if ended:
            self.stored = replace(run, draws=list(run.draws), trace=list(run.trace), link=pack())
        elif time.monotonic() >= self.end and run.sweep < self.last_sweep:
            raise _LegOver(replace(run, link=pack()))


def leg(
    rows: Rows, job: Job[Draw], run: Run[Draw] | None, elapsed: float, seconds: float, last: bool
) -> tuple[bool, Run[Draw], Run[Draw] | None]:
    """On a worker: whether the chain has ended, where it stands, and what to store of it.

    With `last`, only round off what is there.
    """
    stop = threading.Event()
    if last:
        stop.set()
    mark = _Leg(run, job.plan.n_warmup + job.plan.sampling, seconds)
    with one_thread_each():  # the threads of a worker are for tasks
        try:
            return True, job.run(*rows, None, stop, mark, elapsed), mark.stored
        except _LegOver as over:
            return False, over.run, over.run


def _packed(run: Run[Draw]) -> Callable[[], dict[str, Any]]:
    def pack() -> dict[str, Any]:
        assert run.link is not None
        return run.link

    return pack
