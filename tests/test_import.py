"""``import banklearn`` is quick, because nothing heavy is loaded until it is needed."""

import statistics
import subprocess
import sys

import pytest

import banklearn

HEAVY = ("numpy", "scipy", "sklearn", "numba", "matplotlib", "pyarrow", "torch", "typer", "rich")


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_the_package_loads_nothing_heavy():
    loaded = python("import sys, banklearn; print(*{m.split('.')[0] for m in sys.modules})")
    assert not set(loaded.split()) & set(HEAVY)


@pytest.mark.alone
def test_importing_the_package_takes_less_than_half_a_second():
    code = "import time; t = time.process_time(); import banklearn; print(time.process_time() - t)"
    times = [float(python(code)) for _ in range(3)]
    assert statistics.median(times) < 0.5


@pytest.mark.parametrize("name", banklearn.__all__)
def test_every_public_name_is_there(name):
    assert getattr(banklearn, name) is not None
    assert name in dir(banklearn)


def test_optional_packages_are_not_loaded_by_the_estimators():
    loaded = python(
        "import sys; from banklearn import BankRegressor, BankClassifier, BankFeatures\n"
        "print(*{m.split('.')[0] for m in sys.modules})"
    )
    assert not set(loaded.split()) & {"torch", "arviz", "gpytorch", "onnx", "matplotlib", "typer"}
