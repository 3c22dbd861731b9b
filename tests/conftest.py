"""Fixtures and rules that hold for every test."""

import importlib.util
import os
import shutil
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import side_by_side

os.environ.setdefault("MPLBACKEND", "Agg")  # tests draw without a display

# No deadline: the first call of a compiled function is slow. Derandomised: a run can be repeated.
settings.register_profile("banklearn", deadline=None, derandomize=True)
# `make campaign`: other examples every time; a failure prints how to repeat it.
settings.register_profile("campaign", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("BANKLEARN_PROFILE", "banklearn"))

# Shells let what runs in the background ignore Ctrl-C; tests of interruption need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SEEDS = [int(word) for word in os.environ.get("BANKLEARN_SEEDS", "0").split()]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The seed of all random numbers in the statistical tests."""
    parser.addoption("--master-seed", type=int, default=0, help="seed of the statistical tests")


def pytest_configure(config: pytest.Config) -> None:
    """Get ready for tests in several processes."""
    side_by_side.prepare(config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """What ``-n auto`` means."""
    return side_by_side.processes()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process where the locks are that it shares with the others."""
    node.workerinput[side_by_side.ROOM] = side_by_side.make_room(node.config)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # so that waiting is no part of a test's time limit
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Tests that are marked so run alone."""
    with side_by_side.in_room(item):
        return (yield)


@pytest.fixture(scope="session")
def master_seed(request: pytest.FixtureRequest) -> int:
    """What --master-seed says."""
    return int(request.config.getoption("--master-seed"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `seed` once per seed in BANKLEARN_SEEDS."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", SEEDS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what this machine cannot run, and say why."""
    reasons = {
        "needs_data": data_missing(),
        "browser": browser_missing(),
        "torch": None if importlib.util.find_spec("torch") else "PyTorch is not installed",
    }
    for item in items:
        for marker, reason in reasons.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def browser_missing() -> str | None:
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed"
    if chromium() is None:
        return "no chromium was found on the path; CHROMIUM may name one"
    return None


def chromium() -> str | None:
    """The browser to drive: that of CHROMIUM, or Debian's."""
    named = os.environ.get("CHROMIUM")
    return shutil.which(named) if named else shutil.which("chromium") or shutil.which("chrome")


def data_missing() -> str | None:
    folder = os.environ.get("BANKLEARN_DATA")
    if not folder:
        return "BANKLEARN_DATA is not set; it names the folder of the paper's datasets"
    if not Path(folder).is_dir():
        return f"BANKLEARN_DATA is {folder!r}, which is not a folder"
    return None


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium."""
    if reason := browser_missing():
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Containers often lack what the sandbox needs, and the pages are our own.
        one = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield one
        one.close()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the paper's datasets, for tests marked needs_data."""
    if reason := data_missing():
        pytest.skip(reason)
    return Path(os.environ["BANKLEARN_DATA"])
