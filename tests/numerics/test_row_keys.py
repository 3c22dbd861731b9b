"""Rows are chosen by their values: where they stand and how they come makes no difference."""

from functools import reduce
from operator import add

import numpy as np
import pytest

from banklearn.numerics import row_keys
from banklearn.numerics.row_keys import RowKeys


def rows(n=9000, distinct=None):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, 3)), rng.standard_normal(n)
    if distinct:
        some = rng.integers(distinct, size=n)
        X, y = X[some], y[some]
    return X, y


def chosen(keys, X, count=700, seed=1):
    """The values of the chosen rows, in an order of their own."""
    places = keys.choose(count, np.random.default_rng(seed))
    assert (np.diff(places) > 0).all()
    return np.sort(X[places], axis=0)


@pytest.fixture(params=[1 << 22, 4000], ids=["all", "some"])
def capacity(request, monkeypatch):
    monkeypatch.setattr(row_keys, "CAPACITY", request.param)
    return request.param


@pytest.mark.parametrize("distinct", [None, 500])
def test_the_order_of_the_rows_does_not_matter(capacity, distinct):
    X, y = rows(distinct=distinct)
    other = np.random.default_rng(5).permutation(len(X))
    one = chosen(RowKeys.of(X, y), X)
    np.testing.assert_array_equal(one, chosen(RowKeys.of(X[other], y[other]), X[other]))
    assert not np.array_equal(one, chosen(RowKeys.of(X, y), X, seed=2))


@pytest.mark.parametrize("sizes", [(9000,), (1, 4096, 4000, 903), (300,) * 30])
def test_pieces_are_as_the_whole(capacity, sizes):
    X, y = rows()
    cuts = np.cumsum(sizes)[:-1]
    parts = zip(np.split(X, cuts), np.split(y, cuts), strict=True)
    keys = reduce(add, (RowKeys.of(*part) for part in parts))
    assert keys.n_rows == len(X)
    assert sum(len(places) for _, places in keys.pieces) <= capacity
    places = [k.choose(700, np.random.default_rng(1)) for k in (keys, RowKeys.of(X, y))]
    np.testing.assert_array_equal(*places)


@pytest.mark.parametrize("sizes", [(9000,), (300,) * 30])
@pytest.mark.parametrize("distinct", [None, 500])
def test_rows_that_differ_are_counted(capacity, distinct, sizes):
    X, y = rows(distinct=distinct)
    cuts = np.cumsum(sizes)[:-1]
    parts = zip(np.split(X, cuts), np.split(y, cuts), strict=True)
    found = reduce(add, (RowKeys.of(*part) for part in parts)).different
    exact = len(np.unique(np.column_stack([X, y]), axis=0))
    assert found == exact if capacity > len(X) else abs(found - exact) < 5 * np.sqrt(3 * exact)
    assert RowKeys.of(np.zeros((9000, 1)), None).different <= 1


def test_every_row_has_the_same_chance():
    X, y = rows(60)
    keys = RowKeys.of(X, y)
    rng = np.random.default_rng(2)
    count = np.bincount(np.concatenate([keys.choose(15, rng) for _ in range(4000)]), minlength=60)
    assert np.abs(count - 1000).max() < 6 * np.sqrt(750)


def test_equal_rows_are_chosen_one_by_one():
    X = np.repeat(np.arange(4.0)[:, None], 1000, axis=0)
    found = np.bincount(chosen(RowKeys.of(X, None), X)[:, 0].astype(int))
    assert len(found) == 4
    assert found.min() > 100


def test_more_equal_rows_than_are_kept(monkeypatch):
    monkeypatch.setattr(row_keys, "CAPACITY", 100)
    X = np.ones((900, 2))
    assert len(chosen(RowKeys.of(X, None), X)) == 700


def test_few_rows_are_all_chosen():
    X, y = rows(5)
    np.testing.assert_array_equal(
        RowKeys.of(X, y).choose(9, np.random.default_rng(0)), np.arange(5)
    )


def test_the_sign_of_zero_does_not_count():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (3000, 12)) * rng.choice([1.0, -1.0], (3000, 12))
    keys = [RowKeys.of(values, None).pieces[0][0] for values in (X, X + 0.0)]
    assert np.signbit(X[X == 0]).any()
    np.testing.assert_array_equal(*keys)
