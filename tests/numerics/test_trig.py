"""Cosines and sines of the compiled loop against NumPy's."""

import os
import subprocess
import sys

import numpy as np
import pytest

from banklearn.numerics import trig
from banklearn.numerics.threads import limited_to
from helpers import close

EPS = np.finfo(float).eps


def both(U, scale=1.0):
    U = np.atleast_2d(np.asarray(U, dtype=float))
    fast = trig.cos_sin_rows(U, np.full((2 * len(U), U.shape[1]), np.nan), scale)
    plain = trig.cos_sin_rows_numpy(U, np.empty((2 * len(U), U.shape[1])), scale)
    return fast, plain


@pytest.mark.parametrize("largest", [1.0, 10.0, 1e3, 1e5])
def test_accurate_to_a_few_ulp(largest):
    rng = np.random.default_rng(0)
    fast, plain = both(rng.uniform(-largest, largest, (3, 20_001)))
    close(fast, plain, 0, 2 * EPS)
    # Small values keep their relative accuracy too.
    close(fast, plain, 8 * EPS, 4e-17 * max(1.0, largest / 1e3))


def test_accurate_where_quadrants_meet():
    k = np.arange(-2000, 2001)
    U = k * (np.pi / 4)
    near = np.concatenate([U, np.nextafter(U, np.inf), np.nextafter(U, -np.inf)])
    fast, plain = both(near)
    close(fast, plain, 0, 2 * EPS)


def test_accurate_at_zero_and_at_small_angles():
    fast, plain = both([0.0, -0.0, 1e-300, -1e-8, 1e-4])
    close(fast, plain, EPS)


def test_far_out_the_error_is_that_of_the_argument():
    U = np.random.default_rng(1).uniform(1e6, 1e7, (1, 5000))
    fast, plain = both(U)
    close(fast, plain, 0, 1e-9)


@pytest.mark.parametrize("U", [1e12, 1e16, -3e18, 1e100, -1e300])
def test_values_stay_bounded_however_large_the_argument(U):
    fast, _ = both([U, 0.5])
    assert np.all(np.abs(fast) <= 1 + EPS)
    close(np.hypot(fast[0], fast[1]), 1.0, 1e-6)


@pytest.mark.parametrize("n", [1, 7, 64, 1001])
def test_scale_and_row_order(n):
    U = np.random.default_rng(2).normal(size=(4, n))
    fast, plain = both(U, 0.35)
    close(fast, plain, 0, EPS)
    close(fast[2], 0.35 * np.cos(U[1]), 0, EPS)
    close(fast[3], 0.35 * np.sin(U[1]), 0, EPS)


def test_threads_change_no_bit():
    U = np.random.default_rng(3).normal(scale=20, size=(7, 40_000))
    assert U.size > trig._PARALLEL_FROM
    results = []
    for count in (1, 2, 3):
        with limited_to(count):
            results.append(trig.cos_sin_rows(U, np.empty((14, 40_000)), 0.1))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_without_a_compiler_numpy_computes(monkeypatch):
    U = np.random.default_rng(0).uniform(-9, 9, (3, 400))
    expected = trig.cos_sin_rows_numpy(U, np.empty((6, 400)), 0.5)
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    np.testing.assert_array_equal(trig.cos_sin_rows(U, np.empty((6, 400)), 0.5), expected)
    np.testing.assert_allclose(expected[0::2] ** 2 + expected[1::2] ** 2, 0.25)


def test_without_a_compiler_everything_runs_and_gives_the_same():
    script = (
        "import numpy as np, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "from banklearn import BankRegressor\n"
        "from banklearn.numerics import trig\n"
        "X = np.random.default_rng(0).uniform(-2, 2, (40, 2))\n"
        "model = BankRegressor(6, n_chains=1, n_warmup=2, n_draws=2, thin=1, trend='constant',\n"
        "    input_scaling='standard', spectral_scale=0.7, random_state=0)\n"
        "model.fit(X, np.sin(X[:, 0]))\n"
        "print(trig.compiled(), *map(float.hex, model.predict(X)))\n"
    )
    told = []
    for disabled in "01":
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        command = [sys.executable, "-c", script]
        answer = subprocess.run(command, env=environment, capture_output=True, check=True)
        told.append(answer.stdout.decode().split())
    assert [words[0] for words in told] == ["True", "False"]
    fast, plain = ([float.fromhex(word) for word in words[1:]] for words in told)
    close(np.array(fast), np.array(plain), 1e-6, 1e-6)
