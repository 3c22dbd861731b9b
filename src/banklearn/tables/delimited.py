"""Text files with separators: cells as text, with the line on which every row starts."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

from banklearn.tables.dialect import SEPARATORS, Dialect, open_bytes, recognise
from banklearn.tables.errors import TableError, counted, listed
from banklearn.tables.table import Table

Lines = NDArray[np.int64]

NOT_UTF8 = "The file is not UTF-8; it was read as Windows-1252."

#: So many line breaks in a value, with lines between them as wide as the header, are no text.
FEWEST_SWALLOWED = 3


def read_delimited(
    path: Path, encoding: str | None, separator: str | None, skip_bad_rows: bool
) -> Table:
    """Read a CSV or TSV file, possibly compressed; every cell stays text, stripped."""
    dialect = recognise(path, encoding, separator)
    wrong: list[Any] = []
    columns = _parse(path, dialect, wrong)
    if columns is None and dialect.encoding == "utf-8" and encoding is None:
        dialect = dialect._replace(encoding="cp1252", notes=(NOT_UTF8, *dialect.notes))
        wrong.clear()
        columns = _parse(path, dialect, wrong)
    if columns is None:
        raise TableError(
            f"{path.name} holds bytes that are not {dialect.encoding}; name the right encoding "
            "with --encoding."
        )
    lines, wrong_lines = _lines(columns, wrong)
    _refuse_open_quote(path, columns, lines, wrong, wrong_lines)
    _refuse_swallowed_rows(path, columns, lines, dialect.separator)
    unusable: tuple[str, ...] = ()
    if wrong:
        sentence = _wrong_width(path.name, wrong, wrong_lines, dialect, len(lines))
        if not skip_bad_rows:
            raise TableError(
                f"{sentence} Mend the file, or leave such rows out with --skip-bad-rows."
            )
        unusable = (sentence,)
    cells = [pc.utf8_trim_whitespace(column) for column in columns]
    filled = np.any([np.asarray(pc.not_equal(c, "")) for c in cells], axis=0)
    header = int(np.argmax(filled))
    written = [column[header].as_py() for column in cells]
    labels = row_labels(written)
    written, cells = written[labels:], cells[labels:]
    names, notes = column_names(written)
    if labels:
        notes.insert(
            0,
            f"{counted(labels, 'column')} without a name before all others taken for row labels, "
            "as pandas writes them, and left out; the others are counted from there. What has a "
            "name is used.",
        )
    filled[header] = False
    if not filled.any():
        raise TableError(f"{path.name} has a header ({listed(names)}), but no row below it.")
    if blank := len(filled) - 1 - int(filled.sum()):
        notes.append(f"{counted(blank, 'blank line')} passed over.")
    body = {name: c.filter(pa.array(filled)) for name, c in zip(names, cells, strict=True)}
    return Table(
        path.name,
        body,
        lines[filled],
        "line",
        dialect.separator,
        notes=(*dialect.notes, *notes),
        unusable=unusable,
        repeated=repeated_names(written),
    )


def _parse(path: Path, dialect: Dialect, wrong: list[Any]) -> list[Any] | None:
    """All records as columns of text, the header on top; None if the encoding does not hold."""

    def collect(row: Any) -> str:
        wrong.append(row)
        return "skip"

    names = [str(i) for i in range(dialect.width)]
    encoding = "utf-8" if dialect.encoding == "utf-8-sig" else dialect.encoding
    try:
        with open_bytes(path) as stream:
            table = csv.read_csv(
                stream,
                csv.ReadOptions(
                    use_threads=False, column_names=names, encoding=encoding, block_size=1 << 24
                ),
                csv.ParseOptions(
                    delimiter=dialect.separator,
                    newlines_in_values=True,
                    ignore_empty_lines=False,
                    invalid_row_handler=collect,
                ),
                csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
            )
    except (pa.ArrowInvalid, UnicodeDecodeError, OSError, LookupError) as error:
        if "UTF8" in str(error) or isinstance(error, UnicodeDecodeError):
            return None
        raise TableError(f"{path.name} could not be read as a table: {error}.") from error
    return [pa.chunked_array(column.chunks, pa.string()).combine_chunks() for column in table]


def _lines(columns: list[Any], wrong: list[Any]) -> tuple[Lines, list[int]]:
    """The line on which each kept record starts, and that of each skipped one."""
    n = len(columns[0])
    numbers = np.array([row.number for row in wrong], dtype=np.int64)  # Arrow counts from 1
    is_kept = np.ones(n + len(wrong), dtype=bool)
    is_kept[numbers - 1] = False
    height = np.ones(n + len(wrong), dtype=np.int64)
    breaks = np.zeros(n, dtype=np.int64)
    for column in columns:
        breaks += np.asarray(pc.count_substring(column, "\n"))
    height[is_kept] += breaks
    height[numbers - 1] += np.array([row.text.count("\n") for row in wrong], dtype=np.int64)
    start = np.concatenate([[1], 1 + np.cumsum(height)[:-1]])
    return start[is_kept], start[numbers - 1].tolist()


def _refuse_open_quote(
    path: Path, columns: list[Any], lines: Lines, wrong: list[Any], wrong_lines: list[int]
) -> None:
    """A quotation mark without its partner swallows the rest of the file into one cell."""
    line = None
    if wrong and "\n" in wrong[-1].text and wrong[-1].text.count('"') % 2:
        line = wrong_lines[-1]
    elif any("\n" in column[-1].as_py() for column in columns):
        with open_bytes(path) as stream:
            odd = stream.read().count(b'"') % 2
        line = int(lines[-1]) if odd else None
    if line is not None:
        raise TableError(
            f"{path.name}, line {line}: a quotation mark is opened there and never closed, so "
            "that all lines below it would become one value."
        )


def _refuse_swallowed_rows(path: Path, columns: list[Any], lines: Lines, separator: str) -> None:
    """Two stray quotation marks make one value of all rows between them."""
    width = len(columns)
    if width == 1:
        return
    # Only a record as high as that can hold such a value; how high the last one is nobody knows.
    high = np.flatnonzero(np.diff(lines) > FEWEST_SWALLOWED).tolist()
    for row, column in product([*high, len(lines) - 1], columns):
        inside = column[row].as_py().split("\n")[1:-1]
        swallowed = all(line.count(separator) == width - 1 for line in inside)
        if swallowed and len(inside) + 1 >= FEWEST_SWALLOWED:
            raise TableError(
                f"{path.name}, line {int(lines[row])}: a quotation mark is opened there and closed "
                f"{len(inside) + 1} lines below, which makes one value of all rows between. Mend "
                "the quotation marks."
            )


def _wrong_width(
    name: str, wrong: list[Any], lines: list[int], dialect: Dialect, n_kept: int
) -> str:
    """A sentence on rows with too many or too few values."""
    first = wrong[0]
    other = [
        word
        for symbol, word in SEPARATORS.items()
        if symbol not in (dialect.separator, " ") and symbol in first.text
    ]
    if other and first.actual_columns < first.expected_columns:
        cause = f"It holds a {other[0]}, but the header is separated by another sign"
    elif first.actual_columns > first.expected_columns:
        cause = "A value that holds the separator needs quotation marks around it"
    else:
        cause = "Values are missing at its end"
    many = "is" if len(wrong) == 1 else "are"
    return (
        f"{name}, line {lines[0]}: {counted(first.actual_columns, 'value')} where the header has "
        f"{counted(first.expected_columns, 'column')} ({first.text.strip()[:60]!r}). {cause}. "
        f"{len(wrong)} of {counted(n_kept - 1 + len(wrong), 'row')} {many} not as wide as the "
        f"header: line{'' if len(wrong) == 1 else 's'} {listed(lines)}."
    )


def row_labels(header: list[str | None]) -> int:
    """How many columns hold row labels: one or two without a name that at least two others follow.

    pandas writes a frame's index so. With less beside them they are all that there is.
    """
    named = [bool((raw or "").strip()) for raw in header]
    labels = named.index(True) if any(named) else 0
    return labels if labels <= 2 and sum(named) >= 2 else 0


def column_names(header: list[str | None]) -> tuple[list[str], list[str]]:
    """Distinct names of the columns, and sentences on those that had to be changed."""
    names: list[str] = []
    notes: list[str] = []
    for position, raw in enumerate(header, start=1):
        given = (raw or "").strip()
        name = given or f"column {position}"
        if not given:
            notes.append(f"Column {position} has no name; it is called {name!r}.")
        count = 2
        while name in names:
            name = f"{given} ({count})"
            count += 1
        if given and name != given:
            notes.append(
                f"The name {given!r} stands more than once; column {position} is called {name!r}."
            )
        names.append(name)
    return names, notes


def repeated_names(header: list[str | None]) -> tuple[str, ...]:
    """Names that stand more than once in a header."""
    counts = Counter((raw or "").strip() for raw in header)
    return tuple(name for name, count in counts.items() if name and count > 1)
