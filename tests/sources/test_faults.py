"""Data that cannot be used stop the first pass with one sentence that says where."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as pa_dataset
import pyarrow.parquet as pq
import pytest

from banklearn import BankClassifier, BankRegressor
from banklearn.sources import SourceError


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
    refuse(tmp_path, "y has missing values", BankClassifier, target="y")


def test_paths_that_lead_nowhere(tmp_path):
    refuse(tmp_path, "No Parquet or CSV file", target="y")
    (tmp_path / "notes.txt").write_text("x")
    refuse(tmp_path / "notes.txt", "'notes.txt' is neither", target="y")
