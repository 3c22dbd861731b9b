"""What a source is made of, and what is refused before a row is read."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from banklearn import sources
from banklearn.sources import ArraySource, BlockSource, SourceError, as_source
from banklearn.sources.survey import survey, take_rows
from banklearn.sources.values import as_numbers, as_target

X = np.arange(12.0).reshape(6, 2)
Y = np.arange(6.0)


@pytest.fixture
def parquet(tmp_path):
    table = pa.table({"a": X[:, 0], "label": pa.array(list("xyxyxy")).dictionary_encode()})
    pq.write_table(table, tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def test_names_of_the_module():
    assert sources.TableSource.__name__ == "TableSource"
    with pytest.raises(AttributeError, match="has no attribute 'NoSource'"):
        sources.NoSource  # noqa: B018 (the access is what is tested)


def test_what_is_in_memory_is_no_source():
    for there in (X, X.tolist(), {"a": [1.0]}, "text", [(1, 2)], ()):
        assert as_source(there, Y, None, None) is None
    assert as_source({"a": [1.0]}, None, None, None) is None


def test_blocks_and_sources_bring_everything_themselves():
    source = as_source([(X, Y)], None, None, None)
    assert isinstance(source, BlockSource)
    assert as_source(source, None, None, None) is source
    for y, weight, target in ((Y, None, None), (None, Y, None), (None, None, "a")):
        with pytest.raises(SourceError, match="a source, which brings y and weights itself"):
            as_source(source, y, weight, target)
    with pytest.raises(SourceError, match="can be read only once"):
        as_source(iter([(X, Y)]), None, None, None)


def test_files_need_the_name_of_a_column(parquet):
    assert as_source(str(parquet), None, None, "label").names == ["a"]
    with pytest.raises(SourceError, match="name the column to predict"):
        as_source(parquet, None, None, None)
    with pytest.raises(SourceError, match="name the column to predict"):
        as_source(parquet, Y, None, "label")
    with pytest.raises(SourceError, match="sample_weight is the name of a column"):
        as_source(parquet, None, Y, "label")
    with pytest.raises(SourceError, match="but X is a ndarray; pass its target as y"):
        as_source(X, None, None, "label")
    with pytest.raises(SourceError, match="Beside 'a' there is no column to learn from"):
        sources.DatasetSource(ds.dataset(parquet), "a", None, "label")


@pytest.mark.parametrize("dataset", [False, True])
def test_a_dictionary_is_the_words_that_it_stands_for(parquet, dataset):
    given = ds.dataset(parquet) if dataset else parquet
    (block,) = as_source(given, None, None, "label").blocks()
    assert block.y.tolist() == list("xyxyxy")
    np.testing.assert_array_equal(block.X[:, 0], X[:, 0])


def test_files_without_rows_are_passed_over(parquet):
    empty = pq.read_table(parquet).slice(0, 0)
    pq.write_table(empty, parquet.with_name("a-first.parquet"))
    for given in (parquet.parent, ds.dataset(parquet.parent)):
        blocks = list(as_source(given, None, None, "label").blocks())
        assert [(b.number, b.row, len(b.X)) for b in blocks] == [(0, 0, 6)]


def test_a_memory_map_is_read_in_blocks_where_it_is_large(tmp_path, monkeypatch):
    mapped = np.memmap(tmp_path / "X", dtype=float, shape=X.shape, mode="w+")
    mapped[:] = X
    assert as_source(mapped, Y, None, None) is None
    monkeypatch.setattr("banklearn.sources.recognise.MEMMAP_BYTES", 10)
    source = as_source(mapped, Y, None, None)
    assert isinstance(source, ArraySource)
    assert source.n_rows == 6
    with pytest.raises(SourceError, match="fit needs y"):
        as_source(mapped, None, None, None)


def test_arrays_of_other_shapes_are_refused():
    with pytest.raises(SourceError, match=r"X must have two dimensions, but has shape \(6,\)"):
        ArraySource(Y, Y)
    with pytest.raises(SourceError, match=r"y has shape \(5,\), but X has 6 rows"):
        ArraySource(X, Y[:5])
    with pytest.raises(SourceError, match=r"sample_weight has shape \(4,\), but X has 6 rows"):
        ArraySource(X, Y.tolist(), [1.0] * 4)


class Damaged:
    shape, chunks = (6, 2), (2, 2)

    def __getitem__(self, rows):
        if rows.stop > 4:
            raise OSError("checksum error")
        return X[rows]


def test_rows_are_read_by_chunks_and_named_where_they_cannot_be():
    source = ArraySource(Damaged(), Y[:, None], None, rows_at_once=3)
    assert source.rows_at_once == 2
    read = source.blocks()
    for start in (0, 2):
        block = next(read)
        assert block.row == start
        assert block.y.tolist() == [start, start + 1.0]
    with pytest.raises(SourceError, match="Rows 4 to 5 cannot be read: checksum error"):
        next(read)


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([(X,)], "Block 0 is a tuple of 1, but a tuple"),
        ([(X, Y), X], "Block 1 is a ndarray, but a tuple"),
        ([(3.0, Y)], "X of block 0 is one number"),
        ([(X, Y, np.ones(5))], r"weights of shape \(5,\) for 6 rows"),
        ([(Y, Y)], r"inputs of shape \(6,\); rows and columns are needed"),
        ([(X[:, :0], Y)], r"inputs of shape \(6, 0\); rows and columns are needed"),
        ([(X, Y, np.zeros(6))], "no row with a weight above zero"),
        ([(X[:0], Y[:0])], "no row with a weight above zero"),
    ],
)
def test_blocks_that_are_none(blocks, words):
    with pytest.raises(SourceError, match=words):
        survey(BlockSource(blocks), lambda y, weight: 0)


def test_empty_blocks_are_passed_over_and_rows_counted_on():
    source = BlockSource([(X[:2], Y[:2]), (X[:0], Y[:0]), (X[2:], Y[2:])])
    assert [(b.number, b.row) for b in source.blocks()] == [(0, 0), (2, 2)]


def test_rows_are_taken_from_the_blocks_that_have_them():
    weight = np.array([1.0, 0.0, 1.0, 1.0, 2.0, 1.0])
    source = BlockSource([(X[i : i + 2], Y[i : i + 2], weight[i : i + 2]) for i in (0, 2, 4)])
    rows, y, weights = take_rows(source, np.array([0, 3, 4]))  # among those with a weight
    assert y.tolist() == [0.0, 4.0, 5.0]
    assert weights.tolist() == [1.0, 2.0, 1.0]
    np.testing.assert_array_equal(rows, X[[0, 4, 5]])
    assert take_rows(source, np.array([4]))[1].tolist() == [5.0]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([[1.0], [1.0, 2.0]], "rows of different lengths"),
        (np.array([1j]), "complex numbers"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "dates or times"),
        (np.array([np.timedelta64(3, "s"), 1.0], dtype=object), "dates or times"),
        ([10**400], "an integer beyond"),
        (["one"], "no numbers"),
        (np.ma.masked_array([1.0, 2.0], [False, True]), "1 masked values"),
    ],
)
def test_values_that_are_no_numbers(values, words):
    with pytest.raises(SourceError, match=f"^X .*{words}"):
        as_numbers(values, "X")


def test_targets_may_be_anything_but_ragged_or_masked():
    assert as_target(["a", "b"], "y").tolist() == ["a", "b"]
    with pytest.raises(SourceError, match="y holds rows of different lengths"):
        as_target([[1.0], [1.0, 2.0]], "y")
    with pytest.raises(SourceError, match="y is a masked array"):
        as_target(np.ma.masked_array([1.0, 2.0], [False, True]), "y")
