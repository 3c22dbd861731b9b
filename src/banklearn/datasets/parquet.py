"""One Parquet file per data set: feature columns, other targets, then ``y``; with a checksum."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ChecksumError(ValueError):
    """A file is not the one that was written."""


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def checksum_path(path: Path) -> Path:
    """Where the checksum of a data file lies: beside it, in the format of sha256sum."""
    return path.with_name(path.name + ".sha256")


def write_table(path: Path, columns: dict[str, Array]) -> None:
    """Write columns and their checksum; a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    pq.write_table(pa.table(columns), partial, compression="zstd")
    checksum_path(path).write_text(f"{sha256_of(partial)}  {path.name}\n", encoding="ascii")
    partial.replace(path)


def read_table(path: Path) -> dict[str, np.ndarray]:
    """The columns of a Parquet file, checked where a checksum lies beside it."""
    check = checksum_path(path)
    if check.exists():
        expected, found = check.read_text(encoding="ascii").split()[0], sha256_of(path)
        if found != expected:
            raise ChecksumError(
                f"{path} has the SHA-256 {found}, but {check.name} says {expected}. The file was "
                "changed or cut short; remove both files to fetch it again."
            )
    table = pq.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}
