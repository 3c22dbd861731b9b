"""On a Dask cluster: rows stay on the workers, statistics travel.

Every sum sends the statistic (proposals, weights) out, sums each piece where it lies and adds the
results in a tree of fixed shape, so that the same pieces give the same bits wherever they lie.
Polya-Gamma weights are drawn on the workers, from streams addressed by rows. Nothing there is
state: what a lost worker held, Dask computes again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.base import Engine, Statistic
from banklearn.engines.host import HostOps
from banklearn.engines.memory import MemoryEngine
from banklearn.engines.mixed import Arithmetic, Products, Summed
from banklearn.engines.pieces import Piece
from banklearn.gram import BLOCK_ROWS, Redrawn, WorkingFunction
from banklearn.model.features import Trend
from banklearn.numerics.threads import one_thread_each

Array = NDArray[np.float64]

#: Sums that are added together in one node of the tree.
FAN_IN = 8
#: Pieces for each thread of the cluster, and the most bytes in one.
PIECES_PER_THREAD = 4
PIECE_BYTES = 256 << 20
#: A subset of fewer bytes comes to the client, where small sweeps are quickest.
GATHER_BYTES = 32 << 20
#: Seconds without any worker after which a fit gives up.
PATIENCE = 60.0


class ClusterError(RuntimeError):
    """The cluster cannot do the work; the message says what to look at."""


class LostWorkError(ClusterError):
    """The scheduler no longer knows the work, or what it was to work on."""


class DaskEngine(Summed):
    """Pieces are futures of :class:`Piece`, in order; all but the last hold whole blocks."""

    def __init__(
        self,
        client: Any,
        pieces: Sequence[Any],
        sizes: Sequence[int],
        n_inputs: int,
        threads: int,
        patience: float = PATIENCE,
        arithmetic: Arithmetic = "double",
    ) -> None:
        self.client, self.pieces, self.patience = client, list(pieces), patience
        self.threads, self.arithmetic = threads, arithmetic
        self.starts = list(accumulate(sizes, initial=0))
        self.n_inputs = n_inputs

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        return self.starts[-1]

    def sum(self, statistic: Statistic[Any]) -> Any:
        """Sum the pieces where they lie, add up in a tree, finish here."""
        # As a task, not as scattered data: a lost copy is made again.
        sent = self.client.submit(_same, statistic, pure=False)
        parts = self.client.map(
            partial_sum,
            self.pieces,
            self.starts[:-1],
            statistic=sent,
            arithmetic=self.arithmetic,
            pure=False,
        )
        while len(parts) > 1:
            groups = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
            parts = [self.client.submit(add_up, group, pure=False) for group in groups]
        return statistic.finish(HostOps(), result(self.client, parts[0], self.patience))

    def subset(self, rows: NDArray[np.intp]) -> Engine:
        """Some of the rows: here where they are few, else cut into new pieces on the cluster."""
        order = np.argsort(rows, kind="stable")
        cuts = np.searchsorted(rows[order], self.starts)
        here = [
            rows[order][cuts[i] : cuts[i + 1]] - self.starts[i] for i in range(len(self.pieces))
        ]
        parts = self.client.map(_take, self.pieces, here, pure=False)
        if len(rows) * self.n_inputs * 8 <= GATHER_BYTES:
            whole = join([result(self.client, part, self.patience) for part in parts])
            back = whole[np.argsort(order, kind="stable")]
            return MemoryEngine(back.X, back.y, back.weight, arithmetic=self.arithmetic)
        if not np.array_equal(order, np.arange(len(rows))):
            raise ValueError("Rows of a large subset must be in increasing order.")
        sizes = [len(chosen) for chosen in here]
        pieces, lengths = cut_evenly(self.client, parts, sizes, self.n_inputs, self.threads)
        settings = (self.n_inputs, self.threads, self.patience, self.arithmetic)
        return DaskEngine(self.client, pieces, lengths, *settings)

    def freeze(self, working: WorkingFunction, W: Array, trend: Trend) -> WorkingFunction:
        """Drawn anew each time: a worker that is lost takes nothing with it."""
        return Redrawn(working, W, trend)


def partial_sum(
    piece: Piece, start: int, statistic: Statistic[Any], arithmetic: Arithmetic = "double"
) -> list[Any]:
    """The accumulators of one piece; start is the place of its first row."""
    ops = Products(arithmetic)(statistic)
    total = statistic.zero(ops)
    with one_thread_each():  # the threads of a worker are for tasks
        for block in piece.blocks(start):
            statistic.add(ops, total, block)
    return total


def add_up(parts: Sequence[list[Any]]) -> list[Any]:
    """Accumulators added in the given order; those that came in stay as they are."""
    total = [np.array(values) for values in parts[0]]
    for part in parts[1:]:
        for out, values in zip(total, part, strict=True):
            out += values
    return total


def rows_of_a_piece(n_rows: int, n_inputs: int, width: int) -> int:
    """Whole blocks: a few pieces for each of so many threads, none of more than PIECE_BYTES."""
    blocks = -(-n_rows // (max(width, 1) * PIECES_PER_THREAD * BLOCK_ROWS))
    return BLOCK_ROWS * min(max(blocks, 1), max(PIECE_BYTES // (8 * n_inputs * BLOCK_ROWS), 1))


def cut_evenly(
    client: Any, parts: Sequence[Any], sizes: Sequence[int], n_inputs: int, width: int
) -> tuple[list[Any], list[int]]:
    """Futures of pieces that begin at whole blocks, from futures of pieces of any size.

    width is the number of threads that the pieces are meant for. It is that of the beginning: sums
    are rounded by pieces, and must not change because a worker is being replaced.
    """
    n_rows = sum(sizes)
    threads = [worker for worker, count in sorted(client.nthreads().items()) for _ in range(count)]
    rows = rows_of_a_piece(n_rows, n_inputs, width)
    starts = list(accumulate(sizes, initial=0))
    pieces, lengths = [], []
    for low in range(0, n_rows, rows):
        high = min(low + rows, n_rows)
        touched = [i for i in range(len(sizes)) if starts[i] < high and starts[i + 1] > low]
        spans = [
            slice(max(low - starts[i], 0), min(high, starts[i + 1]) - starts[i]) for i in touched
        ]
        # Spread evenly; where a worker is gone, any other will do.
        worker = threads[low * len(threads) // n_rows] if threads else None
        pieces.append(
            client.submit(
                _cut,
                [parts[i] for i in touched],
                spans,
                pure=False,
                workers=worker,
                allow_other_workers=worker is not None,
            )
        )
        lengths.append(high - low)
    return pieces, lengths


def join(parts: Sequence[Piece]) -> Piece:
    """One piece of many."""
    weights = [part.weight for part in parts if part.weight is not None]
    return Piece(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate(weights) if weights else None,
    )


def _same(statistic: Any) -> Any:
    return statistic


def _take(piece: Piece, rows: NDArray[np.intp]) -> Piece:
    return piece[rows]


def _cut(parts: Sequence[Piece], spans: Sequence[slice]) -> Piece:
    return join([part[span] for part, span in zip(parts, spans, strict=True)])


def wait_for_workers(client: Any, patience: float) -> None:
    """Return when there is a worker, or say that there is none."""
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError as error:
        raise no_workers(client, patience) from error


def no_workers(client: Any, patience: float) -> ClusterError:
    """The sentence for a cluster without workers."""
    address = getattr(getattr(client, "scheduler", None), "address", "unknown")
    return ClusterError(
        f"The Dask cluster at {address} had no worker for {patience:g} seconds. Start workers, or "
        "look at why they do not come up (queue, memory limit, image)."
    )


def result(client: Any, future: Any, patience: float) -> Any:
    """The result of a future; gives up when the cluster has no worker for too long."""
    from distributed import CancelledError, KilledWorker

    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    alone_since = None
    while not done.wait(min(1.0, patience)):
        if client.status != "running":
            raise ClusterError("The connection to the Dask scheduler was lost.")
        if client.nthreads():
            alone_since = None
        elif alone_since is None:
            alone_since = time.monotonic()
        elif time.monotonic() - alone_since > patience:
            raise no_workers(client, patience)
    try:
        return future.result()
    except KilledWorker as error:
        raise ClusterError(
            f"Several workers died one after another on the same task: {error} Workers usually die "
            "when they run out of memory; give them more, or use more of them."
        ) from error
    except CancelledError as error:
        raise LostWorkError(
            "The Dask scheduler dropped the work of this fit; was it restarted or closed?"
        ) from error
