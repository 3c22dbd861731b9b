"""Data that cannot be used stop the first pass with one sentence that says where."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pq
import pytest

from banklearn import BankClassifier, BankRegressor
from banklearn.estimators.blockwise import summarise_labels
from banklearn.sources import SourceError, TableSource
from banklearn.sources.files import find_files
from banklearn.sources.tables import CSV_BYTES


def table(rows=50, seed=0, **more):
    rng = np.random.default_rng(seed)
    columns = {"a": rng.standard_normal(rows), "b": rng.integers(0, 9, rows), **more}
    return pa.table({**columns, "y": rng.standard_normal(rows)})


def refuse(given, words, estimator=BankRegressor, **options):
    model = estimator(n_frequencies=2, n_warmup=0, n_draws=1, n_chains=1)
    with pytest.raises((SourceError, FileNotFoundError), match=words) as caught:
        model.fit(given, **options)
    assert "\n" not in str(caught.value)
    assert not hasattr(model, "draws_")


def test_a_truncated_parquet_file(tmp_path):
    pq.write_table(table(), tmp_path / "a.parquet")
    pq.write_table(table(), tmp_path / "b.parquet")
    whole = (tmp_path / "b.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[: len(whole) // 2])
    refuse(tmp_path, r"^b\.parquet cannot be read as Parquet: .*cut short", target="y")
    dataset = pa_dataset.dataset([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    refuse(dataset, r"dataset cannot be read: .*b\.parquet.*cut short", target="y")


def test_a_truncated_csv_file(tmp_path):
    pa_csv.write_csv(table(), tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text()
    (tmp_path / "a.csv").write_text(text[: text.rindex(",")])
    refuse(tmp_path / "a.csv", r"^a\.csv cannot be read as CSV: .*Expected 3 columns", target="y")


def test_a_column_that_is_not_in_every_file(tmp_path):
    pq.write_table(table(), tmp_path / "a.parquet")
    pq.write_table(table().drop_columns("b"), tmp_path / "b.parquet")
    refuse(tmp_path, r"^b\.parquet has no column 'b', which a\.parquet has", target="y")


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_column_that_the_first_file_does_not_have(ending, tmp_path):
    write = pq.write_table if ending == "parquet" else pa_csv.write_csv
    write(table(), tmp_path / f"a.{ending}")
    write(table(c=np.arange(50)), tmp_path / f"b.{ending}")
    refuse(tmp_path, rf"^b\.{ending} has a column 'c', which a\.{ending} has not", target="y")
    named = TableSource(tmp_path, "y", inputs=["a", "b"])
    named.check()
    assert sum(len(block.X) for block in named.blocks()) == 100


def test_the_file_whose_columns_count_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,y,c\n")  # of CSV files the first that has rows
    pa_csv.write_csv(table(), tmp_path / "b.csv")
    refuse(tmp_path, r"^a\.csv has a column 'c', which b\.csv has not", target="y")


def test_row_labels_in_a_later_file_are_no_column(tmp_path):
    pq.write_table(table(), tmp_path / "a.parquet")
    pq.write_table(table(__index_level_0__=np.arange(50)), tmp_path / "b.parquet")
    source = TableSource(tmp_path, "y")
    source.check()
    assert source.n_rows == 100


def test_a_column_of_another_type(tmp_path):
    pq.write_table(table(), tmp_path / "a.parquet")
    text = table().set_column(1, "b", pa.array(["no"] * 50))
    pq.write_table(text, tmp_path / "b.parquet")
    refuse(tmp_path, r"'b' is string in b\.parquet, but int64 in a\.parquet", target="y")


def test_whole_numbers_in_one_file_and_fractions_in_the_next_are_fine(tmp_path):
    pa_csv.write_csv(table(), tmp_path / "a.csv")
    halves = table().set_column(1, "b", pa.array(np.arange(50) / 2))
    pa_csv.write_csv(halves, tmp_path / "b.csv")
    model = BankRegressor(n_frequencies=2, n_warmup=0, n_draws=1, n_chains=1)
    assert model.fit(tmp_path, target="y").n_features_in_ == 2


def test_a_missing_value_is_found_by_block_file_and_row(tmp_path):
    pq.write_table(table(), tmp_path / "a.parquet")
    values = np.arange(50.0)
    values[[17, 40]] = np.nan
    pq.write_table(table().set_column(0, "a", pa.array(values)), tmp_path / "b.parquet")
    words = r"Input 'a' .* row 17 of block 1 \(row 17 of b\.parquet\)"
    refuse(tmp_path, words, target="y")


def test_a_nan_in_block_731():
    X, y = np.zeros((3, 2)), np.zeros(3)
    bad = X.copy()
    bad[2, 1] = np.nan
    blocks = [(X, y)] * 731 + [(bad, y)] + [(X, y)] * 5
    refuse(blocks, r"Input 1 is missing, NaN or infinite in row 2 of block 731 \(row 2195")


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ((np.zeros((3, 3)), np.zeros(3)), "Block 1 .*has 3 inputs, but the first block has 2"),
        ((np.zeros((3, 2)), np.zeros(2)), "Block 1 .*has y of shape"),
        ((np.zeros((3, 2)), np.zeros(3), np.ones(3)), "Block 1 .*weighted, unlike"),
        ((np.zeros((3, 2)), np.array([0, np.nan, 1])), "Block 1 .*y contains NaN"),
        ((np.array([["x", "y"]]), np.zeros(1)), "X of block 1 holds values that are no numbers"),
    ],
)
def test_a_block_unlike_the_others(block, words):
    refuse([(np.zeros((3, 2)), np.zeros(3)), block], words)


def test_frames_with_other_columns():
    first, second = frame(rows=30), frame(rows=30, seed=1)
    words = "^Block 1 has the columns b, a, but the first block has a, b. Give all blocks the same"
    refuse([first, (second[0][["b", "a"]], second[1])], words)
    renamed = second[0].rename(columns={"b": "c"})
    refuse([first, (renamed, second[1])], "Block 1 has the columns a, c, but the first")


def frame(**options):
    """A block with names."""
    columns = table(**options).to_pandas()
    return columns[["a", "b"]], columns["y"].to_numpy()


def test_frames_name_the_inputs():
    """Of blocks whose first has none, nothing is known; a later fit forgets the names."""
    one, other = frame(rows=30), frame(rows=30, seed=1)
    model = BankRegressor(n_frequencies=2, n_warmup=0, n_draws=1, n_chains=1, random_state=0)
    named = model.fit([one, other])
    assert named.feature_names_in_.tolist() == ["a", "b"]
    expected = named.predict(one[0])
    with pytest.raises(ValueError, match="feature names"):
        named.predict(one[0][["b", "a"]])
    plain = (one[0].to_numpy(), one[1])
    same = model.fit([one, (other[0].to_numpy(), other[1])])
    np.testing.assert_array_equal(same.predict(one[0]), expected)
    assert not hasattr(model.fit([plain, other]), "feature_names_in_")
    np.testing.assert_array_equal(model.predict(plain[0]), expected)


def test_columns_of_the_same_name(tmp_path):
    twins = table().rename_columns(["a", "a", "y"])
    pq.write_table(twins, tmp_path / "a.parquet")
    pa_csv.write_csv(twins, tmp_path / "a.csv")
    for file in ("a.parquet", "a.csv"):
        refuse(tmp_path / file, "several columns of the same name: 'a'. Rename", target="y")


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_columns_of_the_same_name_in_a_later_file(ending, tmp_path):
    write = pq.write_table if ending == "parquet" else pa_csv.write_csv
    write(table(), tmp_path / f"a.{ending}")
    write(table(c=np.arange(50)).rename_columns(["a", "b", "a", "y"]), tmp_path / f"b.{ending}")
    refuse(tmp_path, rf"same name in b\.{ending}: 'a'. Rename", target="y")


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ("ab", "a list of names, but is the text 'ab'"),
        (["a", "a"], "names a column twice: a, a"),
        (["a", "y"], "Column 'y' is the target or the weight"),
        (["a", "b"], "Column 'b' is the target or the weight"),
        ([], "there is no column to learn from"),
        (["a", "c"], "There is no column 'c'"),
    ],
)
def test_inputs_that_cannot_be_meant(inputs, words, tmp_path):
    pq.write_table(table(), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=words):
        TableSource(tmp_path, "y", inputs=inputs, weight="b")


@pytest.mark.parametrize("dataset", [False, True])
def test_row_labels_of_pandas_are_no_input(dataset, tmp_path):
    """A frame that was filtered or shuffled is written with them."""
    file = tmp_path / "a.parquet"
    table().to_pandas().sample(40, random_state=0).to_parquet(file)
    assert "__index_level_0__" in pq.read_schema(file).names
    given = pa_dataset.dataset(file) if dataset else file
    model = BankRegressor(n_frequencies=2, n_warmup=0, n_draws=1, n_chains=1)
    assert model.fit(given, target="y").feature_names_in_.tolist() == ["a", "b"]
    asked = TableSource(file, "y", inputs=["__index_level_0__"])
    assert asked.names == ["__index_level_0__"]


def test_an_impossible_weight():
    weights = np.ones(3)
    weights[1] = -2
    block = (np.zeros((3, 2)), np.zeros(3), weights)
    refuse([block], r"The weight is -2\.0 in row 1 of block 0")
    refuse([(np.zeros((3, 2)), np.zeros(3), np.zeros(3))], "no row with a weight above zero")


def test_numbers_whose_differences_are_no_numbers(tmp_path):
    columns = table(c=np.where(np.arange(50) == 9, -1.7e308, 1.0))
    pq.write_table(columns, tmp_path / "a.parquet")
    words = r"Input 'c' is -1\.7e\+308 in row 9 of block 0 \(row 9 of a\.parquet\).*larger unit"
    refuse(tmp_path, words, target="y")
    refuse(tmp_path, r"Block 0 \(in a\.parquet\): y holds -1\.7e\+308 in row 9", target="c")
    refuse([(np.full((3, 2), 1.7e308), np.zeros(3))], r"Input 0 is 1\.7e\+308 in row 0 of block 0")


def test_weights_that_mean_nothing():
    model = BankRegressor(n_frequencies=2, n_warmup=0, n_draws=1, n_chains=1)
    block = (np.arange(6.0).reshape(3, 2), np.arange(3.0), np.full(3, 1e99))
    with pytest.raises(ValueError, match=r"The weight of all rows adds up to 3e.99"):
        model.fit([block])


def test_columns_that_are_no_numbers(tmp_path):
    pq.write_table(table(c=["text"] * 50), tmp_path / "a.parquet")
    refuse(tmp_path, "Column 'c' holds string", target="y")
    refuse(tmp_path, "no column 'z'", target="z")
    dates = pa.array(np.arange(50), pa.timestamp("s"))
    pq.write_table(table(c=dates), tmp_path / "a.parquet")
    refuse(tmp_path, "'c' holds dates", target="y")


def test_missing_labels(tmp_path):
    labels = pa.array(["u", None] * 25)
    pq.write_table(table().set_column(2, "y", labels), tmp_path / "a.parquet")
    refuse(tmp_path, "a.parquet.: y has no label in row 1", BankClassifier, target="y")


def test_paths_that_lead_nowhere(tmp_path):
    refuse(tmp_path, "No Parquet or CSV file", target="y")
    (tmp_path / "notes.txt").write_text("x")
    refuse(tmp_path / "notes.txt", "'notes.txt' is neither", target="y")


def labels(tmp_path, name, given):
    """A file with these labels."""
    columns = table(rows=len(given)).set_column(2, "y", pa.array(given, pa.string()))
    pa_csv.write_csv(columns, tmp_path / name)
    return tmp_path / name


@pytest.mark.parametrize("given", [[None, *25 * ["p", "q"]], ["NA", *25 * ["p", "q"]]])
def test_a_csv_without_some_labels(given, tmp_path):
    words = r"^Block 0 \(in a.csv\): y has no label in row 0"
    refuse(labels(tmp_path, "a.csv", given), words, BankClassifier, target="y")


def test_labels_of_two_kinds():
    """On a cluster, where pieces are summed up on their own, by their sums."""
    X, y = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40) % 2
    for first, second, kind in (
        (y, y.astype(str), "text"),
        (y.astype(str), y.astype(float), "no text"),
    ):
        words = f"^Block 1 .* has {kind} in y, unlike the first block: 0.* here, 0.* there. Make"
        refuse([(X[:20], first[:20]), (X[20:], second[20:])], words, BankClassifier)
        parts = [summarise_labels(labels, None) for labels in (first, second)]
        with pytest.raises(ValueError, match="y mixes text and other labels: '0' in some blocks"):
            sum(parts[1:], parts[0])


def test_what_programs_put_aside_is_not_read(tmp_path):
    for folder in (".", "deep/er", ".ipynb_checkpoints", "_temporary/0"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        pa_csv.write_csv(table(), tmp_path / folder / "a.csv")
    pa_csv.write_csv(table(), tmp_path / "_b.csv")
    found = [file.relative_to(tmp_path).as_posix() for file in find_files(tmp_path)]
    assert found == ["a.csv", "deep/er/a.csv"]
    assert len(find_files(str(tmp_path / "**" / "a.csv"))) >= 3  # every folder, as asked for


def test_a_partitioned_folder_is_a_dataset(tmp_path):
    pq.write_to_dataset(table(g=np.arange(50) % 2), tmp_path, partition_cols=["g"])
    refuse(tmp_path, r"is partitioned: .*'g=0' holds a column. Pass pyarrow.dataset", target="y")


def test_a_column_that_is_target_and_weight(tmp_path):
    pq.write_table(table(), tmp_path / "a.parquet")
    words = "'y' cannot be the target and the weight at once"
    refuse(tmp_path / "a.parquet", words, target="y", sample_weight="y")


def test_the_row_labels_of_a_csv_are_no_input(tmp_path):
    table().to_pandas().to_csv(tmp_path / "a.csv")
    assert TableSource(tmp_path / "a.csv", "y").names == ["a", "b"]


def test_whole_numbers_to_predict_before_fractions(tmp_path):
    """In files of their own; in one file it depends on how far the first look goes."""
    whole = table().set_column(2, "y", pa.array(np.arange(50)))
    empty = whole.slice(0, 0)
    for name, part in (("a", empty), ("b", whole), ("c", table(seed=1)), ("d", empty)):
        pa_csv.write_csv(part, tmp_path / f"{name}.csv")
    model = BankRegressor(n_frequencies=2, n_warmup=0, n_draws=1, n_chains=1)
    assert model.fit(tmp_path, target="y").provenance_["rows"] == 100
    text = "a,b,y\n" + CSV_BYTES // 8 * "1.5,2,3\n" + "1.5,2,0.25\n"
    (tmp_path / "e.csv").write_text(text)
    words = "e.csv cannot be read as CSV: .*'0.25'.*numbers to predict with a fraction"
    refuse(tmp_path / "e.csv", words, target="y")


def test_labels_behind_a_file_without_rows(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,y\n")
    labels(tmp_path, "b.csv", 25 * ["p", "q"])
    model = BankClassifier(n_frequencies=2, n_warmup=0, n_draws=1, n_chains=1)
    assert model.fit(tmp_path, target="y").classes_.tolist() == ["p", "q"]


def test_targets_in_one_column():
    X, y = frame(rows=30)
    model = BankRegressor(n_frequencies=2, n_warmup=0, n_draws=1, n_chains=1, random_state=0)
    expected = model.fit([(X, y)]).predict(X)
    np.testing.assert_array_equal(model.fit([(X, y[:, None])]).predict(X), expected)
