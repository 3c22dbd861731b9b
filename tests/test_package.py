"""What is installed: the program, its version, the type marker, and nothing of the tests."""

import os
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


@pytest.mark.skipif("BANKLEARN_WHEEL" not in os.environ, reason="runs in `make package`")
def test_the_wheel_is_what_is_tested(repository):
    assert repository / "src" not in Path(banklearn.__file__).parents
    files = [str(file) for file in distribution("banklearn").files or []]
    assert "banklearn/cli/app.py" in files
    assert not [name for name in files if name.startswith(("tests", "benchmarks", "src"))]
