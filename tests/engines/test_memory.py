"""The memory engine cuts rows into blocks, once each and in order."""

import numpy as np
import pytest

from banklearn.engines.memory import MemoryEngine
from helpers import make_problem


class Recorder:
    """A statistic that remembers its blocks."""

    def __init__(self):
        self.blocks = []

    def zero(self, ops):
        return [np.zeros(1)]

    def add(self, ops, total, block):
        self.blocks.append(block)
        total[0] += block.y.sum()

    def finish(self, ops, total):
        return float(total[0][0])


@pytest.mark.parametrize("block_rows", [1, 4, 10, 11, 1000])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_row_is_seen_once_in_order(block_rows, weighted):
    problem = make_problem(0, N=10, weighted=weighted)
    recorder = Recorder()
    total = problem.engine(block_rows).sum(recorder)
    blocks = recorder.blocks
    assert [b.start for b in blocks] == list(range(0, 10, block_rows))
    assert max(len(b.X) for b in blocks) <= block_rows
    np.testing.assert_array_equal(np.concatenate([b.X for b in blocks]), problem.X)
    np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), problem.y)
    assert total == pytest.approx(problem.y.sum())
    if weighted:
        np.testing.assert_array_equal(np.concatenate([b.weight for b in blocks]), problem.weight)
    else:
        assert all(b.weight is None for b in blocks)


def test_blocks_are_views():
    problem = make_problem(0, N=10)
    recorder = Recorder()
    problem.engine(4).sum(recorder)
    assert all(np.shares_memory(b.X, problem.X) for b in recorder.blocks)


def test_a_subset_has_the_chosen_rows():
    problem = make_problem(1, N=10, weighted=True)
    engine = MemoryEngine(problem.X, problem.y, problem.weight, 3)
    rows = np.array([7, 2, 5, 9])
    part = engine.subset(rows)
    assert (engine.n_rows, part.n_rows, part.block_rows) == (10, 4, 3)
    np.testing.assert_array_equal(part.X, problem.X[rows])
    np.testing.assert_array_equal(part.y, problem.y[rows])
    np.testing.assert_array_equal(part.weight, problem.weight[rows])
