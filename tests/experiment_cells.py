"""Functions that cells of the tests call."""

from __future__ import annotations

import os
import time
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


def attach(text: str) -> dict[str, Any]:
    return {"value": 1, "files": {".txt": lambda path: path.write_text(text)}}


def nap(seconds: float) -> dict[str, Any]:
    time.sleep(seconds)
    return {"value": 1}
