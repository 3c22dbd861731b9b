"""Rows given several times become one row with a weight."""

import numpy as np
import pytest

from banklearn.numerics.duplicates import merge_rows


def make_rows(n=12, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)), rng.standard_normal(n)


def test_without_weights_and_duplicates_nothing_happens():
    X, y = make_rows()
    merged = merge_rows(X, y, None)
    assert merged[0] is X
    assert merged[1] is y
    assert merged[2] is None


@pytest.mark.parametrize("seed_of_order", [0, 1])
def test_repetition_and_weight_give_the_same_bits_in_any_order(seed_of_order):
    X, y = make_rows()
    counts = np.arange(12) % 3 + 1
    order = np.random.default_rng(seed_of_order).permutation(counts.sum())
    repeated = merge_rows(X.repeat(counts, axis=0)[order], y.repeat(counts)[order], None)
    weighted = merge_rows(X, y, counts.astype(float))
    for left, right in zip(repeated, weighted, strict=True):
        np.testing.assert_array_equal(left, right)
    assert repeated[2].sum() == counts.sum()


def test_equal_inputs_with_other_targets_stay_apart():
    X, y = make_rows(4)
    X[1] = X[0]
    merged, _, weight = merge_rows(X, y, None)
    assert len(merged) == 4
    assert weight is None
    y[1] = y[0]
    merged, _, weight = merge_rows(X, y, None)
    assert len(merged) == 3
    assert sorted(weight) == [1, 1, 2]


def test_the_sign_of_zero_does_not_matter():
    X, y = np.array([[0.0], [-0.0], [1.0]]), np.zeros(3)
    assert len(merge_rows(X, y, None)[0]) == 2
