"""Parquet and CSV files, and pyarrow datasets, through pyarrow's readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from banklearn.sources.base import ROWS_AT_ONCE, RawBlock, Source, SourceError
from banklearn.sources.files import PARQUET, find_files
from banklearn.tables.row_labels import is_row_label

Array = NDArray[np.float64]

#: Bytes of CSV text that are parsed at once.
CSV_BYTES = 4 << 20


class Columns:
    """Which columns of a table are inputs, target and weight.

    Every other column is an input, but for row labels that pandas wrote beside them, unless the
    inputs were chosen.
    """

    def __init__(
        self, schema: pa.Schema, target: str, inputs: Sequence[str] | None, weight: str | None
    ) -> None:
        if isinstance(inputs, str):
            raise SourceError(f"inputs must be a list of names, but is the text {inputs!r}.")
        for name in (target, *(inputs or ()), *([weight] if weight else [])):
            if name not in schema.names:
                raise SourceError(
                    f"There is no column {name!r}; the columns are {', '.join(schema.names)}."
                )
        special = {target, weight}
        others = [n for n in schema.names if n not in special and not is_row_label(n)]
        self.chosen = inputs is not None
        self.inputs = others if inputs is None else list(inputs)
        self.target, self.weight = target, weight
        if weight == target:
            raise SourceError(f"Column {target!r} cannot be the target and the weight at once.")
        if not self.inputs:
            raise SourceError(f"Beside {target!r} there is no column to learn from.")
        self.refuse_twins(schema)
        for name in self.inputs:
            if name in special:
                raise SourceError(
                    f"Column {name!r} is the target or the weight, and cannot be an input as well."
                )
            refuse_text(name, schema.field(name).type)
        if len(set(self.inputs)) < len(self.inputs):
            raise SourceError(f"inputs names a column twice: {', '.join(self.inputs)}.")

    @property
    def names(self) -> list[str]:
        """All that is read."""
        return [*self.inputs, self.target, *([self.weight] if self.weight else [])]

    def refuse_twins(self, schema: pa.Schema, where: str = "") -> None:
        """Nobody knows which of two columns of the same name is meant."""
        for name in self.names:
            if schema.names.count(name) > 1:
                raise SourceError(
                    f"There are several columns of the same name{where}: {name!r}. Rename or "
                    "remove them."
                )

    def rows(self, batch: pa.RecordBatch) -> tuple[Array, Any, Array | None]:
        """X, y and weights of a batch; missing numbers become NaN."""
        X = np.empty((batch.num_rows, len(self.inputs)))
        for j, name in enumerate(self.inputs):
            X[:, j] = numbers(batch.column(name))
        y = batch.column(self.target)
        if pa.types.is_dictionary(y.type):
            y = y.dictionary_decode()
        weight = None if self.weight is None else np.array(numbers(batch.column(self.weight)))
        return X, y.to_numpy(zero_copy_only=False), weight


def refuse_text(name: str, kind: pa.DataType) -> None:
    """Inputs must be numbers."""
    types = pa.types
    if types.is_temporal(kind):
        raise SourceError(
            f"Column {name!r} holds dates or times. Turn it into numbers first, such as days since "
            "a start, or hour and weekday."
        )
    if not (is_number(kind) or types.is_boolean(kind) or types.is_null(kind)):
        raise SourceError(
            f"Column {name!r} holds {kind}, but numbers are needed. Encode it first, or name the "
            "inputs to use: TableSource(path, target, inputs=[...])."
        )


def is_number(kind: pa.DataType) -> bool:
    """Integers, floating point and decimal numbers."""
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def numbers(column: Any) -> Array:
    """A column in float64, NaN where a value is missing."""
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)  # whole numbers beyond 2**53 are rounded
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _has_types(schema: pa.Schema) -> bool:
    """Whether something is known of some column."""
    return not all(pa.types.is_null(field.type) for field in schema)


class TableSource(Source):
    """Parquet or CSV files: a path, a folder, a glob or a list of paths, with the target's name.

    Files are read in the order of their names. Every other column is an input unless inputs names
    some; weight names a column of row weights. Row labels without a name, which pandas writes as
    ``__index_level_0__``, are left out.
    """

    def __init__(
        self,
        path: str | Path | Sequence[str | Path],
        target: str,
        inputs: Sequence[str] | None = None,
        weight: str | None = None,
        rows_at_once: int = ROWS_AT_ONCE,
    ) -> None:
        self.files = find_files(path)
        self.rows_at_once = rows_at_once
        self.parquet = self.files[0].name.endswith(PARQUET)
        self.first, self.schema = self._first_schema()
        self.columns = Columns(self.schema, target, inputs, weight)
        self.names = self.columns.inputs

    def check(self) -> None:
        """Compare the columns of all files with those of the first, and count Parquet rows."""
        first = self.first.name
        rows = 0
        for file in self.files:
            schema = self._schema(file)
            self.columns.refuse_twins(schema, f" in {file.name}")
            for name in self.columns.names:
                if name not in schema.names:
                    raise SourceError(
                        f"{file.name} has no column {name!r}, which {first} has. All files must "
                        "have the same columns."
                    )
                one, other = self.schema.field(name).type, schema.field(name).type
                self._widen(name, one, other)
                if one != other and not _alike(one, other):
                    raise SourceError(
                        f"Column {name!r} is {other} in {file.name}, but {one} in {first}. All "
                        "files must have the same columns."
                    )
            self._refuse_more(file, schema)
            if self.parquet:
                rows += pq.read_metadata(file).num_rows
        self.n_rows = rows if self.parquet else None

    def _refuse_more(self, file: Path, schema: pa.Schema) -> None:
        """Every column is an input, so that none of a later file may be passed over in silence."""
        if self.columns.chosen:
            return
        for name in schema.names:
            if name not in self.schema.names and not is_row_label(name):
                raise SourceError(
                    f"{file.name} has a column {name!r}, which {self.first.name} has not. All "
                    "files must have the same columns, unless the inputs are named: "
                    "TableSource(path, target, inputs=[...])."
                )

    def blocks(self) -> Iterator[RawBlock]:
        """The files one after another."""
        number = 0
        for file in self.files:
            row = 0
            for batch in self._batches(file):
                if batch.num_rows == 0:
                    continue
                yield RawBlock(*self.columns.rows(batch), number, file.name, row)
                number += 1
                row += batch.num_rows

    def _first_schema(self) -> tuple[Path, pa.Schema]:
        """The first file and its schema; of CSV files, which know no types, the first with rows."""
        known = ((file, self._schema(file)) for file in self.files)
        first = next(known)
        if self.parquet or _has_types(first[1]):
            return first
        return next((one for one in known if _has_types(one[1])), first)

    def _widen(self, name: str, one: pa.DataType, other: pa.DataType) -> None:
        """Whole numbers to predict in one file may have fractions in another."""
        if pa.types.is_integer(one) and pa.types.is_floating(other):
            place = self.schema.get_field_index(name)
            self.schema = self.schema.set(place, pa.field(name, other))

    def _schema(self, file: Path) -> pa.Schema:
        try:
            if self.parquet:
                return pq.read_schema(file)
            with pa_csv.open_csv(file, pa_csv.ReadOptions(block_size=CSV_BYTES)) as reader:
                return reader.schema
        except (pa.ArrowInvalid, OSError) as error:
            raise self._unreadable(file, error) from error

    def _batches(self, file: Path) -> Iterator[pa.RecordBatch]:
        try:
            if self.parquet:
                # pre_buffer would hold whole row groups, whatever their size.
                with pq.ParquetFile(file, pre_buffer=False) as table:
                    yield from table.iter_batches(self.rows_at_once, columns=self.columns.names)
            else:
                with self._open_csv(file) as reader:
                    yield from reader
        except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as error:
            raise self._unreadable(file, error) from error

    def _open_csv(self, file: Path) -> Any:
        # The first rows of a file may look whole where later ones have a fraction.
        wide = {}
        for name in self.columns.names:
            kind = self.schema.field(name).type
            plain = name == self.columns.target or pa.types.is_boolean(kind)
            wide[name] = kind if plain else pa.float64()
        options = pa_csv.ConvertOptions(
            column_types=wide, include_columns=self.columns.names, strings_can_be_null=True
        )
        return pa_csv.open_csv(file, pa_csv.ReadOptions(block_size=CSV_BYTES), None, options)

    def _unreadable(self, file: Path, error: BaseException) -> SourceError:
        kind = "Parquet" if self.parquet else "CSV"
        reason = str(error).splitlines()[0].rstrip(".")
        advice = "The file is probably cut short or damaged."
        if "conversion error" in reason:
            advice = (
                "The first rows hold another kind of values there: write all rows of a column "
                "alike, numbers to predict with a fraction."
            )
        return SourceError(f"{file.name} cannot be read as {kind}: {reason}. {advice}")


def _alike(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether a column may have one type here and the other there; without rows it has none."""
    nothing = pa.types.is_null(one) or pa.types.is_null(other)
    return nothing or (comparable(one) and comparable(other))


def comparable(kind: pa.DataType) -> bool:
    """Types that all become float64."""
    return is_number(kind) or bool(pa.types.is_boolean(kind) or pa.types.is_null(kind))


class DatasetSource(Source):
    """A pyarrow dataset, with its partitions and filters.

    Its columns are those of its schema, which pyarrow takes from the first file unless another is
    given: what later files have beside them is passed over.
    """

    def __init__(
        self,
        dataset: Any,
        target: str,
        inputs: Sequence[str] | None = None,
        weight: str | None = None,
        rows_at_once: int = ROWS_AT_ONCE,
    ) -> None:
        self.dataset, self.rows_at_once = dataset, rows_at_once
        self.columns = Columns(dataset.schema, target, inputs, weight)
        self.names = self.columns.inputs

    def blocks(self) -> Iterator[RawBlock]:
        """Batches in the order of the dataset, little of it read ahead."""
        number = row = 0
        try:
            for batch in self.dataset.to_batches(
                columns=self.columns.names,
                batch_size=self.rows_at_once,
                batch_readahead=1,
                fragment_readahead=1,
            ):
                if batch.num_rows == 0:
                    continue
                yield RawBlock(*self.columns.rows(batch), number, "the dataset", row)
                number += 1
                row += batch.num_rows
        except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise SourceError(
                f"The dataset cannot be read: {reason}. A file is probably cut short or has other "
                "columns than the rest."
            ) from error
