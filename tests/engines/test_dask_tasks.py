"""What workers of a Dask cluster do, done here; tests/estimators/test_on_dask.py has a cluster."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from banklearn.engines.dask import _cut, _same, _take, add_up, join, partial_sum
from banklearn.engines.host import HostOps
from banklearn.engines.memory import MemoryEngine
from banklearn.engines.pieces import Piece
from banklearn.estimators.on_dask import (
    _rows,
    columns,
    partitions,
    raw_block,
    survey_partition,
    table_block,
)
from banklearn.gram import BLOCK_ROWS, GramSum
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.numerics.streams import Streams
from banklearn.sources import SourceError

N = 2 * BLOCK_ROWS + 300


def rows(weighted):
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2.0, N) if weighted else None
    return Piece(rng.standard_normal((N, 3)), rng.standard_normal(N), weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_pieces_add_up_to_the_sum_of_all(weighted):
    whole = rows(weighted)
    W = np.random.default_rng(1).standard_normal((4, 3))
    statistic = GramSum(W, "linear", Gaussian(1.0, 1.0).working(None, Streams(0), 1), 1)
    cuts = [0, BLOCK_ROWS, 2 * BLOCK_ROWS, N]
    pieces = [whole[a:b] for a, b in pairwise(cuts)]
    parts = [partial_sum(p, a, _same(statistic)) for p, a in zip(pieces, cuts, strict=False)]
    before = [np.array(values) for values in parts[0]]
    found = statistic.finish(HostOps(), add_up(parts))
    for kept, values in zip(before, parts[0], strict=True):
        np.testing.assert_array_equal(kept, values)  # what came in stays as it is
    wanted = MemoryEngine(whole.X, whole.y, whole.weight).sum(statistic)
    np.testing.assert_allclose(found.G, wanted.G, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(found.r, wanted.r, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_pieces_are_cut_taken_and_joined(weighted):
    whole = rows(weighted)
    again = join([whole[:10], whole[10:]])
    np.testing.assert_array_equal(again.X, whole.X)
    assert (again.weight is None) == (not weighted)
    cut = _cut([whole[:10], whole[10:30]], [slice(7, 10), slice(0, 2)])
    np.testing.assert_array_equal(cut.y, whole.y[7:12])
    np.testing.assert_array_equal(_take(whole, np.array([3, 1])).X, whole.X[[3, 1]])


def test_partitions_are_checked_and_summed_up_where_they_lie():
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [0.5, 1.5, 2.5], "w": [1.0, 0.0, 2.0]})
    block = table_block(4, table, 1)
    assert (block.number, block.y.tolist(), block.weight.tolist()) == (
        4, [0.5, 1.5, 2.5], [1.0, 0.0, 2.0]
    )  # fmt: skip
    assert table_block(0, table[["a", "y"]], 1).weight is None
    found = survey_partition(block, block, ["a"], lambda y, weight: len(y))
    assert (found.n_rows, found.target) == (2, 2)
    X, y, weight = _rows(block, np.array([1]))  # among rows with a weight
    assert (X.tolist(), y.tolist(), weight.tolist()) == ([[3.0]], [2.5], [2.0])
    weightless = raw_block(0, np.ones((2, 1)), np.ones(2), np.zeros(2))
    empty = raw_block(0, np.ones((0, 1)), np.ones(0))
    for block in (weightless, empty):
        assert survey_partition(block, block, None, lambda y, weight: 0) is None


def test_collections_that_do_not_fit_are_refused():
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    dd = pytest.importorskip("dask.dataframe", reason="Dask's tables are not installed")
    X, y = da.ones((6, 2), chunks=(3, 2)), da.ones(6, chunks=3)
    frame = dd.from_pandas(pd.DataFrame({"a": [1.0], "y": [2.0], "t": ["x"]}), npartitions=1)
    for arguments, words in (
        ((X, None, None, "y"), "A Dask array has no column names"),
        ((X, y, "w", None), "A Dask array has no column names"),
        ((y, y, None, None), "two dimensions, but has 1"),
        ((frame, None, None, "z"), "There is no column 'z'; the columns are a, y, t"),
        ((frame, y, None, "y"), "either y or the name of its column"),
        ((frame, None, None, "y"), "Column 't' holds .* numbers are needed"),
        ((X, None, None, None), "fit needs y"),
    ):
        with pytest.raises(SourceError, match=words):
            columns(*arguments)
    with pytest.raises(SourceError, match="y has 5 rows, but X has 6"):
        partitions(da.ones(5, chunks=5), X)
    with pytest.raises(SourceError, match="one is a list"):
        partitions([1.0] * 6, X)
    assert len(partitions(da.ones(6, chunks=6), X)) == 2  # cut as X is
