"""Run tests on copies of the tree in which one file has been changed, several at once."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import json
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from functools import cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
#: The folders that a changed tree has (a virtual environment may lie beside them).
COPIED = ("src", "tests", "benchmarks")
#: Imported once, before processes are forked: what takes longest to import.
HEAVY = ("numpy", "scipy.stats", "scipy.linalg", "numba", "sklearn.base", "pandas", "pytest")
#: A change that makes the tests take more seconds of processor time has been noticed.
SECONDS = 150
#: What is said of a change that ended, or outlasted, the process of its tests.
DIED = "the process died or ran out of time"
#: How an answer begins that says nothing about the tests.
BROKEN = "pytest ended"


class Job(NamedTuple):
    """Tests to run on a tree where `file` of the package holds `text`; no file: unchanged."""

    label: str
    tests: tuple[str, ...]
    file: str = ""
    text: str = ""


class Result(NamedTuple):
    """The test that failed first (nothing: all passed), and the seconds it took."""

    job: Job
    caught_by: str
    seconds: float


@cache
def _tree() -> bytes:
    files = [f for name in ("src", "tests") for f in sorted((ROOT / name).rglob("*.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).digest()


def digest(job: Job) -> str:
    """A job's name in a record: it changes with the package, with the tests, with the change."""
    text = "\0".join((job.label, *job.tests, job.file, job.text))
    return hashlib.sha256(_tree() + text.encode()).hexdigest()[:16]


def read_record(path: Path | None) -> dict[str, dict[str, Any]]:
    """Outcomes by name; the last one counts, and one that was cut is left out."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[row["name"]] = row
    return found


def add_to_record(path: Path | None, row: dict[str, Any]) -> None:
    """One more outcome, as a line of JSON."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def part_of(text: str) -> tuple[int, int]:
    """ "1/3" is the first of three parts, which several machines share."""
    one, _, of = text.partition("/")
    if not (one.isdigit() and of.isdigit() and 1 <= int(one) <= int(of)):
        raise ValueError(f"A part is written like 1/3, not {text!r}.")
    return int(one), int(of)


def processor_minutes() -> float:
    """What the processes that have ended took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) / 60.0


class FirstFailure:
    """A pytest plugin that remembers the first failure."""

    def __init__(self) -> None:
        self.name = ""

    def pytest_runtest_logreport(self, report: object) -> None:
        if getattr(report, "failed", False) and not self.name:
            self.name = str(getattr(report, "nodeid", ""))

    def pytest_collectreport(self, report: object) -> None:
        self.pytest_runtest_logreport(report)


def _run_tests(root: Path, tests: Iterable[str]) -> str:
    """Run tests of a tree in this process; the first failure, or nothing."""
    import pytest

    os.chdir(root)
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.path.insert(0, str(root / "src"))
    sys.dont_write_bytecode = True
    ours = tuple(str(ROOT / name) + os.sep for name in COPIED)
    for name, module in list(sys.modules.items()):  # whatever was imported from the tree itself
        if str(getattr(module, "__file__", None) or "").startswith(ours):
            del sys.modules[name]
    plugin = FirstFailure()
    arguments = ["-x", "-q", "-p", "no:cacheprovider", "--rootdir", str(root), *tests]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = pytest.main(arguments, plugins=[plugin])
    if code not in (0, 1) and not plugin.name:
        return f"{BROKEN} with status {int(code)}"
    return plugin.name


def _child(root: Path, job: Job, answer: Connection, seconds: int) -> None:
    # Processor time, so that a busy machine proves nothing; the alarm is for what only waits.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    signal.alarm(20 * seconds)
    if job.file:
        (root / "src" / "banklearn" / job.file).write_text(job.text, encoding="utf-8")
    answer.send(_run_tests(root, job.tests))
    answer.close()


def _copy_tree(folder: str) -> Path:
    root = Path(folder) / "tree"
    # Compiled loops (and their time stamps) come along: only a changed file compiles again.
    skip = shutil.ignore_patterns("*.pyc", "results", ".cache")
    for name in COPIED:
        shutil.copytree(ROOT / name, root / name, ignore=skip)
    shutil.copy2(ROOT / "pyproject.toml", root)
    return root


def _warm() -> None:
    """Import what takes long, and wake Numba: processes that are forked then start with it."""
    for name in HEAVY:
        importlib.import_module(name)
    sys.path.insert(0, str(ROOT / "src"))
    importlib.import_module("banklearn.sampler.run")
    compiled = importlib.import_module("banklearn.numerics._compiled")
    compiled.mirror_lower(importlib.import_module("numpy").eye(2))


def _compile() -> None:
    """Compile every loop once: copies of the tree bring the compiled code along."""
    command = "import master_seeds; master_seeds.warm()"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["benchmarks", *sys.path])}
    subprocess.run([sys.executable, "-c", command], cwd=ROOT, env=environment, check=True)


def run_jobs(
    jobs: Iterable[Job], at_once: int, seconds: int = SECONDS, deadline: float = float("inf")
) -> Iterator[Result]:
    """Results as they come, `at_once` processes at work; none begins after the deadline."""
    if at_once > 1:
        _compile()
    _warm()
    context = multiprocessing.get_context("fork")
    waiting = list(jobs)[::-1]
    active: dict[Connection, tuple[Job, multiprocessing.process.BaseProcess, str, float]] = {}
    while waiting or active:
        if time.monotonic() > deadline:
            waiting.clear()
        while waiting and len(active) < at_once:
            job = waiting.pop()
            folder = tempfile.mkdtemp(prefix="planted-")
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_child, args=(_copy_tree(folder), job, there, seconds))
            process.start()
            there.close()
            active[here] = (job, process, folder, time.monotonic())
        for here in wait(list(active)) if active else ():  # nothing to wait for: time was up
            assert isinstance(here, Connection)
            job, process, folder, begin = active.pop(here)
            try:
                name = here.recv()
            except EOFError:
                name = DIED
            process.join()
            if name.startswith(BROKEN):
                raise RuntimeError(f"{job.label}: {name}; the tests could not be run.")
            shutil.rmtree(folder, ignore_errors=True)
            yield Result(job, name, time.monotonic() - begin)
