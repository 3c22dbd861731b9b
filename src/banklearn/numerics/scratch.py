"""Work space that is reused from block to block, one set per thread."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

_local = threading.local()


def scratch(name: str, shape: tuple[int, int], dtype: Any = np.float64) -> NDArray[Any]:
    """An uninitialised C-ordered array that the next call with the same name will overwrite."""
    size = shape[0] * shape[1]
    store: dict[tuple[str, Any], NDArray[Any]] = _local.__dict__.setdefault("store", {})
    flat = store.get((name, dtype))
    if flat is None or flat.size < size:
        flat = store[name, dtype] = np.empty(size, dtype)
    return flat[:size].reshape(shape)


def release() -> None:
    """Give this thread's work space back."""
    _local.__dict__.pop("store", None)
