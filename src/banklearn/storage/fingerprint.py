"""What data a fit saw, in a few short strings, as a sum over blocks like every other statistic."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.gram import Block, Ops

Words = NDArray[np.uint64]

_START = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
_HALF = np.uint64(32)


class Fingerprint:
    """Sums of hashes of (place, values) over rows, for inputs, target and weights: (3, 2) words.

    The hash of a row knows the row's place, so their order counts; where blocks are cut, and in
    which order they are added, does not. It tells data apart that differ by mistake; it is not
    meant to withstand somebody who looks for two sets with one fingerprint.
    """

    def zero(self, ops: Ops) -> list[Any]:
        """One accumulator."""
        return [np.zeros((3, 2), dtype=np.uint64)]

    def add(self, ops: Ops, total: list[Any], block: Block) -> None:
        """Add the rows of one block."""
        place = np.arange(block.start, block.start + len(block.y), dtype=np.uint64)
        parts = (ops.host(block.X).T, [block.y], [] if block.weight is None else [block.weight])
        for i, columns in enumerate(parts):
            for j, mix in enumerate(_MIX):
                # An array of one: its sum runs over without a warning, as it is meant to.
                total[0][i, j : j + 1] += _hashes(place, columns, mix).sum(keepdims=True)

    def finish(self, ops: Ops, total: list[Any]) -> dict[str, str]:
        """As hexadecimal words by name."""
        names = ("values of X", "values of y", "sample weights")
        return {n: f"{a:016x}{b:016x}" for n, (a, b) in zip(names, total[0].tolist(), strict=True)}


def _hashes(place: Words, columns: Any, mix: np.uint64) -> Words:
    h = (place ^ _START) * mix
    for column in columns:
        h ^= h >> _HALF
        h = (h ^ np.ascontiguousarray(column, dtype=np.float64).view(np.uint64)) * mix
    return h ^ (h >> _HALF)


def units_fingerprint(*parts: Any) -> str:
    """A hash of what the model's units are in the user's: scalings, labels."""
    digest = hashlib.sha256()
    for part in parts:
        plain = part.tolist() if isinstance(part, np.ndarray) else part
        digest.update(repr(plain).encode("utf-8", "backslashreplace") + b"\0")
    return digest.hexdigest()[:32]
