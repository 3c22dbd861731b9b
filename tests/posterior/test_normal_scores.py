"""Quantiles to normal scores."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata

from banklearn.posterior.normal_scores import KNOTS, NormalScores, fit_normal_scores
from helpers import close

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "u",
    [RNG.standard_normal(KNOTS), RNG.integers(0, 6, 3000).astype(float), np.array([1.0, 2.0])],
    ids=["distinct", "ties", "two rows"],
)
def test_training_values_get_the_normal_score_of_their_middle_rank(u):
    scores = fit_normal_scores(u[:, None], None)(u[:, None])[:, 0]
    close(scores, ndtri((rankdata(u) - 0.5) / len(u)), 1e-12, 1e-12)


def test_many_values_are_mapped_through_few_knots():
    u = RNG.gamma(0.5, size=(50_000, 1))
    maps = fit_normal_scores(u, None)
    assert len(maps.knots) <= KNOTS
    exact = ndtri((rankdata(u[:, 0]) - 0.5) / len(u))
    inner = np.abs(exact) < 3
    assert np.abs(maps(u)[:, 0] - exact)[inner].max() < 0.02


def test_a_weight_is_so_many_rows():
    u = RNG.standard_normal((900, 2)).round(1)
    times = RNG.integers(1, 5, 900)
    one = fit_normal_scores(u, times.astype(float))
    two = fit_normal_scores(u.repeat(times, axis=0), None)
    new = np.linspace(-5, 5, 40).repeat(2).reshape(-1, 2)
    close(one(new), two(new), 1e-9, 1e-9)


def test_beyond_the_training_range_it_goes_on_with_the_mean_slope():
    maps = fit_normal_scores(RNG.uniform(-1, 1, (500, 1)), None)
    low, high = maps.knots[[0, -1], 0]
    slope = (maps.heights[-1, 0] - maps.heights[0, 0]) / (high - low)
    at = np.array([[low - 3.0], [low], [high], [high + 5.0]])
    out = maps(at)[:, 0]
    close(out[1] - out[0], 3.0 * slope, 1e-12)
    close(out[3] - out[2], 5.0 * slope, 1e-12)
    assert np.all(np.diff(maps(np.linspace(-4, 4, 1000)[:, None])[:, 0]) >= 0)


def test_extremes_stay_in_order_and_are_no_nan():
    u = np.array([[-1.7e308], [-1.0], [0.0], [1e-300], [1.7e308]])
    out = fit_normal_scores(u, None)(u)[:, 0]
    assert np.all(np.isfinite(out))
    assert np.all(np.diff(out) >= 0)


def test_maps_of_different_length_side_by_side_are_each_their_own():
    a, b = RNG.standard_normal((100, 1)), RNG.integers(0, 3, (100, 1)).astype(float)
    both = NormalScores.side_by_side([fit_normal_scores(a, None), fit_normal_scores(b, None)])
    out = both(np.hstack([a, b]))
    np.testing.assert_array_equal(out[:, :1], fit_normal_scores(a, None)(a))
    np.testing.assert_array_equal(out[:, 1:], fit_normal_scores(b, None)(b))


def test_the_slope_is_that_between_the_quartiles():
    u = 2.0 * ndtri((np.arange(4000) + 0.5) / 4000)[:, None]
    close(fit_normal_scores(u, None).slope(), 0.5, 1e-3)


def test_the_slope_where_quartiles_fall_on_one_value():
    whole = NormalScores(np.array([[0.0], [4.0]]), np.array([[-2.0], [2.0]]))
    close(whole.slope(), 1.0, 1e-12)
    knots = np.array([[0.0], [1.0], [1.0], [3.0]])
    step = NormalScores(knots, np.array([[-2.0], [-1.5], [1.5], [2.0]]))
    close(step.slope(), 4.0 / 3.0, 1e-12)  # that of the whole range
    for one in (np.array([[5.0]]), np.array([[-1.7e308], [1.7e308]])):
        assert NormalScores(one, np.linspace(-1, 1, len(one))[:, None]).slope() == [1.0]
