"""How a text file is written: compression, encoding, separator."""

from __future__ import annotations

import codecs
import csv
import io
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from banklearn.tables.errors import TableError

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", " ": "space"}
#: Bytes looked at to recognise encoding and separator.
HEAD = 1 << 18
_GZIP = b"\x1f\x8b"
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Dialect(NamedTuple):
    """Encoding, separator and number of columns of the header, and sentences on the choice."""

    encoding: str
    separator: str
    width: int
    notes: tuple[str, ...]


def open_bytes(path: Path) -> Any:
    """A stream of the file's bytes, decompressed whatever the file is called."""
    with path.open("rb") as file:
        gzipped = file.read(2) == _GZIP
    return pa.input_stream(str(path), compression="gzip" if gzipped else "detect")


def recognise(path: Path, encoding: str | None, separator: str | None) -> Dialect:
    """Look at the first part of a text file."""
    try:
        with open_bytes(path) as stream:
            head = stream.read(HEAD)
    except OSError as error:
        raise TableError(f"{path.name} could not be read: {error}.") from error
    if not head.strip():
        raise TableError(f"{path.name} is empty: there is no header and no row.")
    notes = []
    found = encoding or _encoding(head, path.name)
    if found == "cp1252" and encoding is None:
        notes.append("The file is not UTF-8; it was read as Windows-1252.")
    try:
        text = codecs.getincrementaldecoder(found)(errors="replace").decode(head).lstrip("\ufeff")
    except UnicodeError as error:
        raise TableError(
            f"{path.name} could not be read in the encoding {found}: {error}. utf-16-le and "
            "utf-16-be are for files without a mark at their beginning."
        ) from error
    if len(head) == HEAD:
        text = text[: text.rfind("\n") + 1] or text
    symbol = separator or _separator(text)
    if len(symbol) != 1:
        raise TableError(f"A separator is one character, but {symbol!r} was given.")
    if symbol != ",":
        notes.append(f"Columns are separated by a {SEPARATORS.get(symbol, repr(symbol))}.")
    header = next(_records(text, symbol), None)
    if header is None:
        raise TableError(
            f"{path.name}, header: a quotation mark is opened there and never closed, so that all "
            "lines below it would become one name."
        )
    return Dialect(found, symbol, len(header), tuple(notes))


def _encoding(head: bytes, name: str) -> str:
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        raise TableError(
            f"{name} holds binary data, not text. CSV, TSV, Parquet and Feather files can be "
            "read; save a spreadsheet as CSV first. If it is text in UTF-16 without a mark at its "
            "beginning, say so: --encoding utf-16-le."
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _records(text: str, separator: str) -> Any:
    """Records of the text that are not blank, up to a value too long for the reader.

    Such a value begins with a quotation mark that is not closed, which is refused when the whole
    file is read.
    """
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    with suppress(csv.Error):
        yield from (row for row in rows if row)


def _separator(text: str) -> str:
    """The separator under which most of the first records are as wide as the header.

    The header must have at least two columns under it; among equals the wider table wins, and a
    file in which none occurs has one column.
    """
    best, chosen = (0.0, 0), ","
    for symbol in SEPARATORS:
        widths = []
        for record, _ in zip(_records(text, symbol), range(200), strict=False):
            widths.append(len(record))
        if not widths or widths[0] < 2:
            continue
        share = sum(width == widths[0] for width in widths) / len(widths)
        # Spaces stand inside names and dates; they separate only if everything fits.
        if symbol == " " and share < 1:
            continue
        score = (round(share, 2), widths[0])
        if score > best and (best[0] == 0 or share > best[0] + 0.2 or symbol != " "):
            best, chosen = score, symbol
    return chosen
