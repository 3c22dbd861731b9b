"""Which source stands for what was passed to ``fit``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from banklearn.sources.arrays import ArraySource
from banklearn.sources.base import Source, SourceError
from banklearn.sources.iterables import BlockSource

#: A numpy.memmap of more bytes is read in blocks; a smaller one is like any array.
MEMMAP_BYTES = 256 << 20


def as_source(X: Any, y: Any, weight: Any, target: str | None) -> Source | None:
    """A source for data that are read in blocks, None for everything that is in memory."""
    module = type(X).__module__.partition(".")[0]
    if isinstance(X, Source):
        _only_x(y, weight, target, "a source")
        return X
    dataset = module == "pyarrow" and hasattr(X, "to_batches") and hasattr(X, "get_fragments")
    if dataset or (isinstance(X, str | Path) and y is None) or target is not None:
        return _tables(X, y, weight, target, dataset)
    if module in ("h5py", "zarr") or (isinstance(X, np.memmap) and X.nbytes > MEMMAP_BYTES):
        if y is None:
            raise SourceError("fit needs y: an array with one value for each row of X.")
        return ArraySource(X, y, weight)
    if y is None and _gives_blocks(X):
        _only_x(y, weight, target, "an iterable of blocks")
        return BlockSource(X)
    return None


def _tables(X: Any, y: Any, weight: Any, target: str | None, dataset: bool) -> Source:
    from banklearn.sources.tables import DatasetSource, TableSource

    if not (dataset or isinstance(X, str | Path | list | tuple)):
        raise SourceError(
            "target names a column of files or of a pyarrow dataset, but X is a "
            f"{type(X).__name__}; pass its target as y."
        )
    if target is None or y is not None:
        raise SourceError("For files, name the column to predict: fit(path, target='y').")
    if weight is not None and not isinstance(weight, str):
        raise SourceError("For files, sample_weight is the name of a column.")
    return (
        DatasetSource(X, target, None, weight) if dataset else TableSource(X, target, None, weight)
    )


def _only_x(y: Any, weight: Any, target: str | None, what: str) -> None:
    if y is not None or weight is not None or target is not None:
        raise SourceError(f"X is {what}, which brings y and weights itself: leave them out.")


def _gives_blocks(X: Any) -> bool:
    """Whether X looks like an iterable of (X, y) tuples, without reading an iterator."""
    if hasattr(X, "shape") or hasattr(X, "columns") or isinstance(X, str | bytes | dict | set):
        return False
    if isinstance(X, list | tuple):
        return bool(X) and isinstance(X[0], tuple) and len(X[0]) in (2, 3) and np.ndim(X[0][0]) == 2
    return isinstance(X, Iterable)
