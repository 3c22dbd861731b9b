"""Effective sample sizes against processes whose autocorrelation is known."""

import numpy as np
import pytest
from scipy.stats import norm

from banklearn.posterior.diagnostics import (
    autocovariance,
    bulk_effective,
    effective_sample_size,
    r_hat,
    rank_normalised,
    rank_r_hat,
    split,
    standard_error,
    tail_effective,
)
from helpers import autoregression, close


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.5, 0.9, 0.97])
def test_the_effective_size_of_an_autoregression(phi):
    n, m = 20_000, 4
    expected = m * n * (1 - phi) / (1 + phi)
    sizes = [effective_sample_size(autoregression(phi, n, m, seed)) for seed in range(5)]
    close(np.mean(sizes), expected, 0.1)


def test_the_standard_error_is_that_of_the_mean():
    chains = [autoregression(0.8, 2000, 2, seed) for seed in range(200)]
    errors = [standard_error(x) for x in chains]
    close(np.std([x.mean() for x in chains]), np.mean(errors), 0.15)


def test_chains_that_agree_have_r_hat_one():
    x = autoregression(0.5, 5000, 4)
    close(r_hat(x), 1.0, 0.005)
    assert r_hat(x + np.array([[0.0], [0.0], [0.0], [2.0]])) > 1.2
    drifting = x + np.linspace(0, 3, 5000)
    assert r_hat(drifting) > 1.2
    assert effective_sample_size(drifting) < 100


def test_r_hat_by_its_formula():
    x = np.array([[1.0, 2.0, 4.0, 3.0], [2.0, 5.0, 1.0, 0.0]])
    halves = split(x)
    np.testing.assert_array_equal(halves, [[1, 2], [2, 5], [4, 3], [1, 0]])
    within = np.mean([0.5, 4.5, 0.5, 0.5])
    between = np.var([1.5, 3.5, 3.5, 0.5], ddof=1)
    close(r_hat(x), np.sqrt((within / 2 + between) / within), 1e-12)


def test_autocovariances_are_sums_of_products():
    x = np.random.default_rng(0).standard_normal((2, 11))
    found = autocovariance(x)
    for chain, row in zip(x, found, strict=True):
        c = chain - chain.mean()
        close(row, [np.sum(c[: 11 - k] * c[k:]) / 11 for k in range(11)], 1e-10, 1e-12)


def test_one_chain_may_be_a_vector():
    x = autoregression(0.5, 500, 1)
    assert effective_sample_size(x[0]) == effective_sample_size(x)


@pytest.mark.parametrize("f", [effective_sample_size, r_hat])
def test_a_constant_has_none(f):
    assert np.isnan(f(np.ones((2, 10))))


@pytest.mark.parametrize(
    ("values", "words"), [(np.ones(3), "At least 4"), (np.ones((2, 2, 9)), "shape")]
)
def test_what_has_no_answer_gets_a_sentence(values, words):
    with pytest.raises(ValueError, match=words):
        effective_sample_size(values)


@pytest.mark.parametrize("draws", [4, 5, 7])
def test_a_few_draws_are_enough_for_a_number(draws):
    size = effective_sample_size(np.random.default_rng(0).standard_normal((2, draws)))
    assert 0 < size <= 4 * draws


def test_ranks_become_the_scores_of_a_normal_law():
    x = np.array([[3.0, 1.0], [2.0, 2.0]])  # ranks 4, 1 and, shared, 2.5
    expected = norm.ppf((np.array([[4.0, 1.0], [2.5, 2.5]]) - 0.375) / 4.25)
    close(rank_normalised(x), expected, 1e-12)


def test_the_rank_r_hat_is_that_of_scores_and_of_folded_scores():
    x = autoregression(0.5, 101, 3)
    halves = split(x)
    assert rank_r_hat(x) == max(
        plain_r_hat(rank_normalised(halves)),
        plain_r_hat(rank_normalised(np.abs(halves - np.median(halves)))),
    )


def plain_r_hat(x):
    n = x.shape[1]
    within = x.var(axis=1, ddof=1).mean()
    return np.sqrt(((n - 1) / n * within + x.mean(axis=1).var(ddof=1)) / within)


def test_ranks_see_what_moments_cannot():
    rng = np.random.default_rng(0)
    cauchy = rng.standard_cauchy((4, 1000))
    shifted = cauchy + np.array([[0.0], [0.0], [0.0], [3.0]])
    assert rank_r_hat(cauchy) < 1.01
    assert rank_r_hat(shifted) > 1.1
    assert r_hat(shifted) < 1.05  # the variance of a Cauchy law hides a shift
    spread = rng.standard_normal((4, 1000)) * np.array([[1.0], [1.0], [1.0], [5.0]])
    assert rank_r_hat(spread) > 1.1
    assert r_hat(spread) < 1.01  # means agree


def test_monotone_transforms_change_neither_r_hat_of_location_nor_effective_sizes():
    x = autoregression(0.5, 400, 2)
    close(bulk_effective(np.exp(3 * x)), bulk_effective(x), 1e-12)
    close(tail_effective(np.exp(3 * x)), tail_effective(x), 1e-12)


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_the_bulk_of_an_autoregression(phi):
    n, m = 20_000, 4
    sizes = [bulk_effective(autoregression(phi, n, m, seed)) for seed in range(5)]
    close(np.mean(sizes), m * n * (1 - phi) / (1 + phi), 0.1)


def test_the_tail_is_that_of_the_worse_quantile():
    x = np.random.default_rng(0).standard_normal((4, 2000))
    close(tail_effective(x), 8000, 0.1)
    low, high = (x <= np.quantile(split(x), q) for q in (0.05, 0.95))
    sizes = [effective_sample_size(flag.astype(float)) for flag in (low, high)]
    assert tail_effective(x) == min(sizes)
    sticky = np.where(autoregression(0.99, 2000, 4) > 1.5, 5.0, x)  # a tail visited in long stays
    assert tail_effective(sticky) < 0.25 * bulk_effective(sticky)


def test_chains_stuck_apart_and_constants():
    apart = np.repeat([[1.0], [2.0]], 20, axis=1)
    assert rank_r_hat(apart) == np.inf
    assert np.isnan(bulk_effective(apart))
    constant = np.ones((2, 20))
    for f in (rank_r_hat, bulk_effective, tail_effective):
        assert np.isnan(f(constant))
