"""Tables as people have them: each is handled and explained, or refused by line and column."""

import gzip
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from banklearn.cli.prepare import prepare
from banklearn.tables import ReadOptions, TableError, TablePlan, learn_plan, read

N = 40


def lines(header: str, row: Any, n: int = N) -> list[str]:
    return [header, *(row(i) for i in range(n))]


def plain(i: int) -> str:
    return f"{i * 0.5},{(7 * i) % 11},{i % 13}"


def text(rows: list[str], end: str = "\n") -> bytes:
    return (end.join(rows) + end).encode()


def changed(line: int, new: str, rows: list[str]) -> list[str]:
    """Another text on a line, counted from 1."""
    return [new if number == line else row for number, row in enumerate(rows, start=1)]


PLAIN = lines("a,b,y", plain)
WORDS = ("red", "green", "blue")


@dataclass
class Handled:
    """What the plan says of some columns, the sentences that must appear, and rows used."""

    content: bytes
    used_as: dict[str, str]
    notes: tuple[str, ...] = ()
    unusable: tuple[str, ...] = ()
    rows: int = N
    options: ReadOptions | None = None


HANDLED = {
    "text columns of few and of many levels": Handled(
        text(lines("c,who,x,y", lambda i: f"{WORDS[i % 3]},p{i % 17},{i},{i * i}")),
        {
            "c": "text, one-hot: blue, green, red",
            "who": "text, target-encoded: 17 levels replaced by the mean target of their "
            "training rows",
            "x": "a number",
        },
    ),
    "dates with times": Handled(
        text(lines("t,y", lambda i: f"2021-03-{i % 28 + 1:02d} {i % 24:02d}:30:00,{i}")),
        {
            "t": "a date written %Y-%m-%d %H:%M:%S: days since 2021-03-01T00:30:00, and its hour "
            "and weekday on a circle"
        },
    ),
    "dates with the day first": Handled(
        text(lines("t,y", lambda i: f"{i % 28 + 1}/{i % 12 + 1}/2020,{i}")),
        {"t": "a date written %d/%m/%Y: days since 2020-01-01, and its weekday on a circle"},
    ),
    "missing values in several spellings": Handled(
        text(lines("a,c,y", lambda i: f"{('', 'NA', '-', i)[i % 4]},{('?', 'x', 'z')[i % 3]},{i}")),
        {
            "a": "a number; missing values become 21, with an indicator",
            "c": "text, one-hot: x, z, and one for missing values",
        },
        notes=("Column 'a': 30 missing values replaced by the training median.",),
    ),
    "a constant column and an empty one": Handled(
        text(lines("a,k,e,y", lambda i: f"{i},7,,{i % 13}")),
        {"k": "left out: constant, always 7", "e": "left out: every value is missing"},
    ),
    "a duplicated header": Handled(
        text(lines("a,a,,y", lambda i: f"{i},{i * i},{i % 3},{i % 13}")),
        {"a": "a number", "a (2)": "a number", "column 3": "a number"},
        notes=(
            "The name 'a' stands more than once; column 2 is called 'a (2)'.",
            "Column 3 has no name; it is called 'column 3'.",
        ),
    ),
    "row labels of pandas": Handled(
        text(lines(",a,y", lambda i: f"{i},{i * i % 7},{i % 13}")),
        {"a": "a number"},
        notes=(
            "1 column without a name before all others taken for row labels, as pandas writes "
            "them, and left out; the others are counted from there. What has a name is used.",
        ),
    ),
    "row labels of two levels": Handled(
        text(lines(",,a,y", lambda i: f"{i % 2},{i},{i * i % 7},{i % 13}")),
        {"a": "a number"},
        notes=(
            "2 columns without a name before all others taken for row labels, as pandas writes "
            "them, and left out; the others are counted from there. What has a name is used.",
        ),
    ),
    "row labels of pandas beside a name that could be theirs": Handled(
        text(lines(",column 1,,y", lambda i: f"{i},{i * i % 7},{i % 5},{i % 13}")),
        {"column 1": "a number", "column 2": "a number"},
        notes=(
            "1 column without a name before all others taken for row labels, as pandas writes "
            "them, and left out; the others are counted from there. What has a name is used.",
            "Column 2 has no name; it is called 'column 2'.",
        ),
    ),
    "nothing but a column without a name": Handled(
        text(lines(",y", lambda i: f"{i},{i % 13}")),
        {"column 1": "a number"},
        notes=("Column 1 has no name; it is called 'column 1'.",),
    ),
    "several columns without a name": Handled(
        text(lines(",,,a,y", lambda i: f"{i % 3},{i % 4},{i % 5},{i % 7},{i % 13}")),
        {"column 1": "a number", "column 3": "a number", "a": "a number"},
        notes=(
            "Column 1 has no name; it is called 'column 1'.",
            "Column 2 has no name; it is called 'column 2'.",
            "Column 3 has no name; it is called 'column 3'.",
        ),
    ),
    "a duplicated header with equal values": Handled(
        text(lines("a,a,y", lambda i: f"{i},{i},{i % 13}")),
        {"a": "a number", "a (2)": "left out: the same values as 'a'"},
    ),
    "semicolons and decimal commas": Handled(
        text(lines("a;b;y", lambda i: f"{i},5;{i}.250,75;{i}")),
        {
            "a": "a number written with a decimal comma",
            "b": "a number written with a decimal comma",
        },
        notes=("Columns are separated by a semicolon.",),
    ),
    "a byte order mark and Windows line ends": Handled(
        b"\xef\xbb\xbf" + text(PLAIN, "\r\n"), {"a": "a number", "b": "a number"}
    ),
    "UTF-16 with tabs, as spreadsheets write": Handled(
        "\n".join(lines("ä\tb\ty", lambda i: plain(i).replace(",", "\t"))).encode("utf-16"),
        {"ä": "a number", "b": "a number"},
        notes=("Columns are separated by a tab.",),
    ),
    "Windows-1252": Handled(
        "\n".join(lines("Größe,y", lambda i: f"{('klein', 'groß')[i % 2]},{i}")).encode("cp1252"),
        {"Größe": "text, one-hot: groß, klein"},
        notes=("The file is not UTF-8; it was read as Windows-1252.",),
    ),
    "Windows-1252, far down": Handled(
        text(lines("c,y", lambda i: f"{'abc'[i % 3]},{i}", 70_000)) + b"caf\xe9,3\n",
        {"c": "text, one-hot: a, b, c, café"},
        notes=("The file is not UTF-8; it was read as Windows-1252.",),
        rows=70_001,
    ),
    "gzip under another name": Handled(
        gzip.compress(text(PLAIN)), {"a": "a number", "b": "a number"}
    ),
    "line breaks and separators in quotation marks": Handled(
        text(lines("c,x,y", lambda i: f'"{WORDS[i % 3]},\nor ""so""",{i},{i}')),
        {"x": "a number"},
    ),
    "a name that ends like that of a second column": Handled(
        text(lines("a,y (2),y", plain)), {"a": "a number", "y (2)": "a number"}
    ),
    "blank lines": Handled(
        text([row for line in PLAIN for row in ("", line)]),
        {"a": "a number"},
        notes=("41 blank lines passed over.",),
    ),
    "rows without a target": Handled(
        text(changed(4, "1,2,", changed(9, "1,2,NA", PLAIN))),
        {"a": "a number"},
        unusable=("2 rows without a value in 'y', the target, not used: lines 4, 9.",),
        rows=N - 2,
    ),
    "rows of another width, on request": Handled(
        text(changed(6, "1,2", PLAIN)),
        {"a": "a number"},
        unusable=(
            "table.csv, line 6: 2 values where the header has 3 columns ('1,2'). Values are "
            "missing at its end. 1 of 40 rows is not as wide as the header: line 6.",
        ),
        rows=N - 1,
        options=ReadOptions(skip_bad_rows=True),
    ),
    "a word for missing values, on request": Handled(
        text(changed(6, "unknown,2,3", PLAIN)),
        {"a": "a number; missing values become 10, with an indicator"},
        options=ReadOptions(missing=("unknown",)),
    ),
    "an identifier": Handled(
        text(lines("id,x,y", lambda i: f"K-{i:04d},{i},{i}")),
        {
            "id": "left out: text with 40 levels in 40 rows, such as 'K-0000': an identifier or a "
            "remark (--text 'id' uses it all the same)"
        },
    ),
    "words with spaces, as regular as the commas": Handled(
        text(lines("one or two,y", lambda i: f"{WORDS[i % 3]} or so,{i % 13}")),
        {"one or two": "text, one-hot: blue or so, green or so, red or so"},
    ),
    "quoted thousands": Handled(
        text(lines("a,y", lambda i: f'"{i * 777:,}",{i}')),
        {"a": "a number written with a thousands comma"},
    ),
}


@pytest.mark.parametrize("name", HANDLED)
def test_it_is_handled_and_explained(name, tmp_path):
    case = HANDLED[name]
    path = tmp_path / "table.csv"
    path.write_bytes(case.content)
    found = prepare(path, "y", "auto", case.options or ReadOptions())
    learned = learn_plan(found.table, found.target, found.y)
    described = dict(learned.plan.describe())
    assert {key: described[key] for key in case.used_as} == case.used_as
    for sentence in case.notes:
        assert sentence in (*found.notes, *learned.notes)
    assert tuple(found.unusable) == case.unusable
    assert learned.X.shape == (case.rows, len(learned.plan.inputs))
    assert np.isfinite(learned.X).all()
    again, _ = TablePlan.from_json(learned.plan.to_json()).apply(found.table)
    assert again.shape == learned.X.shape


REFUSED = {
    "a row that is too short": (
        text(changed(6, "1,2", PLAIN)),
        ["line 6", "2 values where the header has 3 columns", "--skip-bad-rows"],
    ),
    "rows that are too long": (
        text(changed(6, "1,2,3,4", changed(9, "1,2,3,4,5", PLAIN))),
        ["line 6", "4 values where the header has 3 columns", "2 of 40 rows", "lines 6, 9"],
    ),
    "a line with another separator": (
        text(changed(12, "1;2;3", PLAIN)),
        ["line 12", "It holds a semicolon"],
    ),
    "a wide row below a line break in a cell": (
        text(changed(9, "1,2,3,4", changed(3, '"1\n",2,3', PLAIN))),
        ["line 10", "4 values"],
    ),
    "a quotation mark that is never closed": (
        text(changed(20, '1,"2,3', PLAIN)),
        ["line 20", "a quotation mark is opened there and never closed"],
    ),
    "the same in the last column": (
        text(changed(20, '1,2,"3', PLAIN)),
        ["line 20", "a quotation mark is opened there and never closed"],
    ),
    "the same in a long file": (
        text(changed(20, '1,"2,3', lines("a,b,y", plain, 50_000))),
        ["line 20", "a quotation mark is opened there and never closed"],
    ),
    "the same in the last column of a long file": (
        text(changed(20, '1,2,"3', lines("a,b,y", plain, 50_000))),
        ["line 20", "a quotation mark is opened there and never closed"],
    ),
    "the same in the header of a long file": (
        text(lines('a,"b,y', plain, 50_000)),
        ["header", "a quotation mark is opened there and never closed"],
    ),
    "an empty file": (b"", ["table.csv is empty"]),
    "blank lines only": (b"\n\n \n", ["table.csv is empty"]),
    "a header and no rows": (b"a,b,y\n", ["has a header (a, b, y), but no row below it"]),
    "no target": (
        text(lines("a,b,yy", plain)),
        ["has no column 'y'", "Did you mean 'yy'?", "a, b, yy"],
    ),
    "a target without values": (
        text(lines("a,y", lambda i: f"{i},NA")),
        ["column 'y', the target, has no value at all"],
    ),
    "a constant target": (
        text(lines("a,y", lambda i: f"{i},3.5")),
        ["column 'y', the target, is 3.5 in all 40 rows", "nothing to learn"],
    ),
    "one class": (
        text(lines("a,y", lambda i: f"{i},yes")),
        ["column 'y', the target, is 'yes' in all 40 rows: with one class"],
    ),
    "a target of identifiers": (
        text(lines("a,y", lambda i: f"{i},row {i}")),
        ["has 40 different labels in 40 rows"],
    ),
    "a target that stands twice": (
        text(lines("a,y,y", plain)),
        ["more than one column called 'y'"],
    ),
    "infinity": (
        text(changed(6, "inf,2,3", PLAIN)),
        ["line 6, column 'a': 'inf' is not a number", "--missing 'inf'"],
    ),
    "a number too large": (
        text(changed(6, "1e999,2,3", PLAIN)),
        ["line 6, column 'a': '1e999' is not a finite number"],
    ),
    "a number whose differences are none": (
        text(changed(6, "-1.7e308,2,3", PLAIN)),
        ["line 6, column 'a': '-1.7e308' is not a number up to 1e+307", "39 cells"],
    ),
    "the same in the target": (
        text(changed(6, "1,2,1.7e308", PLAIN)),
        ["line 6, column 'y': '1.7e308' is not a number up to 1e+307"],
    ),
    "a word among numbers": (
        text(changed(7, "about 3,2,3", PLAIN)),
        ["line 7, column 'a': 'about 3' is not a number", "39 cells of the column are"],
    ),
    "a day that does not exist": (
        text(changed(5, "2021-02-30,1", lines("t,y", lambda i: f"2021-02-{i % 28 + 1:02d},{i}"))),
        ["line 5, column 't': '2021-02-30' is not a date written %Y-%m-%d"],
    ),
    "days and months that cannot be told apart": (
        text(lines("t,y", lambda i: f"{i % 12 + 1:02d}/{i % 5 + 1:02d}/2020,{i}")),
        ["column 't'", "day and month cannot be told apart"],
    ),
    "nothing to predict from": (
        text(lines("k,y", lambda i: f"1,{i}")),
        ["no column to predict 'y' from ('k' left out: constant, always 1)"],
    ),
    "too few rows": (
        text(lines("a,y", lambda i: f"{i},{i}", 5)),
        ["has 5 rows with a target, too few to learn from"],
    ),
    "a spreadsheet": (b"PK\x03\x04" + bytes(64), ["is a zip archive or a spreadsheet"]),
    "binary data": (b"a,b\n\0\1\2", ["holds binary data"]),
    "a Parquet file cut short": (b"PAR1" + bytes(30), ["begins like a Parquet file"]),
    "gzip cut short": (gzip.compress(text(PLAIN))[:60], ["table.csv could not be read"]),
}


def read_and_plan(path):
    found = prepare(path, "y", "auto", ReadOptions())
    return learn_plan(found.table, found.target, found.y)


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_by_line_and_column(name, tmp_path):
    content, words = REFUSED[name]
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(TableError) as caught:
        read_and_plan(path)
    for word in words:
        assert word in str(caught.value)


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(TableError, match="is a folder; name one file in it"):
        prepare(tmp_path, "y", "auto", ReadOptions())


def test_a_separator_is_one_character(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(text(PLAIN))
    with pytest.raises(TableError, match="A separator is one character, but '::' was given"):
        prepare(path, "y", "auto", ReadOptions(separator="::"))


def test_bytes_that_are_not_of_the_named_encoding(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(text(PLAIN) + "ü,1,2\n".encode())
    with pytest.raises(TableError, match="holds bytes that are not ascii; name the right encoding"):
        prepare(path, "y", "auto", ReadOptions(encoding="ascii"))


def test_gzip_cut_short_behind_what_is_looked_at_first(tmp_path):
    rng = np.random.default_rng(0)
    rows = lines("a,b,y", lambda i: f"{rng.random()},{rng.random()},{i}", 20_000)
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(text(rows))[:-5000])
    with pytest.raises(TableError, match=r"table.csv.gz could not be read as a table: "):
        prepare(path, "y", "auto", ReadOptions())


def test_a_columnar_file_without_rows(tmp_path):
    path = tmp_path / "table.parquet"
    parquet.write_table(
        pa.table({"a": pa.array([], pa.int64()), "y": pa.array([], pa.int64())}), path
    )
    with pytest.raises(TableError, match="has 0 rows and 2 columns: there is nothing to use"):
        prepare(path, "y", "auto", ReadOptions())


def test_row_labels_of_pandas_are_left_out_and_said(tmp_path):
    path = tmp_path / "table.parquet"
    columns = {"x": np.arange(N) * 1.0, "y": np.arange(N) * 2.0}
    parquet.write_table(pa.table({**columns, "__index_level_0__": np.arange(N)}), path)
    table = read(path)
    assert table.names == ["x", "y"]
    assert table.notes == (
        "Row labels that pandas wrote beside the columns left out: __index_level_0__.",
    )
    parquet.write_table(pa.table({"__index_level_0__": np.arange(N)}), path)
    assert read(path).names == ["__index_level_0__"]


def test_views_of_strings_are_text(tmp_path):
    path = tmp_path / "table.feather"
    c = pa.array([WORDS[i % 3] for i in range(N)], pa.string_view())
    feather.write_feather(pa.table({"c": c, "y": np.arange(N) * 1.0}), str(path))
    found = prepare(path, "y", "auto", ReadOptions())
    learned = learn_plan(found.table, found.target, found.y)
    assert dict(learned.plan.describe())["c"] == "text, one-hot: blue, green, red"


def test_there_are_enough_of_them():
    assert len(HANDLED) >= 15
    assert len(REFUSED) >= 15


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_columnar_files_keep_their_types(kind, tmp_path):
    table = pa.table(
        {
            "n": pa.array([None if i % 5 == 0 else i for i in range(N)], pa.int32()),
            "flag": pa.array([i % 2 == 0 for i in range(N)]),
            "c": pa.array([WORDS[i % 3] for i in range(N)]).dictionary_encode(),
            "t": pa.array(np.datetime64("2020-01-01") + np.arange(N)),
            "y": pa.array(np.arange(N) % 2),
        }
    )
    path = tmp_path / f"table.{kind}"
    if kind == "parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, str(path))
    found = prepare(path, "y", "auto", ReadOptions())
    assert found.target.classes == ("0", "1")
    assert "they are taken as classes" in found.notes[0]
    learned = learn_plan(found.table, found.target, found.y)
    described = dict(learned.plan.describe())
    assert described["n"] == "a number; missing values become 20, with an indicator"
    assert described["flag"] == "text, one-hot: False, True"
    assert described["c"] == "text, one-hot: blue, green, red"
    assert described["t"].startswith("a date: days since 2020-01-01")


def test_a_nested_column_is_refused_by_name(tmp_path):
    path = tmp_path / "table.parquet"
    parquet.write_table(pa.table({"v": [[1, 2]] * N, "y": np.arange(N) * 1.0}), path)
    found = prepare(path, "y", "auto", ReadOptions())
    with pytest.raises(TableError, match=r"column 'v' holds values of type list.*--drop"):
        learn_plan(found.table, found.target, found.y)


def at(folder, name, rows) -> Any:
    path = folder / name
    path.write_bytes(text(rows))
    return path


def numbers_of(path, **options):
    """The inputs that training on the whole file would see."""
    found = prepare(path, "y", "auto", ReadOptions(**options))
    return learn_plan(found.table, found.target, found.y), found


def test_a_number_that_means_missing_does_so_in_columns_with_a_type(tmp_path):
    x = [float(i) if i % 4 else -999.0 for i in range(N)]
    whole = [i if i % 5 else -999 for i in range(N)]
    y = [0.5 * i for i in range(N)]
    columns = {"x": x, "whole": pa.array(whole), "y": y}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    rows = lines("x,whole,y", lambda i: f"{x[i]:g},{whole[i]},{y[i]}")
    typed, _ = numbers_of(tmp_path / "t.parquet", missing=("-999",))
    written, found = numbers_of(at(tmp_path, "t.csv", rows), missing=("-999",))
    np.testing.assert_array_equal(typed.X, written.X)
    assert typed.X.min() >= 0.0
    assert typed.plan.inputs == written.plan.inputs
    later = read(tmp_path / "t.parquet", ReadOptions(missing=written.plan.missing))
    np.testing.assert_array_equal(written.plan.apply(later)[0], written.plan.apply(found.table)[0])


def test_points_for_thousands_as_the_other_columns_are_written(tmp_path):
    rows = lines("x;z;y", lambda i: f"{i},5;{'1.' if i % 2 else ''}{100 + i};{i * 7},25")
    learned, _ = numbers_of(at(tmp_path, "german.csv", rows))
    assert learned.X[1].tolist() == [1.5, 1101.0]
    rows = lines("x;z;y", lambda i: f"{i},5;0.{100 + i};{i * 7},25")
    learned, _ = numbers_of(at(tmp_path, "mixed.csv", rows))
    assert learned.X[1].tolist() == [1.5, 0.101]
    rows = lines("x\tz\ty", lambda i: f"{i}.5\t{'1,' if i % 2 else ''}{100 + i}\t{i * 7}.25")
    learned, _ = numbers_of(at(tmp_path, "english.tsv", rows))
    assert learned.X[1].tolist() == [1.5, 1101.0]
    rows = lines("x;z;y", lambda i: f"{i};1.{100 + i};{i * 7}.25")
    learned, _ = numbers_of(at(tmp_path, "points.csv", rows))
    np.testing.assert_allclose(learned.X[1], [1.0, 1.101])


def test_a_point_where_the_model_knows_a_decimal_comma(tmp_path):
    rows = lines("x;y", lambda i: f"{i},125;{i * 7},25")
    learned, _ = numbers_of(at(tmp_path, "german.csv", rows))
    with pytest.raises(TableError, match=r"line 2, column 'x': '5.095' can be read in two ways"):
        learned.plan.apply(read(at(tmp_path, "english.csv", ["x,y", "5.095,1"]), ReadOptions()))
    X, _ = learned.plan.apply(read(at(tmp_path, "later.csv", ["x;y", "5.095;1"]), ReadOptions()))
    assert X.tolist() == [[5095.0]]


def test_how_numbers_are_written_is_seen_in_all_rows(tmp_path):
    rows = lines("x;y", lambda i: f"{f'{i},5' if i > 36 else i};{i * 7},25")
    found = prepare(at(tmp_path, "few.csv", rows), "y", "auto", ReadOptions())
    part = found.table.take(range(30))
    learned = learn_plan(part, found.target, found.y[:30], whole=found.table)
    assert learned.plan.apply(found.table)[0][-1].tolist() == [39.5]
    alone = learn_plan(part, found.target, found.y[:30])
    with pytest.raises(TableError, match="'37,5' is not a number"):
        alone.plan.apply(found.table)


def test_two_stray_quotation_marks_are_named(tmp_path):
    rows = lines("a,note,y", lambda i: f"{i},{chr(34) + 'odd' if i in (6, 20) else 'plain'},{i}")
    with pytest.raises(TableError, match=r"line 8: .* closed 14 lines below"):
        read(at(tmp_path, "stray.csv", rows), ReadOptions())
    poem = lines("a,note,y", lambda i: f'{i},"roses, red\nviolets\nblue, as they are",{i}')
    assert read(at(tmp_path, "poem.csv", poem), ReadOptions()).n_rows == N


def test_dates_that_are_all_missing_are_left_out(tmp_path):
    gone = pa.array([None] * N, pa.timestamp("us"))
    columns = {"x": [float(i) for i in range(N)], "gone": gone, "y": [0.5 * i for i in range(N)]}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    learned, _ = numbers_of(tmp_path / "t.parquet")
    assert learned.plan.inputs == ["x"]
    assert ("gone", "left out: every value is missing") in [
        (name, words) for name, words in learned.plan.describe()
    ]


def test_utf_16_without_a_mark(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_bytes("\n".join(PLAIN).encode("utf-16-le"))
    with pytest.raises(TableError, match="--encoding utf-16-le"):
        read(path, ReadOptions())
    with pytest.raises(TableError, match="utf-16-le and utf-16-be"):
        read(path, ReadOptions(encoding="utf-16"))
    assert read(path, ReadOptions(encoding="utf-16-le")).n_rows == N


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TableError, match="is a pipe or a device"):
        read(tmp_path / "pipe", ReadOptions())
