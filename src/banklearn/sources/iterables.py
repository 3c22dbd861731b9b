"""Any object that gives blocks (X, y) or (X, y, weight) each time it is iterated over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from banklearn.sources.base import RawBlock, Source, SourceError
from banklearn.sources.values import as_numbers, as_target, column_names


class BlockSource(Source):
    """A re-iterable of tuples: a list, or an object whose __iter__ begins anew.

    Where the first block is a data frame its columns name the inputs; those of other frames must be
    the same, in the same order.
    """

    def __init__(self, blocks: Iterable[Any]) -> None:
        if iter(blocks) is blocks:
            raise SourceError(
                "Blocks must be readable again and again, but this iterator can be read only once. "
                "Pass an object whose __iter__ begins anew, such as a list or a class of your own."
            )
        self._blocks = blocks

    def blocks(self) -> Iterator[RawBlock]:
        """The blocks as they come; empty ones are passed over."""
        row = 0
        for number, block in enumerate(self._blocks):
            if not isinstance(block, tuple) or len(block) not in (2, 3):
                raise SourceError(
                    f"Block {number} is {_shape(block)}, but a tuple (X, y) or (X, y, weight) is "
                    "needed."
                )
            self._check_names(number, column_names(block[0]))
            X = as_numbers(block[0], f"X of block {number}")
            y = as_target(block[1], f"y of block {number}")
            weight = (
                None if len(block) == 2 else as_numbers(block[2], f"The weight of block {number}")
            )
            if X.ndim == 0:
                raise SourceError(f"X of block {number} is one number; a table is needed.")
            if len(X):
                yield RawBlock(X, y, weight, number, "the data", row)
            row += len(X)

    def _check_names(self, number: int, names: list[str] | None) -> None:
        if number == 0:
            self.names = names
        if names is not None and self.names is not None and names != list(self.names):
            raise SourceError(
                f"Block {number} has the columns {', '.join(names)}, but the first block has "
                f"{', '.join(self.names)}. Give all blocks the same columns in the same order."
            )


def _shape(block: Any) -> str:
    return f"a tuple of {len(block)}" if isinstance(block, tuple) else f"a {type(block).__name__}"
