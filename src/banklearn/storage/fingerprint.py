"""What data a fit saw, in a few short strings."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def data_fingerprint(engine: Any) -> dict[str, Any]:
    """Rows and hashes of inputs, target and weights in the order of the rows.

    An engine that knows its data better has a method ``fingerprint`` of its own; any other is
    read once, block by block, and where blocks are cut makes no difference.
    """
    if hasattr(engine, "fingerprint"):
        return dict(engine.fingerprint())
    X, y, weight = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    inputs = 0
    for block in engine.blocks():
        rows = engine.ops.host(block.X)
        inputs = rows.shape[1]
        X.update(_bytes(rows))
        y.update(_bytes(block.y))
        if block.weight is not None:
            weight.update(_bytes(block.weight))
    return {
        "rows": int(engine.n_rows),
        "inputs": int(inputs),
        "values of X": X.hexdigest()[:32],
        "values of y": y.hexdigest()[:32],
        "sample weights": weight.hexdigest()[:32],
    }


def units_fingerprint(*parts: Any) -> str:
    """A hash of what the model's units are in the user's: scalings, labels."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype.kind != "O":
            digest.update(_bytes(part))
        elif isinstance(part, np.ndarray):
            digest.update(repr(part.tolist()).encode("utf-8", "backslashreplace"))
        else:
            digest.update(repr(part).encode("utf-8", "backslashreplace"))
        digest.update(b"\0")
    return digest.hexdigest()[:32]


def _bytes(values: NDArray[Any]) -> Any:
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
