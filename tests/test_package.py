"""What is installed: the program, its version, the type marker, and nothing of the tests."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

import banklearn


@pytest.fixture
def installed():
    try:
        return distribution("banklearn")
    except PackageNotFoundError:
        pytest.skip("banklearn is not installed, only on the path")


def project(repository: Path):
    return tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_program_is_installed(installed, repository):
    scripts = {e.name: e.value for e in installed.entry_points if e.group == "console_scripts"}
    if scripts != project(repository)["scripts"] and "BANKLEARN_WHEEL" not in os.environ:
        pytest.skip("what is installed is older than this checkout; install it again")
    assert scripts == {"bank": "banklearn.cli.app:main"}
    program = shutil.which("bank", path=str(Path(sys.executable).parent))
    assert program is not None
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"banklearn {banklearn.__version__}\n"


def test_the_extras_are_complete(repository):
    optional = project(repository)["optional-dependencies"]
    (everything,) = optional["all"]
    inside = everything.removeprefix("banklearn[").removesuffix("]").split(",")
    assert set(inside) == set(optional) - {"all"}


def test_the_lock_holds_all_that_it_is_said_to_hold(repository):
    """Dependencies, three extras and the build backend, with hashes; `make locked` uses them."""
    found = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    optional = found["project"]["optional-dependencies"]
    needed = [*found["build-system"]["requires"], "editables", *found["project"]["dependencies"]]
    for extra in ("test", "lint", "docs"):
        needed += optional[extra]
    names = {re.match(r"[A-Za-z0-9._-]+", word)[0].lower() for word in needed} - {"banklearn"}
    lock = (repository / "requirements" / "dev.lock").read_text(encoding="utf-8")
    entries = re.findall(r"^([a-z0-9._-]+)==[^\n]*\n    --hash=sha256:", lock, re.MULTILINE)
    assert names <= set(entries)
    assert len(entries) == len(re.findall(r"^[a-z]", lock, re.MULTILINE))
    recipe = (repository / "Makefile").read_text(encoding="utf-8").partition("\nlocked:")[2]
    recipe = recipe.partition("\n\n")[0]
    installs = [line for line in recipe.splitlines() if "pip install" in line]
    assert len(installs) == 2
    assert "--only-binary :all: --require-hashes" in installs[0]
    assert "--no-deps --no-build-isolation" in installs[1]


@pytest.mark.skipif("BANKLEARN_WHEEL" not in os.environ, reason="runs in `make package`")
def test_the_wheel_is_what_is_tested(repository):
    assert repository / "src" not in Path(banklearn.__file__).parents
    files = [str(file) for file in distribution("banklearn").files or []]
    assert "banklearn/cli/app.py" in files
    assert not [name for name in files if name.startswith(("tests", "benchmarks", "src"))]
