"""``read``: a file of any known format as a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import feather, parquet

from banklearn.tables.delimited import column_names, read_delimited, repeated_names
from banklearn.tables.errors import TableError, listed
from banklearn.tables.row_labels import is_row_label
from banklearn.tables.table import Table

#: First bytes of the binary formats.
_PARQUET, _ARROW, _FEATHER_1 = b"PAR1", b"ARROW1", b"FEA1"
_KNOWN_BINARY = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet",
    b"%PDF": "a PDF document",
    b"SQLite": "a database",
    b"\x89HDF": "an HDF5 file",
}


@dataclass(frozen=True)
class ReadOptions:
    """What to take as given instead of recognising it.

    missing are further words for a missing value; skip_bad_rows leaves out rows that are not as
    wide as the header, and lists them, instead of refusing the file.
    """

    separator: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    skip_bad_rows: bool = False


def read(path: str | Path, options: ReadOptions | None = None) -> Table:
    """Read CSV, TSV (plain or compressed), Parquet or Feather; the content decides which it is."""
    path = Path(path)
    options = options or ReadOptions()
    if path.is_dir():
        raise TableError(f"{path} is a folder; name one file in it.")
    if not path.exists():
        raise TableError(f"{path} does not exist.")
    if not path.is_file():
        raise TableError(
            f"{path} is a pipe or a device, but a table is read more than once: write it to a file "
            "first."
        )
    with path.open("rb") as file:
        start = file.read(8)
    for magic, what in _KNOWN_BINARY.items():
        if start.startswith(magic):
            raise TableError(
                f"{path.name} is {what}. CSV, TSV, Parquet and Feather files can be read; save "
                "the table as one of these first."
            )
    if start.startswith((_PARQUET, _ARROW, _FEATHER_1)):
        table = _columnar(path, is_parquet=start.startswith(_PARQUET))
    else:
        table = read_delimited(path, options.encoding, options.separator, options.skip_bad_rows)
    return replace(table, missing=options.missing)


def _columnar(path: Path, is_parquet: bool) -> Table:
    try:
        arrow = parquet.ParquetFile(path).read() if is_parquet else feather.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise TableError(
            f"{path.name} begins like a {'Parquet' if is_parquet else 'Feather'} file, but could "
            f"not be read: {error}. It may have been cut short."
        ) from error
    if arrow.num_rows == 0 or arrow.num_columns == 0:
        raise TableError(
            f"{path.name} has {arrow.num_rows} rows and {arrow.num_columns} columns: there is "
            "nothing to use."
        )
    labels = [name for name in arrow.column_names if is_row_label(name)]
    if len(labels) == arrow.num_columns:
        labels = []
    arrow = arrow.drop_columns(labels)
    names, notes = column_names(arrow.column_names)
    if labels:
        notes.append(f"Row labels that pandas wrote beside the columns left out: {listed(labels)}.")
    columns = {name: _one_array(c) for name, c in zip(names, arrow.columns, strict=True)}
    numbers = np.arange(1, arrow.num_rows + 1, dtype=np.int64)
    repeated = repeated_names(arrow.column_names)
    return Table(path.name, columns, numbers, "row", notes=tuple(notes), repeated=repeated)


def _one_array(column: Any) -> Any:
    array = column.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_string_view(array.type):
        array = pa.array(array.to_pylist(), pa.string())  # Arrow 16 has no cast for these
    return array
