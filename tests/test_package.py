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


def locked(repository: Path, name: str) -> dict[str, set[str]]:
    """Versions by package of one lock, every one of which has hashes."""
    lock = (repository / "requirements" / name).read_text(encoding="utf-8")
    entries = re.findall(r"^([a-z0-9._-]+)==(\S+)[^\n]*\n    --hash=sha256:", lock, re.MULTILINE)
    assert len(entries) == len(re.findall(r"^[a-z]", lock, re.MULTILINE))
    found: dict[str, set[str]] = {}
    for package, version in entries:
        found.setdefault(package, set()).add(version)
    return found


def installs(repository: Path, target: str) -> list[str]:
    """The commands of a target that install something, continued lines joined."""
    makefile = (repository / "Makefile").read_text(encoding="utf-8").replace("\\\n", "")
    recipe = makefile.partition(f"\n{target}:")[2].partition("\n\n")[0]
    return [line for line in recipe.splitlines() if "pip install" in line]


@pytest.mark.parametrize(
    ("name", "extras"), [("dev.lock", ("test", "lint", "docs")), ("trust.lock", ("test", "trust"))]
)
def test_the_locks_hold_all_that_they_are_said_to_hold(repository, name, extras):
    found = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    needed = list(found["project"]["dependencies"])
    for extra in extras:
        needed += found["project"]["optional-dependencies"][extra]
    if name == "dev.lock":
        build = (repository / "requirements" / "build.in").read_text(encoding="utf-8")
        needed += [*found["build-system"]["requires"], "editables", "setuptools"]
        assert {"hatchling", "editables", "setuptools"} == set(
            re.findall(r"^[a-z]+", build, re.MULTILINE)
        )
    names = {re.match(r"[A-Za-z0-9._-]+", word)[0].lower() for word in needed} - {"banklearn"}
    assert names <= set(locked(repository, name))


def test_both_locks_name_the_same_versions(repository):
    first, second = locked(repository, "dev.lock"), locked(repository, "trust.lock")
    shared = set(first) & set(second)
    assert len(shared) > 40
    assert {name for name in shared if not second[name] <= first[name]} == set()


def test_locked_environments_fetch_nothing_without_a_hash(repository):
    first, package = installs(repository, "locked-env")
    assert "--only-binary :all: --require-hashes" in first
    assert "--no-deps --no-build-isolation" in package
    first, tools = installs(repository, ".venv-trust/.locked")
    assert "--only-binary :all: --require-hashes" in first
    assert "--no-build-isolation --require-hashes -r requirements/trust.lock" in tools


def test_an_audit_that_looks_nothing_up_does_not_pass(repository):
    makefile = (repository / "Makefile").read_text(encoding="utf-8")
    assert "-m pip_audit --strict --require-hashes" in makefile.partition("\naudit:")[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("job", ["oldest", "newest", "locked", "audit"])
def test_every_job_has_its_targets(repository, job):
    """`make -n` prints what a job would do, and fails where a target is missing."""
    script = (repository / ".ci" / "run").read_text(encoding="utf-8")
    assert f"#   .ci/run {job} " in script
    for target in (job,) if job == "audit" else (f"{job}-env", job):
        done = subprocess.run(
            ["make", "-n", f"PYTHON={sys.executable}", target],
            cwd=repository,
            capture_output=True,
            text=True,
            check=True,
        )
        assert (".venv-trust" if job == "audit" else f".venv-{job}") in done.stdout


@pytest.mark.parametrize("words", [["nonsense"], ["audit", "twice"], ["oldest-env"]])
def test_unknown_jobs_are_refused(repository, words):
    done = subprocess.run(
        ["bash", str(repository / ".ci" / "run"), *words], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "usage: .ci/run [oldest|newest|locked|audit]" in done.stderr


@pytest.mark.skipif("BANKLEARN_WHEEL" not in os.environ, reason="runs in `make package`")
def test_the_wheel_is_what_is_tested(repository):
    assert repository / "src" not in Path(banklearn.__file__).parents
    files = [str(file) for file in distribution("banklearn").files or []]
    assert "banklearn/cli/app.py" in files
    assert not [name for name in files if name.startswith(("tests", "benchmarks", "src"))]
