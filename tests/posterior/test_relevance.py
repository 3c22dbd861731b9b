"""Relevance of inputs is that over all pairs of rows, in any order, with an interval that holds."""

from functools import cache
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from banklearn import BankRegressor
from banklearn.model.features import trend_columns
from banklearn.posterior import relevance as module
from banklearn.posterior.functions import draw_weights, function_at
from fitted import one_input

M, D = 7, 3


@cache
def products():
    """A fit to f = x0 x1 + 0.7 x1 x2 on a grid, where the indices are 1 / 1.49, 1, 0.49 / 1.49."""
    X = np.array(list(product(np.linspace(-1.5, 1.5, 6), repeat=D)))
    y = X[:, 0] * X[:, 1] + 0.7 * X[:, 1] * X[:, 2]
    model = BankRegressor(48, n_chains=2, n_warmup=80, n_draws=8, random_state=0)
    return model.fit(X, y), X


def by_hand(draw, beta, X, trend):
    """Mean squared changes over all pairs, one shuffled row after the other."""
    f = function_at(draw, beta, X, trend).copy()
    changed = np.zeros(X.shape[1])
    for i in range(X.shape[1]):
        for b in range(len(X)):
            other = X.copy()
            other[:, i] = X[b, i]
            changed[i] += ((function_at(draw, beta, other, trend) - f) ** 2).sum() / len(X) ** 2
    return changed, ((f[:, :, None] - f[:, None, :]) ** 2).mean(axis=(1, 2)).sum()


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("trend", ["none", "constant", "linear"])
def test_a_product_of_matrices_is_all_pairs(trend, tasks, seed):
    rng = np.random.default_rng(seed)
    draw = SimpleNamespace(W=2.0 * rng.standard_normal((M, D)))
    beta = rng.standard_normal((tasks, trend_columns(trend, D) + 2 * M))
    X = rng.standard_normal((12, D))
    changed, total = module.squares(draw, beta, X, trend)
    plain, all_of_it = by_hand(draw, beta, X, trend)
    np.testing.assert_allclose(changed, plain, rtol=1e-9)
    assert total == pytest.approx(all_of_it, rel=1e-9)
    times = rng.integers(1, 4, len(X))
    weighted = module.squares(draw, beta, X, trend, np.outer(times, times) / times.sum() ** 2)
    repeated = module.squares(draw, beta, np.repeat(X, times, axis=0), trend)
    np.testing.assert_allclose(weighted[0], repeated[0], rtol=1e-9)
    assert weighted[1] == pytest.approx(repeated[1], rel=1e-9)


def test_what_does_not_vary_changes_nothing(seed):
    """Not even by rounding, which would be all that there is to compare."""
    rng = np.random.default_rng(seed)
    draw = SimpleNamespace(W=2.0 * rng.standard_normal((M, D)))
    beta = rng.standard_normal((1, 1 + 2 * M))
    for n in (81, 215):
        X = rng.standard_normal((n, D))
        X[:, 1] = 0.3
        changed, _ = module.squares(draw, beta, X, "constant")
        assert changed[1] == 0.0
        assert (changed[[0, 2]] > 0.0).all()


def test_interactions_count_for_each_input_in_them():
    model, X = products()
    found = [one.relevance for one in model.explain(X).inputs]
    rng = np.random.default_rng(0)
    shares = []
    for draw in model.draws_:
        changed, total = by_hand(
            draw, draw_weights(draw, rng), model.input_scaling_(X), model.trend_
        )
        shares.append(changed / total)
    ends = np.minimum(np.quantile(shares, [0.5, 0.05, 0.95], axis=0), 1.0)
    np.testing.assert_allclose(found, ends.T, rtol=1e-9)
    assert (ends[1] < ends[2]).any()
    np.testing.assert_allclose([one.value for one in found], [1 / 1.49, 1, 0.49 / 1.49], atol=0.02)


def test_the_only_input_has_all_of_it():
    model, X, _ = one_input()
    assert model.explain(X).inputs[0].relevance == pytest.approx((1.0, 1.0, 1.0), abs=1e-9)


@pytest.mark.parametrize("n", [200, 700])
def test_the_order_of_the_rows_makes_no_difference(n, seed):
    model, _ = products()
    X = np.random.default_rng(seed).standard_normal((n, D))
    found = model.explain(X)
    for _ in range(3):
        assert model.explain(np.random.default_rng(seed).permutation(X)) == found


def test_the_interval_holds_what_all_rows_would_tell(seed):
    model, _ = products()
    X = np.random.default_rng(seed).standard_normal((1500, D))
    rng = np.random.default_rng(0)
    weights = [draw_weights(draw, rng) for draw in model.draws_]
    told = module.relevance(model.draws_, weights, model.input_scaling_, model.trend_, X, 0.999)
    rows = model.input_scaling_(X)
    parts = [
        module.squares(draw, beta, rows, model.trend_)
        for draw, beta in zip(model.draws_[:4], weights[:4], strict=True)
    ]
    exact = np.minimum(np.mean([changed / total for changed, total in parts], axis=0), 1.0)
    for one, truth in zip(told, exact, strict=True):
        assert one.low <= truth <= one.high
        assert one.value == pytest.approx(truth, abs=0.06)


class Plain:
    """Inputs as they are."""

    used = np.ones(2, dtype=bool)

    def __call__(self, X):
        return X


def test_what_a_set_of_rows_does_not_show_others_do(seed):
    """Two inputs of equal weight, of which one is hardly ever anything but zero."""
    rng = np.random.default_rng(seed)
    rate = 0.003
    for size in (20_000, 30_000, 40_000):
        X = np.column_stack([rng.standard_normal(size), rng.random(size) < rate])
        scale = X[:, 1].std()
        slopes = rng.normal(1.0, 0.02, (12, 2)) * np.sqrt(2.0) * [1.0, 1.0 / scale]
        draws = [SimpleNamespace(W=np.ones((1, 2))) for _ in slopes]
        weights = [np.concatenate([[0.0], slope, [0.0, 0.0]])[None, :] for slope in slopes]
        told = module.relevance(draws, weights, Plain(), "linear", X, 0.999)
        for one in told:
            assert one.low < 0.5 < one.high
            assert one.value > 0.2


def rare_inputs(size, count, held, rng):
    """One ordinary input and some that are 1 in `held` rows and otherwise 0."""
    X = np.zeros((size, 1 + count))
    X[:, 0] = rng.standard_normal(size)
    for i in range(count):
        X[rng.choice(size, held, replace=False), 1 + i] = 1.0
    return X


def linear_functions(slopes):
    """Draws of functions without waves, and their weights."""
    draws = [SimpleNamespace(W=np.ones((1, slopes.shape[1]))) for _ in slopes]
    weights = [np.concatenate([[0.0], slope, [0.0, 0.0]])[None, :] for slope in slopes]
    return draws, weights


def plain_inputs(d):
    scaling = Plain()
    scaling.used = np.ones(d, dtype=bool)
    return scaling


@pytest.mark.parametrize("held", [1, 3, 20])
def test_a_few_rows_that_decide_half_of_the_function_are_looked_at(held, seed):
    rng = np.random.default_rng(seed)
    X = rare_inputs(20_000, 1, held, rng)
    slopes = rng.normal(1.0, 0.02, (12, 2)) / X.std(axis=0)
    told = module.relevance(*linear_functions(slopes), plain_inputs(2), "linear", X, 0.999)
    for one in told:
        assert one.low < 0.5 < one.high
        assert one.value == pytest.approx(0.5, abs=0.1)


def test_inputs_of_which_no_set_shows_anything_may_have_any_relevance(monkeypatch):
    monkeypatch.setattr(module, "ROWS_TIMES_INPUTS", 1)
    X = rare_inputs(20_000, 40, 1, np.random.default_rng(0))
    slopes = np.ones((2, 41)) / X.std(axis=0)
    told = module.relevance(*linear_functions(slopes), plain_inputs(41), "linear", X, 0.9)
    unknown = [one for one in told if one.value == 0]
    assert 20 < len(unknown) <= 40 - module.FEWEST_ROWS // 4
    assert {(one.low, one.high) for one in unknown} == {(0.0, 1.0)}


def test_weights_of_pairs_undo_how_often_they_are_in_a_set(seed):
    """The sum of anything over pairs of different rows is that over all of them."""
    rng = np.random.default_rng(seed)
    X = rare_inputs(5_000, 3, 25, rng)
    sets = module.Sets(X, 128)
    assert len(sets.rare) == 3
    values = np.column_stack([X @ [0.3, 1.0, 2.0, 3.0], X[:, 0], X[:, 3]])
    found = []
    for k in range(400):
        rows, weight = sets[k]
        assert 128 < len(rows) <= 160
        apart = (values[rows, None] - values[rows]) ** 2
        found.append((weight[:, :, None] * apart).sum(axis=(0, 1)) / 5_000**2)
    error = np.std(found, axis=0) / 20.0
    assert (np.abs(np.mean(found, axis=0) - 2.0 * values.var(axis=0)) < 4.0 * error + 1e-4).all()


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.3])
def test_intervals_of_wide_tables_hold_what_they_should(rate):
    """Sets have 32 rows here, however rare the values of inputs are."""
    held, count = 0, 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.standard_normal((4_000, 2)), rng.random((4_000, 128)) < rate])
        slopes = rng.normal(1.0, 0.02, (24, 130)) / X.std(axis=0) * np.r_[8.0, 8.0, np.ones(128)]
        draws, weights = linear_functions(slopes)
        told = module.relevance(draws, weights, plain_inputs(130), "linear", X, 0.9)
        truth = np.r_[64.0, 64.0, np.ones(128)] / 256.0
        held += sum(one.low <= t <= one.high for one, t in zip(told, truth, strict=True))
        count += len(told)
    assert held / count > 0.8


def test_values_of_any_size_are_told_apart():
    X = np.full((600, 3), 1.7e308)
    X[::2, 0] = -1.7e308  # of which no difference and no mean is a number
    X[5, 1] = 5e-324
    sets = module.Sets(X, 256)
    (rare,) = sets.rare
    np.testing.assert_array_equal(rare, [5])
    assert {5} <= set(sets[0][0])


def test_more_rows_than_a_set_widen_the_interval(monkeypatch):
    model, X = products()
    narrow = model.explain(X).inputs[0].relevance
    monkeypatch.setattr(module, "ROWS", 50)
    wide = model.explain(X).inputs[0].relevance
    assert wide.high - wide.low > narrow.high - narrow.low
    assert wide.low <= narrow.value <= wide.high


def test_a_function_that_does_not_vary_has_nothing_to_lose():
    model, X = products()
    for copies in (5, 7, 81, 400):  # kernels of products round the columns of some numbers apart
        same = np.repeat(X[:1], copies, axis=0)
        assert [one.relevance for one in model.explain(same).inputs] == [(0.0, 0.0, 0.0)] * D
