"""How many threads this library's own loops may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import threadpool_limits

_limit: int | None = None


def available_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads() -> int:
    """Threads for one loop, within the present limit."""
    return available_cores() if _limit is None else _limit


@lru_cache(maxsize=1)
def pool() -> ThreadPoolExecutor:
    """The threads that this library's loops share."""
    return ThreadPoolExecutor(max_workers=available_cores(), thread_name_prefix="banklearn")


def in_parts(loop: Callable[..., Any], *arguments: Any, side_by_side: bool = True) -> None:
    """Run loop(*arguments, part, parts) for every part; one part unless side by side."""
    parts = threads() if side_by_side else 1
    jobs = [pool().submit(loop, *arguments, part, parts) for part in range(1, parts)]
    loop(*arguments, 0, parts)
    for job in jobs:
        job.result()


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
