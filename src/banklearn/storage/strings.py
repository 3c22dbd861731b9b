"""Lists of strings as two arrays: the length of each in bytes, and all their UTF-8 bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack_strings(words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """(lengths, bytes)."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    lengths = np.array([len(word) for word in encoded], dtype=np.int64)
    return lengths, np.frombuffer(b"".join(encoded), dtype=np.uint8)


def unpack_strings(lengths: NDArray[Any], data: NDArray[Any]) -> list[str]:
    """The strings; ValueError where the two arrays do not fit each other."""
    if (lengths < 0).any() or (lengths > len(data)).any() or lengths.sum() != len(data):
        raise ValueError("lengths of strings do not add up")
    ends = np.cumsum(lengths)
    raw = data.tobytes()
    return [
        raw[end - n : end].decode("utf-8", "surrogatepass")
        for n, end in zip(lengths.tolist(), ends.tolist(), strict=True)
    ]
