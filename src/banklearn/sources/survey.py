"""The first pass over rows in blocks: check every value, and sum up what scaling needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.limits import ADVICE, LARGEST
from banklearn.numerics.moments import ROWS, Moments
from banklearn.numerics.row_keys import RowKeys
from banklearn.sources.base import RawBlock, Source, SourceError

Array = NDArray[np.float64]

#: A summary of the target of one block: (y, weight) to something that can be added.
SummariseTarget = Callable[[Any, Array | None], Any]
#: X, y and weights.
Rows = tuple[Array, Any, Array | None]


@dataclass(frozen=True)
class Survey:
    """Rows with a weight above zero, moments of the inputs, a summary of the target, and keys."""

    inputs: Moments
    target: Any
    weighted: bool
    keys: RowKeys

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.keys.n_rows

    def __add__(self, other: Survey) -> Survey:
        """Of both sets of rows."""
        return Survey(
            self.inputs + other.inputs,
            self.target + other.target,
            self.weighted,
            self.keys + other.keys,
        )


def survey_rows(X: Array, y: Any, weight: Array | None, summarise: SummariseTarget) -> Survey:
    """Sum up rows that were checked; numbers to predict are part of a row's key."""
    target = summarise(y, weight)
    numbers = np.asarray(y, dtype=np.float64) if isinstance(target, Moments) else None
    return Survey(Moments.of(X, weight), target, weight is not None, RowKeys.of(X, numbers))


def survey(
    source: Source, summarise: SummariseTarget, seen: Callable[[int], None] = lambda rows: None
) -> Survey:
    """Read everything once; seen is told the number of rows after every block."""
    source.check()
    parts = (survey_rows(*rows, summarise) for rows in _regular(_checked(source, summarise, seen)))
    total = reduce(lambda sum_, part: part if sum_ is None else sum_ + part, parts, None)
    if total is None:
        raise SourceError("The data hold no row with a weight above zero.")
    return total


def weighed_moments(source: Source, weigh: Callable[[Any, Array | None], Array | None]) -> Moments:
    """Moments of the inputs where weigh turns labels and weights into weights: one more read."""
    blocks = (with_weight(block) for block in source.blocks())
    return reduce(add, (Moments.of(X, weigh(y, weight)) for X, y, weight in _regular(blocks)))


def _checked(
    source: Source, summarise: SummariseTarget, seen: Callable[[int], None]
) -> Iterator[RawBlock]:
    """The blocks, each compared with the first one, without rows of weight zero."""
    rows, first = 0, None
    for block in source.blocks():
        first = block if first is None else first
        check_block(block, first, source.names, summarise)
        yield with_weight(block)
        rows += len(block.X)
        seen(rows)


def _regular(blocks: Iterable[RawBlock], rows: int = ROWS) -> Iterator[Rows]:
    """The same rows, always so many together: sums do not depend on how they were read."""
    held: list[Rows] = []
    count = 0
    for block in blocks:
        held.append((block.X, block.y, block.weight))
        count += len(block.X)
        if count < rows:
            continue
        X, y, weight = join_rows(held)
        whole = count // rows * rows
        for start in range(0, whole, rows):
            yield _part(X, y, weight, slice(start, start + rows))
        held, count = [_part(X, y, weight, slice(whole, None))], count - whole
    if count:
        yield join_rows(held)


def _part(X: Array, y: Any, weight: Array | None, rows: slice) -> Rows:
    return X[rows], y[rows], None if weight is None else weight[rows]


def join_rows(parts: Sequence[Rows]) -> Rows:
    """One set of rows of many."""
    X, y, weight = zip(*parts, strict=True)
    joined = None if weight[0] is None else np.concatenate(weight)
    return np.concatenate(X), np.concatenate(y), joined


def check_block(
    block: RawBlock,
    first: RawBlock,
    names: Sequence[str] | None,
    summarise: SummariseTarget,
) -> None:
    """Refuse a block unlike the first, missing or infinite values, and impossible weights."""
    X, weight, at = block.X, block.weight, f"Block {block.number}{_in(block)}"
    weighted = first.weight is not None
    if X.ndim != 2 or X.shape[1] == 0:
        raise SourceError(f"{at} has inputs of shape {X.shape}; rows and columns are needed.")
    if X.shape[1] != first.X.shape[1]:
        raise SourceError(
            f"{at} has {X.shape[1]} inputs, but the first block has {first.X.shape[1]}."
        )
    if np.shape(block.y) != (len(X),):
        raise SourceError(f"{at} has y of shape {np.shape(block.y)} for {len(X)} rows.")
    if (weight is not None) != weighted:
        raise SourceError(f"{at} is {'not ' if weighted else ''}weighted, unlike those before.")
    if _is_text(block.y) != _is_text(first.y):
        raise SourceError(
            f"{at} has {'text' if _is_text(block.y) else 'no text'} in y, unlike the first block: "
            f"{block.y[0]!s} here, {first.y[0]!s} there. Make them all text, or all numbers."
        )
    _check_inputs(block, names)
    if weight is not None:
        if weight.shape != (len(X),):
            raise SourceError(f"{at} has weights of shape {weight.shape} for {len(X)} rows.")
        bad = ~((weight >= 0) & (weight <= 1e100))
        if bad.any():
            i = int(np.flatnonzero(bad)[0])
            raise SourceError(
                f"The weight is {weight[i]} in {block.where(i)}; weights of at least zero are "
                "needed."
            )

    try:
        summarise(block.y, None)
    except (ValueError, TypeError) as error:
        raise SourceError(f"{at}: {error}") from error


def _is_text(y: Any) -> bool:
    """Whether a target is text; together with numbers it would make them text, too."""
    return len(y) > 0 and isinstance(np.asarray(y)[0], str)


def _check_inputs(block: RawBlock, names: Sequence[str] | None) -> None:
    """Refuse the first value that is missing, or too large for differences to be numbers."""
    good = np.abs(block.X) <= LARGEST
    if good.all():
        return
    i, j = (int(k) for k in np.argwhere(~good)[0])
    label = f"Input {names[j]!r}" if names is not None else f"Input {j}"
    if np.isfinite(block.X[i, j]):
        raise SourceError(f"{label} is {block.X[i, j]:.3g} in {block.where(i)}. {ADVICE}")
    raise SourceError(
        f"{label} is missing, NaN or infinite in {block.where(i)}. Remove such rows or fill "
        "them in."
    )


def with_weight(block: RawBlock) -> RawBlock:
    """The rows with a weight above zero."""
    if block.weight is None or block.weight.all():
        return block
    keep = block.weight > 0
    return replace(block, X=block.X[keep], y=block.y[keep], weight=block.weight[keep])


def take_rows(source: Source, rows: NDArray[np.intp]) -> Rows:
    """X, y and weights at sorted positions among the rows with a weight above zero."""
    return join_rows(
        [
            (block.X[at], block.y[at], None if block.weight is None else block.weight[at])
            for block, at in _chosen(source, rows)
        ]
    )


def _chosen(source: Source, rows: NDArray[np.intp]) -> Iterator[tuple[RawBlock, NDArray[np.intp]]]:
    start = 0
    for raw in source.blocks():
        block = with_weight(raw)
        low, high = np.searchsorted(rows, (start, start + len(block.X)))
        if high > low:
            yield block, rows[low:high] - start
        start += len(block.X)
        if high == len(rows):
            return


def _in(block: RawBlock) -> str:
    return f" (in {block.place})" if block.place else ""
