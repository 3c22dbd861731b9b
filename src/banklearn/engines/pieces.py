"""Rows on their way from a reader to an engine: cut at fixed places, read once for many."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.gram import BLOCK_ROWS, Block

Array = NDArray[np.float64]

#: Bytes of inputs in one piece, and pieces that are read ahead.
PIECE_BYTES = 8 << 20
AHEAD = 3


@dataclass(frozen=True)
class Piece:
    """Consecutive rows: X (n, d), y (n,), weights or None."""

    X: Array
    y: Array
    weight: Array | None

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: Any) -> Piece:
        weight = None if self.weight is None else self.weight[rows]
        return Piece(self.X[rows], self.y[rows], weight)

    def blocks(self, start: int) -> Iterator[Block]:
        """Blocks as the memory engine has them; start is the place of the first row."""
        for first in range(0, len(self), BLOCK_ROWS):
            part = self[first : first + BLOCK_ROWS]
            yield Block(part.X, part.y, part.weight, start + first)


def piece_rows(n_inputs: int) -> int:
    """Rows per piece: whole blocks, of about PIECE_BYTES."""
    return BLOCK_ROWS * min(max(PIECE_BYTES // (8 * n_inputs * BLOCK_ROWS), 1), 16)


def recut(pieces: Iterable[Piece], rows: int) -> Iterator[Piece]:
    """The same rows in whole blocks, at most `rows` together, whatever sizes come in.

    Only the last piece may end within a block. Rows that come in whole blocks are not copied.
    """
    filled, out = 0, None
    for piece in pieces:
        taken = 0
        while taken < len(piece):
            left = len(piece) - taken
            if out is None and left >= BLOCK_ROWS:
                count = min(rows, left // BLOCK_ROWS * BLOCK_ROWS)
                yield piece[taken : taken + count]
                taken += count
                continue
            if out is None:
                weight = None if piece.weight is None else np.empty(BLOCK_ROWS)
                out = Piece(np.empty((BLOCK_ROWS, piece.X.shape[1])), np.empty(BLOCK_ROWS), weight)
            count = min(BLOCK_ROWS - filled, left)
            part = piece[taken : taken + count]
            out.X[filled : filled + count] = part.X
            out.y[filled : filled + count] = part.y
            if out.weight is not None:
                out.weight[filled : filled + count] = part.weight
            filled, taken = filled + count, taken + count
            if filled == BLOCK_ROWS:
                yield out
                filled, out = 0, None
    if out is not None and filled:
        yield out[:filled]


class _Subscription:
    """The pieces of one read on their way to one reader."""

    def __init__(self, ahead: int) -> None:
        self._queue: queue.Queue[Piece | BaseException | None] = queue.Queue(ahead)
        self.closed = threading.Event()

    def put(self, item: Piece | BaseException | None) -> None:
        """Wait for room, unless nobody listens any more."""
        while not self.closed.is_set():
            try:
                self._queue.put(item, timeout=0.1)
                return
            except queue.Full:
                continue

    def get(self) -> Piece | BaseException | None:
        """The next piece, what went wrong, or None at the end."""
        return self._queue.get()


class Pieces:
    """What one reader hears of a read; who stops early must close it, or all others wait."""

    def __init__(self, subscription: _Subscription) -> None:
        self._subscription = subscription

    def __iter__(self) -> Iterator[Piece]:
        return self

    def __next__(self) -> Piece:
        if self._subscription.closed.is_set():
            raise StopIteration
        item = self._subscription.get()
        if isinstance(item, Piece):
            return item
        self.close()
        raise StopIteration if item is None else item

    def close(self) -> None:
        """Listen no more."""
        self._subscription.closed.set()

    def __del__(self) -> None:
        self.close()


class SharedReader:
    """One read of the data serves every chain.

    A read begins when all who take part are waiting for one; each gets every piece, a few of them
    ahead, from a thread of its own. Who comes alone need not announce anything.
    """

    def __init__(self, read: Callable[[], Iterator[Piece]], ahead: int = AHEAD) -> None:
        self._read, self._ahead = read, ahead
        self._lock = threading.Lock()
        self._members = 0
        self._waiting: list[_Subscription] = []
        #: How often the data were read.
        self.reads = 0

    def expect(self, members: int) -> None:
        """So many will take part; each must call :meth:`member` around its work."""
        with self._lock:
            self._members = members

    @contextmanager
    def member(self) -> Iterator[None]:
        """Take part until the end, good or bad; the others do not wait any longer then."""
        try:
            yield
        finally:
            with self._lock:
                self._members -= 1
                self._start_if_complete()

    def pieces(self) -> Pieces:
        """All pieces of the next read; close it when they are not wanted any more."""
        subscription = _Subscription(self._ahead)
        with self._lock:
            self._waiting.append(subscription)
            self._start_if_complete()
        return Pieces(subscription)

    def _start_if_complete(self) -> None:
        if self._waiting and len(self._waiting) >= self._members:
            served, self._waiting = self._waiting, []
            self.reads += 1
            threading.Thread(
                target=self._serve, args=(served,), name="banklearn-reader", daemon=True
            ).start()

    def _serve(self, served: list[_Subscription]) -> None:
        end: BaseException | None = None
        try:
            for piece in self._read():
                for subscription in served:
                    subscription.put(piece)
                if all(s.closed.is_set() for s in served):
                    return
        except BaseException as error:  # whoever waits for the rows must hear of it
            end = error
        for subscription in served:
            subscription.put(end)
