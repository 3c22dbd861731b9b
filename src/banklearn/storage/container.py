"""A file of named arrays with a JSON header and a checksum; nothing in it can be executed.

Layout, numbers little-endian::

    0     8 bytes   MAGIC
    8     8 bytes   version of the container, unsigned
    16    8 bytes   length H of the header, unsigned
    24    H bytes   header: JSON in ASCII, {"kind", "meta", "arrays"}
    ...             zeros up to a multiple of 64
    D               the arrays, in the order of the header, each at a multiple of 64 from D
    ...   32 bytes  SHA-256 of everything before

Each entry of "arrays" is [name, dtype, shape]; places and lengths follow from these, and must
fill the file exactly.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from itertools import accumulate
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from banklearn.storage.atomic import replacing
from banklearn.storage.errors import StoredFileError

MAGIC = b"\x89bank\r\n\x1a"  # a transfer as text, which changes ends of lines, shows here
VERSION = 1
ALIGN = 64
DIGEST = 32
#: The header describes arrays and holds a few numbers; what is long goes into arrays.
MAX_HEADER = 1 << 20
MAX_FILE = 1 << 36
MAX_ARRAYS = 4096
MAX_DIMENSIONS = 8

_PREFIX = struct.Struct("<8sQQ")
_DTYPES = {"f8": "<f8", "i8": "<i8", "u1": "|u1", "b1": "|b1"}
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Entry:
    """One array of a file: where it is and what it looks like."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


def write(path: Path, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write a file atomically; dtypes are float64, int64, uint8 and bool."""
    plain = {name: _plain(name, values) for name, values in arrays.items()}
    table = [[name, code(a.dtype), list(a.shape)] for name, a in plain.items()]
    header = json.dumps(
        {"kind": kind, "meta": meta, "arrays": table}, allow_nan=False, separators=(",", ":")
    ).encode("ascii")
    if len(header) > MAX_HEADER or len(table) > MAX_ARRAYS:
        raise ValueError(
            f"The header of {path.name} would take {len(header)} bytes for {len(table)} arrays; "
            f"at most {MAX_HEADER} bytes and {MAX_ARRAYS} arrays can be written."
        )
    digest = hashlib.sha256()
    with replacing(path) as file:

        def put(data: Any) -> None:
            digest.update(data)
            file.write(data)

        put(_PREFIX.pack(MAGIC, VERSION, len(header)))
        put(header)
        put(bytes(-(_PREFIX.size + len(header)) % ALIGN))
        for a in plain.values():
            if a.size:
                put(a.reshape(-1).view(np.uint8).data)
            put(bytes(-a.nbytes % ALIGN))
        file.write(digest.digest())


class Reader:
    """An open file whose checksum and header are right; arrays are read when asked for."""

    def __init__(
        self, file: BufferedReader, size: int, name: str, error: type[StoredFileError]
    ) -> None:
        self._file, self._name, self._error = file, name, error
        length = self._check_prefix(size)
        self._check_digest(size)
        header = self._header(length)
        self.kind: str = header["kind"]
        self.meta: dict[str, Any] = header["meta"]
        begin = _round_up(_PREFIX.size + length)
        self.entries = self._table(header["arrays"], begin, size - DIGEST)

    def fail(self, what: str) -> NoReturn:
        """Refuse the file."""
        raise self._error(f"{self._name}: {what}")

    def read(self, name: str) -> NDArray[Any]:
        """One array, in fresh memory."""
        entry = self.entries[name]
        return self._values(name, entry.offset, entry.shape)

    def read_pieces(self, name: str, lengths: Sequence[int]) -> list[NDArray[Any]]:
        """One array, cut along its first dimension; each piece in memory of its own."""
        entry = self.entries[name]
        assert sum(lengths) == entry.shape[0]
        row = entry.nbytes // max(entry.shape[0], 1)
        begins = accumulate(lengths, initial=0)
        return [
            self._values(name, entry.offset + begin * row, (length, *entry.shape[1:]))
            for begin, length in zip(begins, lengths, strict=False)
        ]

    def _values(self, name: str, offset: int, shape: tuple[int, ...]) -> NDArray[Any]:
        """An array or a piece of one, read to where it stays."""
        dtype = self.entries[name].dtype
        values = np.empty(shape, dtype=_DTYPES[dtype])
        raw = values.reshape(-1).view(np.uint8)
        self._file.seek(offset)
        if raw.size and self._file.readinto(raw.data) != raw.size:
            self.fail("it became shorter while it was read.")
        if dtype == "b1" and (raw > 1).any():
            self.fail(f"the truth values {name!r} are not all 0 or 1.")
        return values.astype(values.dtype.newbyteorder("="), copy=False)

    def read_all(self) -> dict[str, NDArray[Any]]:
        """All arrays by name."""
        return {name: self.read(name) for name in self.entries}

    def _check_prefix(self, size: int) -> int:
        start = self._file.read(_PREFIX.size)
        if start[: len(MAGIC)] != MAGIC[: len(start)] or not start:
            self.fail("this is not a file of banklearn (it begins with other bytes).")
        if len(start) < _PREFIX.size or size < _PREFIX.size + DIGEST:
            self.fail(f"it ends after {size} bytes; it was cut off.")
        _, version, length = _PREFIX.unpack(start)
        if version != VERSION:
            self.fail(
                f"its format has version {version}, but this banklearn reads version {VERSION}. "
                "Read it with the banklearn that wrote it, or a later one."
            )
        if length > MAX_HEADER or _round_up(_PREFIX.size + length) > size - DIGEST:
            self.fail(f"it declares a header of {length} bytes, which cannot be.")
        return int(length)

    def _check_digest(self, size: int) -> None:
        self._file.seek(0)
        digest, left = hashlib.sha256(), size - DIGEST
        while left:
            chunk = self._file.read(min(left, _CHUNK))
            if not chunk:
                self.fail("it became shorter while it was read.")
            digest.update(chunk)
            left -= len(chunk)
        if self._file.read(DIGEST) != digest.digest():
            self.fail("its checksum does not match; the file was cut off, damaged or altered.")

    def _header(self, length: int) -> dict[str, Any]:
        self._file.seek(_PREFIX.size)
        try:
            header = json.loads(
                self._file.read(length).decode("ascii"),
                object_pairs_hook=_unique,
                parse_constant=_no_constant,
            )
        except (ValueError, RecursionError) as error:
            self.fail(f"its header cannot be read ({error}).")
        if not isinstance(header, dict) or set(header) != {"kind", "meta", "arrays"}:
            self.fail("its header does not hold kind, meta and arrays.")
        if not isinstance(header["kind"], str) or not isinstance(header["meta"], dict):
            self.fail("its header holds a kind or meta of the wrong type.")
        return header

    def _table(self, table: Any, begin: int, end: int) -> dict[str, Entry]:
        """Entries whose places follow from their shapes and fill the file exactly."""
        if not isinstance(table, list) or len(table) > MAX_ARRAYS:
            self.fail("its table of arrays is not a list, or too long.")
        entries: dict[str, Entry] = {}
        offset = begin
        for row in table:
            if not isinstance(row, list) or len(row) != 3:
                self.fail("its table of arrays has a row that is not name, dtype and shape.")
            name, dtype, shape = row
            if not isinstance(name, str) or not 0 < len(name) <= 128 or name in entries:
                self.fail("its table of arrays has a name that is empty, too long or there twice.")
            if not isinstance(dtype, str) or dtype not in _DTYPES:
                self.fail(f"the array {name!r} has an unknown dtype.")
            if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
                self.fail(f"the array {name!r} has a shape that is not a short list.")
            # A length can be no more than the file has bytes, not even beside a zero.
            if not all(type(n) is int and 0 <= n <= end for n in shape):
                self.fail(f"the array {name!r} has an impossible shape.")
            nbytes = math.prod(shape) * np.dtype(_DTYPES[dtype]).itemsize
            if nbytes > end - offset:
                self.fail(f"the array {name!r} would reach beyond the end of the file.")
            entries[name] = Entry(dtype, tuple(shape), offset, nbytes)
            offset = begin + _round_up(offset + nbytes - begin)
        if offset != end:
            self.fail("its arrays do not fill the file.")
        return entries


@contextmanager
def opened(
    path: Path, error: type[StoredFileError], limit: int = MAX_FILE, advice: str = ""
) -> Iterator[Reader]:
    """A file, checked before anything of its declared size is allocated.

    advice is what whoever finds a file above the limit can do.
    """
    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for ever
        raise error(f"{path.name or path}: this is not an ordinary file.")
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise error(
                f"{path.name}: it has {size} bytes, more than the limit of {limit}.{advice}"
            )
        yield Reader(file, size, path.name, error)


def _round_up(size: int) -> int:
    return size + -size % ALIGN


def _plain(name: str, values: Any) -> NDArray[Any]:
    a = np.ascontiguousarray(values).reshape(np.shape(values))
    code(a.dtype)
    return a.astype(a.dtype.newbyteorder("<"), copy=False)


def code(dtype: np.dtype[Any]) -> str:
    """The name of a dtype in the table."""
    name = f"{dtype.kind}{dtype.itemsize}"
    if name not in _DTYPES:
        raise TypeError(f"An array of dtype {dtype} cannot be stored.")
    return name


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")
