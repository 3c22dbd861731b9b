"""Tests in several processes: side by side unless marked ``alone``, threads and caches apart."""

import json
import os
import shutil
import subprocess
import sys

import pytest

import side_by_side

INI = """\
[pytest]
pythonpath = .
markers =
    alone: measures time
"""

# Each of two tests ends only when the other has begun; all say which others are at work.
TESTS = """\
import json, os, time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
AT_WORK = HERE / "at_work"


def begin(name):
    AT_WORK.mkdir(exist_ok=True)
    (AT_WORK / name).touch()


def end(name):
    names = [p for p in os.environ if p.endswith("_NUM_THREADS") or p == "NUMBA_CACHE_DIR"]
    seen = {p: os.environ[p] for p in names}
    others = [p.name for p in AT_WORK.iterdir() if p.name != name]
    (HERE / f"{name}.json").write_text(json.dumps({"environment": seen, "others": others}))
    (AT_WORK / name).unlink()


MORE = [f"{kind}-{i}" for i in range(4) for kind in ("by_itself", "ordinary")]


# The first process begins with "one", the second with "two".
@pytest.mark.parametrize("name", ["one", *MORE[:4], "two", *MORE[4:]])
def test_some(name):
    begin(name)
    other = {"one": "two", "two": "one"}.get(name)
    last = time.monotonic() + 60
    while other and not ((AT_WORK / other).exists() or (HERE / f"{other}.json").exists()):
        assert time.monotonic() < last, "the other process has not begun"
        time.sleep(0.01)
    time.sleep(0.1)
    end(name)
"""
MARKING = """

def pytest_itemcollected(item):
    if "by_itself" in item.name:
        item.add_marker("alone")
"""


@pytest.fixture(scope="module")
def seen(repository, tmp_path_factory):
    """What ten tests in two processes, under the rules of this folder, saw of each other."""
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(repository / "tests" / "side_by_side.py", folder)
    rules = (repository / "tests" / "conftest.py").read_text(encoding="utf-8")
    (folder / "conftest.py").write_text(rules + MARKING, encoding="utf-8")
    (folder / "pytest.ini").write_text(INI)
    (folder / "test_some.py").write_text(TESTS)
    limits = [f"{name}_NUM_THREADS" for name in side_by_side.LIBRARIES]
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in (*limits, "NUMBA_CACHE_DIR") and not name.startswith("PYTEST_")
    }
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", str(folder)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 passed" in done.stdout
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


def test_processes_work_side_by_side(seen):
    assert len(seen) == 10
    assert seen["one"]["others"] or seen["two"]["others"]


def test_a_test_marked_alone_is_alone(seen):
    marked = [found["others"] for name, found in seen.items() if name.startswith("by_itself")]
    assert marked == [[]] * 4


def test_each_process_has_one_thread_and_compiled_code_of_its_own(seen):
    environments = [found["environment"] for found in seen.values()]
    for name in side_by_side.LIBRARIES:
        assert {found[f"{name}_NUM_THREADS"] for found in environments} == {"1"}
    assert len({found["NUMBA_CACHE_DIR"] for found in environments}) == 2


def test_there_are_as_many_processes_as_cores_but_not_too_many(monkeypatch):
    monkeypatch.delenv("PYTEST_XDIST_AUTO_NUM_WORKERS", raising=False)
    for cores, wanted in ((1, 1), (2, 2), (64, side_by_side.MOST)):
        monkeypatch.setattr(
            os, "sched_getaffinity", lambda _, n=cores: set(range(n)), raising=False
        )
        assert side_by_side.processes() == wanted
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "3")
    assert side_by_side.processes() is None
