"""Copies of statistics in memory, whole or shared by a team of threads."""

import numpy as np
import pytest

from banklearn.engines.host import HostOps
from banklearn.numerics.threads import team


@pytest.fixture(params=[1, 3])
def size(request):
    with team(request.param):
        yield request.param


@pytest.mark.parametrize("S", [1, 31, 32, 33, 200])
def test_a_statistic_is_put_together_from_its_parts(size, S):
    rng, P = np.random.default_rng(S), 150
    known = rng.standard_normal((P, P))
    known = known + known.T
    cross, square = rng.standard_normal((S, P + 1))[:, 1:], rng.standard_normal((S, S))
    whole = np.tril(square) + np.tril(square, -1).T
    expected = np.block([[known, cross.T], [cross, whole]])
    np.testing.assert_array_equal(HostOps().extend(known, cross, square), expected)


def test_the_next_statistic_takes_the_work_space_of_the_last():
    first = HostOps().extend(np.ones((3, 3)), np.ones((2, 3)), np.ones((2, 2)))
    second = HostOps().extend(np.zeros((3, 3)), np.zeros((2, 3)), np.zeros((2, 2)))
    assert np.shares_memory(first, second)


def test_rows_and_columns_are_selected_by_all_threads(size):
    C = np.random.default_rng(0).standard_normal((2, 400, 400))
    columns = np.random.default_rng(1).permutation(400)[:350]
    np.testing.assert_array_equal(
        HostOps().select(C, columns), C[:, columns[:, None], columns[None, :]]
    )
