"""The raw results of an experiment as one Parquet file, to which later runs add."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from banklearn.experiments.cells import Record
from banklearn.storage.atomic import replacing


def read_results(path: Path) -> list[Record]:
    """The records of a results file; none if there is no file."""
    if not path.exists():
        return []
    rows = pq.read_table(path).to_pylist()
    return [{k: _decode(v) for k, v in row.items() if v is not None} for row in rows]


def write_results(path: Path, records: Iterable[Record]) -> None:
    """Write records; a reader never sees half a file. Lists and dictionaries become JSON."""
    rows = [{k: _encode(v) for k, v in record.items()} for record in records]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = pa.table({name: [row.get(name) for row in rows] for name in columns})
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        pq.write_table(table, file, compression="zstd")


def merge(old: Sequence[Record], new: Sequence[Record], identity: Sequence[str]) -> list[Record]:
    """Old and new records; where both have the same identity, the new one. In a fixed order."""

    def key(record: Record) -> tuple[Any, ...]:
        return tuple(record.get(name) for name in identity)

    joined = {**{key(r): r for r in old}, **{key(r): r for r in new}}
    return [joined[k] for k in sorted(joined, key=lambda k: tuple(str(part) for part in k))]


def _encode(value: Any) -> Any:
    return json.dumps(value, sort_keys=True) if isinstance(value, list | dict) else value


def _decode(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("[", "{"):
        return json.loads(value)
    return value
