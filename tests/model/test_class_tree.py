"""The tree of classes: how it is built, what is none, and the probabilities along it."""

import numpy as np
import pytest
from scipy.special import expit

from banklearn.model.class_tree import (
    RARE,
    ROUNDING,
    ClassTree,
    Node,
    class_probabilities,
    grow,
    stick,
)
from helpers import close
from trees import HALVES, ONE_ALONE, log_path

#: Rows of the seven classes of the Shuttle set.
SPACE = np.array([45586.0, 8903, 3267, 171, 50, 13, 10])


def depths(tree):
    """Decisions above each class."""
    return [sum(first <= c < last for first, _, last in tree.nodes) for c in range(tree.n_classes)]


def old_stick(f):
    """The stick as it was computed before there were trees."""
    rest = np.cumprod(expit(-f), axis=-2)
    before = np.concatenate([np.ones_like(rest[..., :1, :]), rest[..., :-1, :]], axis=-2)
    return np.concatenate([expit(f) * before, rest[..., -1:, :]], axis=-2)


def some_trees():
    rng = np.random.default_rng(0)
    yield from (HALVES, ONE_ALONE, grow(SPACE), grow(np.array([40.0, 30, 30, *4 * [0.1]])))
    for C in (2, 3, 4, 7, 12):

        def cut(first, last):
            if last - first < 2:
                return []
            middle = int(rng.integers(first + 1, last))
            return [Node(first, middle, last), *cut(first, middle), *cut(middle, last)]

        yield ClassTree(tuple(cut(0, C)))
        yield stick(C)


@pytest.mark.parametrize("C", [2, 3])
def test_two_and_three_classes_are_on_a_stick_in_any_case(C):
    for seed in range(50):
        mass = -np.sort(-(np.random.default_rng(seed).exponential(size=C) ** 3))
        assert grow(mass) == stick(C)
    assert grow(np.ones(C)) == stick(C)
    assert stick(3).nodes == ((0, 1, 3), (1, 2, 3))


def test_classes_of_about_one_size_are_on_a_stick():
    for C in (4, 10, 30):
        assert grow(np.ones(C)) == stick(C)
        assert grow(np.linspace(1.0, 0.2, C)) == stick(C)
    assert grow(np.array([100.0, 50, 20, 10, 0.1])) == stick(5)  # one rare class


def test_rare_classes_are_halved():
    frequent, tree = [40.0, 30.0, 30.0], {}
    for rare in (2, 3, 4, 5, 17):
        tree[rare] = grow(np.array(frequent + rare * [0.1]))
        assert tree[rare].nodes[0] == (0, 3, 3 + rare)
        assert depths(tree[rare])[:3] == [2, 3, 3]
        assert max(depths(tree[rare])[3:]) == 1 + int(np.ceil(np.log2(rare)))
    assert tree[4].nodes[1:] == ((0, 1, 3), (1, 2, 3), (3, 5, 7), (3, 4, 5), (5, 6, 7))
    assert tree[3].nodes[3:] == ((3, 4, 6), (4, 5, 6))  # the smaller half first
    assert not tree[2].is_stick


def test_a_class_with_more_than_half_of_all_rows_comes_first():
    assert grow(SPACE).nodes == ((0, 1, 7), (1, 3, 7), (1, 2, 3), (3, 5, 7), (3, 4, 5), (5, 6, 7))
    assert depths(grow(SPACE)) == [1, 3, 3, 4, 4, 4, 4]
    only = grow(np.array([1000.0, 1, 1, 1, 1]))
    assert only.nodes == ((0, 1, 5), (1, 3, 5), (1, 2, 3), (3, 4, 5))


def test_rounding_decides_nothing():
    rare = 4 * [1e-4]
    for mass in ([3.0, 1, 1, 1], [0.3, 0.1, 0.1, 0.1], [0.1 + 0.2, 0.1, 0.1, 0.1 - 1e-17]):
        total = sum(mass[1:])
        half = np.array([total + sum(rare) * total, *mass[1:], *(total * np.array(rare))])
        assert grow(half).nodes[0] == (0, 4, 8)
        assert grow(half * [1.001, 1, 1, 1, 1, 1, 1, 1]).nodes[0] == (0, 1, 8)
    # A tenth of the average, summed in one way or another, is not less than a tenth.
    for tenth in (np.array([2.8, 1.0, 0.1, 0.1]), np.array([1.9, 1.9, 0.1, 0.1])):
        for scale in (1.0, 0.1, 1 / 3, 7e5):
            assert grow(scale * tenth) == grow(scale * tenth * (1 - 1e-12)) == stick(4)
    # The same at the edge of a half.
    half = (0.5 + ROUNDING) * 8
    mass = np.array([half, *3 * [(8 - half - 0.04) / 3], *4 * [0.01]])
    assert mass.mean() == 1.0
    assert grow(mass).nodes[0] == (0, 4, 8)
    # Two billionths less than a tenth are less, and what is exactly at the edge is not.
    edge = (1.0 - ROUNDING) * RARE
    assert grow(np.array([2.0 - edge, 2.0 - edge, edge, edge])) == stick(4)
    assert grow(np.array([1.9, 1.9, 0.1, 0.1]) * [1, 1, 1 - 2e-9, 1 - 2e-9]) != stick(4)


def test_probabilities_are_products_along_the_paths():
    rng = np.random.default_rng(1)
    for tree in some_trees():
        for scale in (1.0, 30.0, 1000.0):
            f = scale * rng.standard_normal((len(tree.nodes), 100))
            p = class_probabilities(tree, f)
            assert p.shape == (tree.n_classes, 100)
            close(p.sum(axis=0), 1.0, 1e-12)
            close(p, np.exp(log_path(tree, f)), 1e-9, 1e-300)
        many = rng.standard_normal((4, 3, len(tree.nodes), 5))
        p = class_probabilities(tree, many)
        np.testing.assert_array_equal(p[2, 1], class_probabilities(tree, many[2, 1]))


@pytest.mark.parametrize("C", [2, 3, 7])
def test_along_a_stick_they_are_those_of_before_to_the_last_bit(C):
    f = 3.0 * np.random.default_rng(C).standard_normal((6, C - 1, 200))
    np.testing.assert_array_equal(class_probabilities(stick(C), f), old_stick(f))


def test_ranges_and_back():
    for tree in some_trees():
        assert tree.ranges.shape == (tree.n_classes - 1, 3)
        assert ClassTree.of(tree.ranges) == tree
        assert ClassTree.of(tree.ranges.tolist()) == tree
        assert tree.is_stick == (tree == stick(tree.n_classes))


@pytest.mark.parametrize(
    "ranges",
    [
        [[0, 1, 4], [1, 2, 3]],  # another root than all classes
        [[0, 1, 3], [0, 1, 3]],  # a range twice
        [[0, 0, 3], [0, 1, 3]],  # nothing in the first part
        [[0, 3, 3], [0, 1, 3]],  # nothing in the second
        [[0, -1, 2]],  # cut below its beginning
        [[0, 3, 2]],  # cut beyond its end
        [[0, 2, 5], [2, 3, 5], [3, 4, 5], [0, 1, 2]],  # the second part before the first
        [[-1, 1, 2], [1, 2, 3]],
        [0, 1, 2],
        [[0, 1], [1, 2]],
        [[0, 1, 2, 3]],
        [[0.0, 1.0, 2.0]],
        [[0, 1, 10**30]],
        "tree",
        None,
    ],
)
def test_what_is_no_tree_is_refused(ranges):
    with pytest.raises(ValueError, match=r"tree of classes|cut a range"):
        ClassTree.of(ranges)
