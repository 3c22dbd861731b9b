"""``bank report``: rows are counted, named and called what they are."""

import json

import pytest

from banklearn.datasets.flats import write_flats
from command_line import QUICK, bank


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_flats(folder / "flats.csv", rows=80)
    bank("fit", folder / "flats.csv", "--target", "price", "--out", folder / "m.bank", *QUICK)
    return folder


def written(folder, data, *words):
    result = bank("report", folder / "m.bank", data, "--out", folder / "r.html", "--json", *words)
    return result, json.loads(result.stdout), (folder / "r.html").read_text(encoding="utf-8")


def test_rows_without_a_target_are_named(fitted, tmp_path):
    other = tmp_path / "other.csv"
    write_flats(other, seed=5, rows=40)
    head, *rows = other.read_text(encoding="utf-8").splitlines()
    at = head.split(",").index("price")
    for i in (3, 7):
        cells = rows[i].split(",")
        cells[at] = ""
        rows[i] = ",".join(cells)
    other.write_text("\n".join([head, *rows]), encoding="utf-8")
    result, found, page = written(fitted, other)
    said = "2 rows without a value in 'price', the target, not used: lines 5, 9."
    assert said in result.stderr
    assert found["unusable"] == [f"other.csv: {said}"]
    assert f"other.csv: {said}".replace("'", "&#x27;") in page
    assert "On 38 rows kept out of the fit" in page


def test_one_row_is_refused_in_a_sentence(fitted, tmp_path):
    other = tmp_path / "one.csv"
    lines = (fitted / "flats.csv").read_text(encoding="utf-8").splitlines()
    other.write_text("\n".join(lines[:2]), encoding="utf-8")
    words = ("report", fitted / "m.bank", other, "--out", tmp_path / "r.html")
    result = bank(*words, code=3)
    assert "has 1 row with a value in 'price': a report needs at least 2" in result.stderr


def test_rows_of_the_fit_are_not_called_kept_out(fitted):
    data = fitted / "flats.csv"
    result, found, page = written(fitted, data)
    assert found["warnings"] == []
    assert "On 16 rows kept out of the fit" in page
    head, first, *_ = data.read_text(encoding="utf-8").splitlines()
    price = first.split(",")[head.split(",").index("price")]
    result, found, page = written(fitted, data, "--missing", price)  # one row fewer
    assert found["fitted_file"] is True
    (warning,) = found["warnings"]
    assert warning in result.stderr
    assert "now read as 79 rows with a target in place of 80" in warning
    assert "now read as 79 rows" in page
    assert "On 79 rows that the fit may have seen" in page
    assert "kept out of the fit" not in page
