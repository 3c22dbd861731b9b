"""``bank predict`` and ``bank inspect`` with awkward names and labels."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from banklearn import load_model
from banklearn.cli.predictions import _labels
from command_line import QUICK, bank


@pytest.fixture
def fitted(tmp_path):
    """Fits a table of x and a target of any name; the paths of table and model."""

    def fit(name, values=None):
        x = np.linspace(-1.0, 1.0, 40)
        values = [f"{v:.4f}" for v in np.sin(3 * x)] if values is None else values
        data, model = tmp_path / "d[0].csv", tmp_path / "m.bank"
        rows = [f"{a:.4f},{b}" for a, b in zip(x, values, strict=True)]
        data.write_text(f"x,{name}\n" + "\n".join(rows), encoding="utf-8")
        bank("fit", data, "--target", name, "--out", model, "--holdout", "0", *QUICK)
        return data, model

    return fit


@pytest.mark.parametrize("name", ["row", "line", "lower", "upper"])
def test_a_target_keeps_its_name_and_loses_no_column(name, fitted, tmp_path):
    data, model = fitted(name)
    out = tmp_path / "p.parquet"
    words = ("predict", model, data, "--out", out, "--interval", "0.9", "--json")
    found = json.loads(bank(*words).stdout)
    table = pq.read_table(out).to_pydict()
    assert list(table) == found["columns"]
    assert set(table) == {"row", "line", "lower", "upper", f"{name}_"}

    def helper(column):
        return np.array(table[f"{column}_" if column == name else column])

    np.testing.assert_array_equal(helper("row"), np.arange(1, 41))
    np.testing.assert_array_equal(helper("line"), np.arange(2, 42))
    assert (helper("lower") < np.array(table[name])).all()
    assert (np.array(table[name]) < helper("upper")).all()


def test_a_target_called_as_the_probability_of_its_class(fitted, tmp_path):
    data, model = fitted("P(a)", ["a", "b"] * 20)
    bank("predict", model, data, "--out", tmp_path / "p.parquet")
    table = pq.read_table(tmp_path / "p.parquet").to_pydict()
    assert set(table["P(a)"]) <= {"a", "b"}
    np.testing.assert_allclose(np.array(table["P(a)_"]) + np.array(table["P(b)"]), 1.0)


@pytest.mark.parametrize(
    "words", [["1", "²"], ["--1", "2"], ["1", "9" * 20], ["01", "1"], ["-0", "0"], ["٣", "1"]]
)
def test_labels_that_only_look_like_numbers_stay_words(words):
    assert _labels(words).tolist() == words


def test_labels_that_are_whole_numbers():
    assert _labels(["-12", "0", "7"]).tolist() == [-12, 0, 7]


def test_predictions_are_there_although_the_target_cannot_be_read(fitted, tmp_path):
    data, model = fitted("y")
    data.write_text("x,y\n0.1,0.3\n0.2,oops\n")
    out = tmp_path / "p.parquet"
    result = bank("predict", model, data, "--out", out, "--json")
    found = json.loads(result.stdout)
    assert found["scores"] is None
    assert "The predictions are not scored: " in found["notes"][-1]
    assert "'oops'" in result.stderr
    assert "Wrote 2 predictions" in result.stderr
    assert pq.read_table(out).num_rows == 2


def test_a_target_without_a_value_gives_no_scores(fitted, tmp_path):
    data, model = fitted("y")
    data.write_text("x,y\n0.1,\n0.2,NA\n")
    result = bank("predict", model, data, "--out", tmp_path / "p.parquet", "--json")
    assert json.loads(result.stdout)["scores"] is None
    assert "The table has 'y' too" not in result.stderr
    assert "Wrote 2 predictions" in result.stderr


def test_rows_of_a_file_without_lines_have_numbers_only(fitted, tmp_path):
    _, model = fitted("y")
    x = np.linspace(-1.0, 1.0, 5)
    pq.write_table(pa.table({"x": x}), tmp_path / "new.parquet")
    bank("predict", model, tmp_path / "new.parquet", "--out", tmp_path / "p.parquet")
    table = pq.read_table(tmp_path / "p.parquet").to_pydict()
    assert list(table) == ["row", "y"]
    np.testing.assert_allclose(table["y"], load_model(model).predict(x[:, None]))


def test_inspect_prints_brackets_as_they_are(fitted):
    _, model = fitted("y [/bold] [red]")
    printed = " ".join(bank("inspect", model).stdout.split())
    assert "regression of 'y [/bold] [red]', fitted to 40 rows of d[0].csv;" in printed
