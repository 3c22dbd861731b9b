"""Where chains start."""

import numpy as np
import pytest

from banklearn.model.evidence import gaussian_log_evidence, ridge
from banklearn.numerics.row_keys import RowKeys
from banklearn.numerics.streams import Purpose, Streams
from banklearn.sampler.start import (
    LAMS,
    SCALES,
    best_lam,
    choose_start,
    pilot_rows,
    scaling_rows,
    start_rows,
    starting_state,
)
from helpers import close, fresh_gram, make_problem


@pytest.mark.parametrize("case", range(10))
def test_the_best_precision_is_the_best_of_the_grid(case):
    problem = make_problem(case, N=30, M=5, trend="linear")
    gram, prior = fresh_gram(problem), problem.prior
    values = [
        gaussian_log_evidence(
            ridge(gram.G[0], gram.r[0], lam), gram.tt[0], gram.n[0], prior.a0, prior.b0
        )
        for lam in LAMS
    ]
    lam, log_evidence = best_lam(gram.G[0], gram.r[0], gram.tt[0], gram.n[0], prior.a0, prior.b0)
    assert lam == LAMS[int(np.argmax(values))]
    close(log_evidence, max(values), 1e-7)


def test_the_grids_are_even_in_logarithms():
    np.testing.assert_allclose(SCALES, np.geomspace(1 / 16, 16, 17), rtol=1e-12)
    np.testing.assert_allclose(LAMS, np.geomspace(1e-7, 1e3, 21), rtol=1e-12)


def test_eigenvalues_that_round_below_zero_count_as_zero():
    r = np.array([0.3, 0.0])
    below = best_lam(np.diag([2.0, -5e-8]), r, 1.0, 10.0, 1.0, 1e-3)
    zero = best_lam(np.diag([2.0, 0.0]), r, 1.0, 10.0, 1.0, 1e-3)
    assert below == zero


def test_a_fit_better_than_perfect_counts_as_perfect():
    # r r' / G exceeds t't by rounding: the sum of squares that is left cannot be negative.
    over = best_lam(np.eye(1), np.array([1.0]), 0.9, 4.0, 1.0, 1e-3)
    lams = np.array(LAMS)
    a_n, b_n = 3.0, 1e-3 + np.maximum(0.5 * (0.9 - 1 / (1 + lams)), 0.0)
    log_ev = 0.5 * (np.log(lams) - np.log1p(lams)) - a_n * np.log(b_n) + np.log(2.0)
    log_ev += np.log(1e-3) - 2.0 * np.log(2 * np.pi)
    assert over[0] == lams[np.argmax(log_ev)]
    close(over[1], log_ev.max(), 1e-12)


def smooth_problem(scale, n=400, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    W = scale * rng.standard_normal((200, d))
    y = np.cos(X @ W.T + rng.uniform(0, 6, 200)) @ rng.standard_normal(200) / 10
    return X, y + 0.05 * rng.standard_normal(n)


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_the_scale_of_the_data_is_found(scale):
    X, y = smooth_problem(scale)
    start = choose_start(X, y, None, "constant", 64, 1.0, 1e-6, Streams(0))
    assert scale / 2 < start.scale < scale * 2
    assert np.isfinite(start.log_evidence)


def test_a_subsample_is_enough_and_is_the_same_every_time():
    X, y = smooth_problem(1.0, n=3000)
    rows, again = (start_rows(RowKeys.of(X, y), Streams(0), most=500) for _ in range(2))
    np.testing.assert_array_equal(rows, again)
    assert len(np.unique(rows)) == 500
    start = choose_start(X[rows], y[rows], np.ones(500), "constant", 32, 1.0, 1e-6, Streams(0))
    assert 0.4 < start.scale < 2.5


def test_how_many_rows_are_looked_at():
    rows = RowKeys.of(np.random.default_rng(0).standard_normal((110_000, 1)), None)
    assert len(start_rows(rows, Streams(0))) == 4000
    assert len(scaling_rows(rows, Streams(0))) == 100_000
    assert len(pilot_rows(rows, np.arange(5000), Streams(0))) == 2000


def test_at_most_128_frequencies_choose_the_start():
    X, y = smooth_problem(1.0, n=60)
    many, enough, fewer = (
        choose_start(X, y, None, "none", M, 1.0, 1e-6, Streams(0), scales=(0.5, 1.0))
        for M in (500, 128, 127)
    )
    assert many == enough != fewer


def test_few_rows_are_all_used():
    X = np.zeros((7, 2))
    np.testing.assert_array_equal(start_rows(RowKeys.of(X, None), Streams(0)), np.arange(7))


def test_a_grid_of_one_scale_is_taken():
    X, y = smooth_problem(1.0)
    start = choose_start(X, y, None, "none", 16, 1.0, 1e-6, Streams(0), scales=(0.7,))
    assert start.scale == pytest.approx(0.7 / np.sqrt(2))
    assert 0.7 not in SCALES


def test_the_starting_state_is_one_component():
    state = starting_state(2000, 3, 0.5, 0.1, 1.5, Streams(0))
    assert (state.K, state.M, state.lam, state.alpha) == (1, 2000, 0.1, 1.5)
    close(state.Sigma[0], 0.25 * np.eye(3), 1e-12)
    assert state.W.std() == pytest.approx(0.5, rel=0.05)
    np.testing.assert_array_equal(state.psi, np.full(3, 0.25))
    np.testing.assert_array_equal(state.mu, np.zeros((1, 3)))


def test_the_grid_goes_on_for_a_long_series():
    x = np.linspace(-1.7, 1.7, 800)[:, None]
    rng = np.random.default_rng(0)
    y = np.cos(x * rng.normal(0, 60.0, 300) + rng.uniform(0, 6, 300)).sum(axis=1)
    start = choose_start(x, y, None, "constant", 128, 1.0, 1e-6, Streams(0))
    assert start.scale > max(SCALES)
    first = choose_start(x, y, None, "constant", 128, 1.0, 1e-6, Streams(0), scales=(SCALES[-1],))
    assert start.log_evidence > first.log_evidence + 100
    two = choose_start(x, y, None, "constant", 128, 1.0, 1e-6, Streams(0), scales=SCALES[-2:])
    assert two == start


def test_the_grid_ends_however_fast_a_series_is():
    # On so short an interval every scale of the grid is slow, and a faster one always better.
    x = 1e-6 * np.arange(64.0)[:, None]
    start = choose_start(
        x, np.sin(1e5 * x[:, 0]), None, "none", 32, 1.0, 1e-6, Streams(0), scales=(8.0, 16.0)
    )
    assert start.scale == 4096.0


def test_every_choice_at_the_start_has_random_numbers_of_its_own(monkeypatch):
    seen, at = [], Streams.at

    def watched(self, purpose, sweep=0, block=0):
        seen.append((purpose, sweep, block))
        return at(self, purpose, sweep, block)

    monkeypatch.setattr(Streams, "at", watched)
    X, y = smooth_problem(1.0, n=20)
    rows, streams = RowKeys.of(X, y), Streams(0)
    choose_start(X, y, None, "none", 4, 1.0, 1e-6, streams, scales=(1.0,))
    starting_state(4, 2, 1.0, 1.0, 1.0, streams)
    start_rows(rows, streams)
    scaling_rows(rows, streams)
    pilot_rows(rows, np.arange(20), streams)
    assert seen == [(Purpose.START, 0, block) for block in range(5)]
