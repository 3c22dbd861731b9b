"""How many threads this library's own loops and products may use.

Either BLAS has all of them, for one task at a time. Or BLAS has one, and tasks side by side have
teams of this library's threads, which share loops and large products: several tasks that call a
BLAS with threads of its own would wait for each other.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import threadpool_info, threadpool_limits

_limit: int | None = None
_local = threading.local()


def available_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def within_limit(cores: int) -> int:
    """So many cores, or those of a limit around this; what tasks side by side have is none."""
    return cores if _limit is None or one_thread_each.busy else min(cores, _limit)


def blas_threads() -> int:
    """Threads that BLAS has: those of the cores, unless somebody wants it to have fewer.

    Processes that work side by side are told so by the variables that BLAS reads.
    """
    libraries = [lib for lib in threadpool_info() if lib["user_api"] == "blas"]
    return min((int(lib["num_threads"]) for lib in libraries), default=1)


def threads() -> int:
    """Threads for one loop, within the present limit; those of the team, if there is one."""
    if (size := team_size()) > 1:
        return size
    return available_cores() if _limit is None else _limit


def team_size() -> int:
    """Threads that share the products of the task in this thread, BLAS having one."""
    size: int = getattr(_local, "team", 1)
    return size


@contextmanager
def team(size: int) -> Iterator[None]:
    """Give what this thread does inside a team; BLAS should be limited to one thread."""
    before, _local.team = team_size(), size
    try:
        yield
    finally:
        _local.team = before


@lru_cache(maxsize=1)
def pool() -> ThreadPoolExecutor:
    """The threads that this library's loops share."""
    return ThreadPoolExecutor(max_workers=available_cores(), thread_name_prefix="banklearn")


if hasattr(os, "register_at_fork"):  # a child has the pool, but none of its threads
    os.register_at_fork(after_in_child=pool.cache_clear)


def in_parts(loop: Callable[..., Any], *arguments: Any, side_by_side: bool = True) -> None:
    """Run loop(*arguments, part, parts) for every part; one part unless side by side."""
    parts = threads() if side_by_side else 1
    at_once(loop, [(*arguments, part, parts) for part in range(parts)])


def at_once(task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> None:
    """Call task(*a) for all a in arguments, the first of them in this thread."""
    if len(arguments) == 1:
        task(*arguments[0])
        return
    mine, jobs = [arguments[0]], []
    try:
        for others in arguments[1:]:
            try:
                jobs.append(pool().submit(task, *others))
            except RuntimeError as error:
                if "cannot schedule new futures" not in str(error):
                    raise
                mine.append(others)  # the main thread has ended, and with it the pool
        with team(1):  # the others are busy
            for own in mine:
                task(*own)
    finally:
        wait(jobs)  # what they write to may be work space that is used again
    for job in jobs:
        job.result()


class _OneEach:
    """A limit of one thread that tasks side by side share: the first sets it, the last lifts it."""

    def __init__(self) -> None:
        self._lock, self._inside, self._limit = threading.Lock(), 0, ExitStack()

    @property
    def busy(self) -> bool:
        """Whether there are such tasks."""
        return self._inside > 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._limit.enter_context(limited_to(1))
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._limit.close()


@contextmanager
def limited_to(count: int | None) -> Iterator[None]:
    """Limit BLAS and this library's loops for all that runs inside; None changes nothing."""
    global _limit
    if count is None:
        yield
        return
    before, _limit = _limit, count
    try:
        with threadpool_limits(limits=count, user_api="blas"):
            yield
    finally:
        _limit = before


#: Around each of several tasks that share a process, each with a thread of its own.
one_thread_each = _OneEach()
