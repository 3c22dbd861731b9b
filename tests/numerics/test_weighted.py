"""A row of weight w counts as w rows in moments and medians too."""

import numpy as np
import pytest

from banklearn.numerics.weighted import mean_and_std, median
from helpers import close


@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_weights_are_repetitions(n):
    rng = np.random.default_rng(n)
    A, w = rng.standard_normal((n, 3)), rng.integers(1, 5, n)
    repeated = A.repeat(w, axis=0)
    for statistic in (mean_and_std, lambda A, w: (median(A, w),)):
        for left, right in zip(
            statistic(A, w.astype(float)), statistic(repeated, None), strict=True
        ):
            close(left, right, 1e-12, 1e-14)


def test_moments_are_those_of_numpy():
    A = np.random.default_rng(0).standard_normal((50, 2)) * [1e-8, 1e6] + [3.0, -1.0]
    mean, std = mean_and_std(A, None)
    close(mean, A.mean(axis=0), 1e-12)
    close(std, A.std(axis=0), 1e-7)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_moments_neither_overflow_nor_underflow(size):
    A = size * np.array([[1.0], [2.0], [4.0]])
    mean, std = mean_and_std(A, None)
    close(mean / size, 7 / 3, 1e-12)
    close(std / size, np.std([1, 2, 4]), 1e-12)


def test_a_median_of_an_odd_number_is_the_middle():
    A = np.array([[5.0], [1.0], [3.0]])
    assert median(A, None)[0] == 3.0
    assert median(A, np.array([5.0, 1.0, 1.0]))[0] == 5.0


def test_moments_have_the_same_bits_in_either_order(seed):
    A = np.random.default_rng(seed).standard_normal((37, 4))
    for one, other in zip(
        mean_and_std(A, None), mean_and_std(np.asfortranarray(A), None), strict=True
    ):
        np.testing.assert_array_equal(one, other)
