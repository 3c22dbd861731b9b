"""Work space that is reused from block to block, one set per thread."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

_local = threading.local()


def scratch(name: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    """An uninitialised C-ordered array that the next call with the same name will overwrite."""
    size = shape[0] * shape[1]
    store: dict[str, NDArray[np.float64]] = _local.__dict__.setdefault("store", {})
    flat = store.get(name)
    if flat is None or flat.size < size:
        flat = store[name] = np.empty(size)
    return flat[:size].reshape(shape)


def release() -> None:
    """Give this thread's work space back."""
    _local.__dict__.pop("store", None)
