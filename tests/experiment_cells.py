"""Functions that cells of the tests call."""

from __future__ import annotations

import os
from typing import Any

RUNNERS = "experiment_cells"


def double(x: int) -> dict[str, Any]:
    return {"value": 2 * x}


def fail(x: int) -> dict[str, Any]:
    raise RuntimeError("planted")


def where(x: int) -> dict[str, Any]:
    return {"cores_seen": sorted(os.sched_getaffinity(0)), "threads": os.environ["OMP_NUM_THREADS"]}


def crash(x: int) -> dict[str, Any]:
    os._exit(7)
