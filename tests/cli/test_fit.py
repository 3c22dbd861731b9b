"""``bank fit``: what is refused is refused before the fit, and scores are called what they are."""

import time

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from banklearn import load_model
from banklearn.cli.prepare import held_out
from banklearn.posterior import settling
from command_line import QUICK, bank


@pytest.fixture
def numbers(tmp_path):
    """A table of x and y whose cell of x at a row can be set."""

    def write(**cells):
        x = np.random.default_rng(0).standard_normal(60).round(6)
        words = {f"r{i}": str(value) for i, value in enumerate(x)} | cells
        rows = [f"{words[f'r{i}']},{np.sin(2 * value):.6f}" for i, value in enumerate(x)]
        path = tmp_path / "numbers.csv"
        path.write_text("x,y\n" + "\n".join(rows) + "\n")
        return path

    return write


def test_a_bad_cell_in_a_held_out_row_is_refused_before_the_fit(numbers, tmp_path):
    _, test = held_out(np.zeros(60), 0.2, "regression", 0)
    row = int(test[3])
    out = tmp_path / "m.bank"
    start = time.monotonic()
    result = bank(
        "fit", numbers(**{f"r{row}": "oops"}), "--target", "y", "--out", out, "--quiet",
        "--frequencies", "8", "--draws", "1000000", "--max-time", "60s", code=3,
    )  # fmt: skip
    assert time.monotonic() - start < 30.0  # the fit would have taken its sixty seconds
    assert f"line {row + 2}, column 'x'" in result.stderr
    assert "'oops'" in result.stderr
    assert not list(tmp_path.glob("m.bank*"))


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_a_page_on_training_rows_says_so(kind, numbers, tmp_path):
    data, page = numbers(), tmp_path / "page.html"
    if kind == "classification":
        head, *rows = data.read_text().splitlines()
        rows = [row.rsplit(",", 1)[0] + (",no" if ",-" in row else ",yes") for row in rows]
        data.write_text("\n".join([head, *rows]))
    model = tmp_path / "m.bank"
    words = ("fit", data, "--target", "y", "--out", model, "--report", page, *QUICK)
    result = bank(*words, "--holdout", "0")
    assert "judges it by training rows" in result.stderr
    bank("report", model, data, "--out", tmp_path / "again.html")
    for path in (page, tmp_path / "again.html"):
        text = path.read_text(encoding="utf-8")
        assert "kept out" not in text
        assert "<h2>Scores on rows that the fit has seen</h2>" in text
        assert "On 60 rows that the fit has seen, " in text
        assert "The scores on this page are of rows that the fit has seen" in text
        assert "rows shown, seen by the fit" in text
    assert "Too few rows were kept out" in bank(*words, "--holdout", "0.01").stderr
    assert "On 59 rows that the fit has seen, " in page.read_text(encoding="utf-8")
    bank(*words)
    text = page.read_text(encoding="utf-8")
    assert "On 12 rows kept out of the fit, " in text
    assert "has seen" not in text


@pytest.mark.parametrize("draws", ["0", "2.5", "-3", "many", ""])
def test_a_number_of_draws_that_is_none_is_refused(draws, numbers, tmp_path):
    out = tmp_path / "m.bank"
    words = ("fit", numbers(), "--target", "y", "--out", out, "--quiet", f"--draws={draws}")
    assert "neither a whole number" in bank(*words, code=2).stderr


def test_draws_until_the_chains_have_settled(numbers, tmp_path, monkeypatch):
    monkeypatch.setattr(settling, "LOOKS", (8, 10))
    out = tmp_path / "m.bank"
    bank("fit", numbers(), "--target", "y", "--out", out, *QUICK, "--draws", "auto")
    model = load_model(out)
    assert model.n_draws == "auto"
    assert model.settling_["draws"] in (8, 10)


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_the_target_cannot_be_left_out(command, numbers, tmp_path):
    out = ("--out", tmp_path / "m.bank") if command == "fit" else ()
    words = (command, numbers(), "--target", "y", *out)
    said = " ".join(bank(*words, "--drop", "x", "--drop", "y", code=2).stderr.split())
    assert "'y' is the target, which cannot be left out" in said
    assert not list(tmp_path.glob("m.bank*"))


@pytest.mark.parametrize("share", [0.05, 0.2, 0.8, 0.99])
@pytest.mark.parametrize("counts", [(59, 1), (48, 4, 4, 2, 1, 1), (1, 1, 58), (6, 1, 1), (2,) * 30])
def test_every_class_has_a_row_in_training(counts, share):
    y = np.repeat([f"c{k:02}" for k in range(len(counts))], counts)
    for seed in range(30):
        train, test = held_out(y, share, "classification", seed)
        assert set(y[train]) == set(y)
        np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(len(y)))
        most = min(np.ceil(share * len(y)), len(y) - len(counts))
        assert most - len(counts) <= len(test) <= most


def test_what_is_held_out_of_ordinary_classes_is_a_stratified_part():
    y = np.repeat(["a", "b"], [40, 20])
    train, test = held_out(y, 0.2, "classification", 0)
    split = train_test_split(np.arange(60), test_size=0.2, random_state=0, stratify=y)
    np.testing.assert_array_equal(train, np.sort(split[0]))
    np.testing.assert_array_equal(test, np.sort(split[1]))
