"""Units in and out."""

import numpy as np
import pytest

from banklearn.numerics.moments import Moments
from banklearn.posterior.scaling import (
    KINDS,
    REACH,
    ScaledRows,
    fit_scaling,
    fit_target_scaling,
)
from helpers import close

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3)) * [1.0, 1e-6, 1e7] + [0.0, 4.0, -2e8]


@pytest.mark.parametrize("kind", ["standard", "arcsinh", "quantile"])
def test_inputs_have_mean_zero_and_spread_one(kind):
    scaled = fit_scaling(X, None, kind)(X)
    close(scaled.mean(axis=0), 0.0, 0, 1e-7)
    close(scaled.std(axis=0), 1.0, 1e-6)
    assert scaled.flags.c_contiguous


def test_none_leaves_inputs_as_they_are():
    np.testing.assert_array_equal(fit_scaling(X, None, "none")(X), X)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_repetitions(kind):
    counts = RNG.integers(1, 4, 60)
    one = fit_scaling(X, counts.astype(float), kind)
    two = fit_scaling(X.repeat(counts, axis=0), None, kind)
    close(one(X), two(X), 1e-7, 1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_constant_inputs_are_left_out(kind):
    Y = np.column_stack([np.full(60, 3.0), X[:, 0]])
    scaling = fit_scaling(Y, None, kind)
    assert scaling.used.tolist() == [False, True]
    assert scaling(Y).shape == (60, 1)
    changed = Y.copy()
    changed[:, 0] = 99.0
    np.testing.assert_array_equal(scaling(changed), scaling(Y))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_constants_still_scales(kind):
    scaled = fit_scaling(np.full((5, 2), 7.0), None, kind)(np.full((5, 2), 7.0))
    assert scaled.shape == (5, 1)
    assert np.all(np.isfinite(scaled))


@pytest.mark.parametrize("kind", ["arcsinh", "quantile"])
def test_transforms_are_monotone_and_tame_tails(kind):
    heavy = np.random.default_rng(1).standard_cauchy((400, 1))
    scaled = fit_scaling(heavy, None, kind)(heavy)[:, 0]
    np.testing.assert_array_equal(np.argsort(scaled), np.argsort(heavy[:, 0]))
    assert np.abs(scaled).max() < 8


@pytest.mark.parametrize("kind", ["arcsinh", "quantile"])
def test_an_input_that_is_mostly_one_value(kind):
    spiky = np.zeros((50, 1))
    spiky[:5, 0] = np.arange(1, 6)
    scaling = fit_scaling(spiky, None, kind)
    assert np.all(np.isfinite(scaling(spiky)))
    assert np.all(np.isfinite(scaling.unit) & (scaling.unit > 0))


@pytest.mark.parametrize("weighted", [False, True])
def test_arcsinh_keeps_rare_rows_within_reach(weighted):
    """Also where nearly all rows are at one value, so that tails are tens of deviations out."""
    rng = np.random.default_rng(4)
    rows = np.round(rng.standard_normal((4000, 2)))
    rows[:, 0] *= rng.random(4000) < 0.1
    rows[:4, 0] = [700.0, 2500.0, -900.0, -4800.0]
    weight = rng.uniform(0.5, 2.0, 4000) if weighted else None
    scaled = fit_scaling(rows, weight, "arcsinh")(rows)
    assert np.abs(scaled[:, 0]).max() == pytest.approx(REACH)
    assert abs(scaled[0, 0] - scaled[1, 0]) < 0.3 * REACH
    # An ordinary input is standardised, as ever.
    assert np.average(scaled[:, 1] ** 2, weights=weight) == pytest.approx(1.0)


def test_the_reach_of_arcsinh_is_that_of_all_rows_where_a_sample_is_looked_at():
    rows = np.random.default_rng(6).standard_normal((3000, 1))
    rows[7] = 1e30
    moments = Moments.of(rows, None)
    scaling = fit_scaling(rows[:500:5], None, "arcsinh", moments)
    assert scaling(rows).max() == pytest.approx(REACH)


@pytest.mark.parametrize("kind", KINDS)
def test_one_unit_of_the_model_near_the_median_in_the_users_units(kind):
    rows = np.random.default_rng(3).normal(50.0, 8.0, (4000, 1))
    scaling = fit_scaling(rows, None, kind)
    a, b = scaling(np.array([[48.0], [52.0]]))[:, 0]
    assert scaling.unit[0] == pytest.approx(4.0 / (b - a), rel=0.1)


@pytest.mark.parametrize("y", [[5.0, 5.0, 5.0], [0.0, 0.0], [1e300, -1e300], [1e-300, 3e-300]])
def test_targets_scale_to_ordinary_size(y):
    y = np.array(y)
    scaling = fit_target_scaling(y, None)
    scaled = (y - scaling.shift) / scaling.scale
    assert np.all(np.abs(scaled) <= 2)
    close(scaling.shift + scaling.scale * scaled, y, 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_looking_at_a_few_inputs_at_a_time_changes_nothing(kind, monkeypatch):
    rows = np.random.default_rng(1).standard_t(3, (500, 7)) * np.logspace(-3, 3, 7)
    rows[:, 4] = 1.0
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 500)
    scalings = []
    for few in (3, 100):
        monkeypatch.setattr("banklearn.posterior.scaling.FIT_COLUMNS", few)
        scalings.append(fit_scaling(rows, weight, kind))
    for name in ("used", "shift", "scale", "centre", "spread"):
        np.testing.assert_array_equal(*(getattr(s, name) for s in scalings))
    np.testing.assert_array_equal(*(s(rows) for s in scalings))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_scaled_when_asked_for_are_the_scaled_rows(kind):
    scaling = fit_scaling(X, None, kind)
    lazy = ScaledRows(X, scaling)
    assert len(lazy) == len(X)
    np.testing.assert_array_equal(lazy[7:31], scaling(X)[7:31])
    np.testing.assert_array_equal(lazy[np.array([5, 2])], scaling(X)[[5, 2]])
