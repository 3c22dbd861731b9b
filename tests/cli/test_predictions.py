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


def test_labels_that_the_model_does_not_know_are_told_and_not_scored(fitted, tmp_path):
    data, model = fitted("y", ["1", "2"] * 20)
    rows = data.read_text(encoding="utf-8").splitlines()
    known = [rows[0], *(row + ".0" for row in rows[1:])]  # as pandas writes them
    strange = [*known[:39], known[39].replace(",1.0", ",9.0"), known[40]]
    found = []
    for content in (known, strange):
        data.write_text("\n".join(content), encoding="utf-8")
        words = ("predict", model, data, "--out", tmp_path / "p.csv", "--json")
        found.append(json.loads(bank(*words).stdout))
    assert found[0]["notes"] == []
    assert "1 row with a label that the model does not know ('9')" in found[1]["notes"][-1]
    assert found[0]["scores"]["log_loss"] < 5.0
    assert found[1]["scores"]["log_loss"] < 5.0


def test_predictions_that_cannot_be_written_leave_those_that_are_there(
    fitted, tmp_path, monkeypatch
):
    data, model = fitted("y")
    out = tmp_path / "p.csv"
    out.write_text("earlier predictions", encoding="utf-8")

    def full(table, file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("banklearn.cli.predictions.csv.write_csv", full)
    told = bank("predict", model, data, "--out", out, code=6).output
    assert "p.csv cannot be read or written: No space left" in " ".join(told.split())
    assert out.read_text(encoding="utf-8") == "earlier predictions"
    assert [path.name for path in tmp_path.iterdir() if ".part" in path.name] == []


def test_a_model_with_a_table_of_somebody_else_s_own(fitted, tmp_path):
    _, model = fitted("y")
    load_model(model).save(tmp_path / "own.bank", extra={"table": "customers"})
    assert "saved from Python" in " ".join(bank("inspect", tmp_path / "own.bank").output.split())


def test_the_demo_writes_over_no_table(tmp_path):
    mine = tmp_path / "mine.csv"
    mine.write_text("a,b\n1,2\n", encoding="utf-8")
    assert "is there already" in " ".join(bank("demo", "--table", mine, code=2).output.split())
    assert mine.read_text(encoding="utf-8") == "a,b\n1,2\n"


def test_encodings_that_are_none(fitted, tmp_path):
    data, _ = fitted("y")
    words = ("fit", data, "--target", "y", "--out", tmp_path / "m2.bank", "--encoding")
    for name in ("rot13", "base64", "utf-99"):
        assert "is not an encoding" in " ".join(bank(*words, name, code=2).output.split())
