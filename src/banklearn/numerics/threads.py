"""How many threads this library's own loops may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

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
