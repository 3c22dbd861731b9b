"""Polya-Gamma draws have the law they should, at every shape and tilt."""

import numpy as np
import pytest
from scipy.special import log_expit
from scipy.stats import norm

from banklearn.numerics.polya_gamma import FAR, draw_polya_gamma
from helpers import FALSE_ALARM, close

N = 20_000


def log_cosh(x):
    return x - log_expit(2 * x) - np.log(2)


def log_transform(s, b, z):
    """log E exp(-s w) for w ~ PG(b, z)."""
    return b * (log_cosh(z / 2) - log_cosh(np.sqrt(z**2 / 4 + s / 2)))


def moments(b, z):
    """Mean and variance, from derivatives of the logarithm of cosh."""
    if z < 1e-3:
        return b / 4, b / 24
    t = np.tanh(z / 2)
    return b * t / (2 * z), b * (2 * t - z * (1 - t**2)) / (4 * z**3)


@pytest.mark.parametrize("z", [0.0, 0.5, 3.0, 24.0, 26.0, 60.0, 300.0, -900.0, 1e6])
@pytest.mark.parametrize("b", [0.3, 1.0, 2.0, 2.5, 7.0, 8.0, 9.5, 40.0, 200.0])
def test_the_law_is_right(b, z):
    n = N // 8 if b != int(b) else N
    w = draw_polya_gamma(np.full(n, b), np.full(n, z), np.random.default_rng(0))
    assert np.all(w > 0)
    mean, variance = moments(b, abs(z))
    limit = norm.isf(FALSE_ALARM / 2)
    assert abs(w.mean() - mean) < limit * np.sqrt(variance / n)
    square = (w - mean) ** 2 / variance
    assert abs(square.mean() - 1) < limit * square.std() / np.sqrt(n)
    # The whole law, by its Laplace transform where that is far from 0 and 1.
    s = 1.0 / mean
    e = np.exp(-s * w)
    assert abs(e.mean() - np.exp(log_transform(s, b, abs(z)))) < limit * e.std() / np.sqrt(n)


def test_both_formulas_agree_where_they_meet():
    # The density's first term against all of it.
    b, z = 3.0, FAR
    mean, variance = moments(b, z)
    close(b / (2 * z), mean, 1e-9)
    close((b / (2 * z)) ** 3 / (b**2 / 4), variance, 1e-8)


def test_mixed_rows_are_drawn_one_by_one():
    shape = np.tile([0.3, 1.0, 3.5, 9.0, 100.0, 1.0], 2000)
    tilt = np.tile([1.0, 2.0, -3.0, 4.0, 5.0, 80.0], 2000)
    w = draw_polya_gamma(shape, tilt, np.random.default_rng(1)).reshape(-1, 6)
    for i in range(6):
        mean, variance = moments(shape[i], abs(tilt[i]))
        assert abs(w[:, i].mean() - mean) < 6 * np.sqrt(variance / 2000)
    assert np.abs(np.corrcoef(w.T) - np.eye(6)).max() < 6 / np.sqrt(2000)


def test_no_rows_are_no_draws():
    assert draw_polya_gamma(np.empty(0), np.empty(0), np.random.default_rng(0)).shape == (0,)
