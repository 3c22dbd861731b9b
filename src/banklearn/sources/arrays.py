"""Arrays on disk: numpy.memmap, Zarr, HDF5, or anything with a shape that gives slices of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from banklearn.sources.base import ROWS_AT_ONCE, RawBlock, Source, SourceError
from banklearn.sources.values import as_numbers, as_target


class ArraySource(Source):
    """X (N, d), y (N,) and weights (N,), read a slice of rows at a time.

    Rows are read in multiples of the array's own chunks, where it has some.
    """

    def __init__(
        self, X: Any, y: Any, weight: Any = None, rows_at_once: int = ROWS_AT_ONCE
    ) -> None:
        if len(getattr(X, "shape", ())) != 2:
            raise SourceError(
                f"X must have two dimensions, but has shape {getattr(X, 'shape', None)}."
            )
        self.X = X
        self.y = y if hasattr(y, "shape") else np.asarray(y)
        self.weight = weight if weight is None or hasattr(weight, "shape") else np.asarray(weight)
        for name, values in (("y", self.y), ("sample_weight", self.weight)):
            if values is not None and values.shape[:1] != X.shape[:1]:
                raise SourceError(
                    f"{name} has shape {values.shape}, but X has {X.shape[0]} rows: one value for "
                    "each row is needed."
                )
        self.n_rows = int(X.shape[0])
        chunks = getattr(X, "chunks", None)
        chunk = int(chunks[0]) if chunks and chunks[0] else 1
        self.rows_at_once = max(rows_at_once // chunk, 1) * chunk

    def blocks(self) -> Iterator[RawBlock]:
        """Slices in order."""
        assert self.n_rows is not None
        for number, start in enumerate(range(0, self.n_rows, self.rows_at_once)):
            part = slice(start, min(start + self.rows_at_once, self.n_rows))
            try:
                weight = (
                    None if self.weight is None else as_numbers(self.weight[part], "The weight")
                )
                X = as_numbers(self.X[part], "X")
                y = as_target(self.y[part], "y")
            except (OSError, RuntimeError) as error:
                raise SourceError(
                    f"Rows {part.start} to {part.stop - 1} cannot be read: {error}. The file is "
                    "probably cut short or damaged."
                ) from error
            yield RawBlock(X, y, weight, number, "the data", start)
