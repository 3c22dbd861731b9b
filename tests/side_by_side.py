"""Tests in several processes (``pytest -n``): what the processes share, and what they must not.

``make test`` starts one process for each core. Each has one thread for linear algebra, as several
times as many threads as cores would wait for each other, and compiled code of its own, as Numba's
cache may mix up two functions that two processes write at once. A test marked ``alone`` measures
time or wants all cores: it waits until the other processes have ended theirs, and they wait for it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

MOST = 8  # processes; each holds about a gigabyte
LIBRARIES = ("OPENBLAS", "OMP", "MKL", "NUMBA")
ROOM = "banklearn_room"  # the name under which a process is told the folder of the locks


def processes() -> int | None:
    """How many processes ``-n auto`` means; None leaves it to xdist's environment variable."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    if hasattr(os, "sched_getaffinity"):
        return min(MOST, len(os.sched_getaffinity(0)))
    return min(MOST, os.cpu_count() or 1)


def prepare(config: pytest.Config) -> None:
    """Limit threads before the processes start, and give each its own folder of compiled code."""
    if config.getoption("numprocesses", None):
        for library in LIBRARIES:
            os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    if (told := _told(config)) is not None:
        shared = os.environ.get("NUMBA_CACHE_DIR", config.rootpath / ".pytest_cache" / "numba")
        os.environ["NUMBA_CACHE_DIR"] = str(Path(shared) / told["workerid"])


def make_room(config: pytest.Config) -> str:
    """A folder for the locks of this run, removed at its end."""
    folder = config.stash.get(_FOLDER, None)
    if folder is None:
        folder = config.stash[_FOLDER] = tempfile.mkdtemp(prefix="banklearn-tests-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    return folder


@contextmanager
def in_room(item: pytest.Item) -> Iterator[None]:
    """Run a test beside those of other processes, or by itself where it is marked ``alone``."""
    told = _told(item.config)
    if told is None:
        yield
        return
    with lock(Path(told[ROOM]), alone=item.get_closest_marker("alone") is not None):
        yield


@contextmanager
def lock(folder: Path, alone: bool) -> Iterator[None]:
    """Hold the room, with others or alone; who waits to be alone keeps newcomers at the door."""
    import fcntl

    with open(folder / "door", "a+b") as door, open(folder / "room", "a+b") as room:
        fcntl.lockf(door, fcntl.LOCK_EX)
        fcntl.lockf(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.lockf(door, fcntl.LOCK_UN)
        yield


_FOLDER = pytest.StashKey[str]()


def _told(config: pytest.Config) -> dict[str, Any] | None:
    """What the first process told this one; None where this is the first."""
    return getattr(config, "workerinput", None)
