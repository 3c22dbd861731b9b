"""The same sums with arrays of any library that follows the array API standard.

PyTorch tensors on a GPU are what it is for; the tests run it on the CPU with PyTorch and with
array-api-strict. X stays on the device; row weights, targets and results travel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.base import Statistic
from banklearn.gram import BLOCK_ROWS, Block, Frozen, WorkingFunction
from banklearn.model.evidence import Ridge, ridge
from banklearn.model.features import Trend
from banklearn.numerics.blas import inverse_from_cholesky
from banklearn.numerics.linalg import JitterCount

Array = NDArray[np.float64]

#: Rows per block on a device: 16 cells.
DEVICE_ROWS = 16 * BLOCK_ROWS
#: What a step along the gradient and a sweep cost a GPU however few the rows are, in rows' work of
#: a step, and what a row costs a sweep: waiting, and the accept step in memory.
STEP_ROWS, SWEEP_ROWS, SWEEP_ROW = 14_000, 540_000, 0.6
#: Kinds of trajectories whose records are kept.
PATHS = 4
#: Blocks at work at the same time on a GPU: one's cosines beside another's products.
LANES = 2


def _in_memory(values: Any) -> bool:
    return isinstance(values, np.ndarray)


class ArrayOps:
    """:class:`banklearn.gram.Ops` through the array API standard, float64 unless asked."""

    #: Whether it takes longer to wait for a small result than to compute it.
    waits = False
    #: Whether steps are recorded and done again.
    repeats = False

    def __init__(self, xp: Any, device: Any = None, dtype: str = "float64") -> None:
        self.xp, self.device = xp, device
        self.dtype = getattr(xp, dtype)

    def zeros(self, *shape: int) -> Any:
        """An accumulator, always in float64."""
        return self.xp.zeros(shape, dtype=self.xp.float64, device=self.device)

    def array(self, values: Any) -> Any:
        """Copy to the device, in the precision of the products; what is there is not copied."""
        if not _in_memory(values):
            return self.xp.astype(values, self.dtype, copy=False)
        values = np.ascontiguousarray(values)
        return self.xp.asarray(values, dtype=self.dtype, device=self.device)

    def host(self, values: Any) -> Array:
        """Copy to memory, as float64."""
        if hasattr(values, "cpu"):
            values = values.cpu()
        elif hasattr(values, "get"):
            values = values.get()
        return np.asarray(
            np.from_dlpack(values) if hasattr(values, "__dlpack__") else values
        ).astype(np.float64, copy=True)

    def features(
        self, X: Any, W: Array, trend: Trend, scale: float, name: str
    ) -> tuple[Any, float]:
        """Cosines and sines of all phases; phases are formed in the precision of X."""
        xp = self.xp
        n, d = X.shape
        W = xp.asarray(np.ascontiguousarray(W), device=self.device) if _in_memory(W) else W
        U = xp.astype(W, X.dtype, copy=False) @ X.T
        waves = xp.stack([xp.cos(U), xp.sin(U)], axis=1)
        waves = xp.astype(xp.reshape(waves, (2 * W.shape[0], n)), self.dtype) * float(scale)
        if trend == "none":
            return waves, 1.0
        parts = [xp.ones((1, n), dtype=self.dtype, device=self.device)]
        if trend == "linear":
            parts.append(xp.astype(X.T, self.dtype) / float(np.sqrt(d)))
        return xp.concat([*parts, waves], axis=0), 1.0

    def lanes(self, count: int) -> list[Any]:
        """Operations that can go on at the same time; here one after another."""
        return [self]

    def at_work(self) -> AbstractContextManager[Any]:
        """The context in which a lane works."""
        return nullcontext()

    def apart(self) -> AbstractContextManager[Any]:
        """The context of a chain that runs beside others."""
        return nullcontext()

    def after(self, other: Any) -> None:
        """Wait for what another lane was told to do so far."""

    def join(self, lanes: list[Any], totals: list[list[Any]]) -> None:
        """Wait for all lanes and take over what they summed."""

    def free_bytes(self) -> float:
        """Memory that is left on the device, as far as is known."""
        return float("inf")

    def for_many_threads(self) -> bool:
        """Whether several threads may compute at the same time."""
        return True

    def index(self, rows: Any) -> Any:
        """Numbers of rows, where sums over some of the rows need them: in memory."""
        return rows

    def take(self, A: Any, rows: Any) -> Any:
        """Some of the columns."""
        if _in_memory(rows):
            rows = self.xp.asarray(rows.astype(np.int64), device=self.device)
        return self.xp.take(A, rows, axis=1)

    def weigh(self, A: Any, weight: Any) -> Any:
        """Columns times the square roots of weights."""
        return A * self.xp.sqrt(self.array(weight))[None, :]

    def add_square(self, C: Any, t: int, A: Any, factor: float) -> None:
        """Lower triangle, in blocks of rows, so that little of the upper one is computed."""
        Q = A.shape[0]
        width = max(256, -(-Q // 4))
        for start in range(0, Q, width):
            stop = min(start + width, Q)
            part = A[start:stop, :] @ A[:stop, :].T
            C[t, start:stop, :stop] += factor * self.xp.astype(part, self.xp.float64)

    def add_cross(self, C: Any, A: Any, B: Any, factor: float) -> None:
        """C += factor A B'."""
        C += factor * self.xp.astype(A @ B.T, self.xp.float64)

    def times(self, A: Any, B: Any) -> Any:
        """A B."""
        return A @ self.xp.astype(B, A.dtype, copy=False)

    def add_slope(
        self, slope: Any, Phi: Any, R: Any, A: Any, residual: Any, mu: Array, rows: Any
    ) -> Any:
        """-sin g_cos + cos g_sin with g = mu residual - A R."""
        e, m = residual, self.array(mu[:, None])
        a = 1.0 if A is None else A
        cos, sin = Phi[0::2, :], Phi[1::2, :]
        part = cos * (m[1::2, :] * e - a * R[1::2, :]) - sin * (m[0::2, :] * e - a * R[0::2, :])
        part = self.xp.astype(part, self.xp.float64)
        if rows is None:
            return slope + part
        whole = np.zeros(slope.shape)
        whole[:, rows] = self.host(part)
        return slope + self.xp.asarray(whole, device=self.device)

    def inverse(self, L: Array) -> Any:
        """(L L')^-1, formed in memory."""
        return self.array(inverse_from_cholesky(L))

    def factor(self, A: Any, added: Any = None, jitter: float = 0.0) -> Any:
        """Lower Cholesky factors of A + added I, of lower triangles (..., P, P); NaN if it fails.

        `added` is a number, there or here. Nobody waits for it: what follows is NaN, too. Jitter is
        relative to the mean diagonal.
        """
        xp = self.xp
        more = jitter * xp.mean(xp.linalg.diagonal(A), axis=-1)
        more = more if added is None else more + added
        try:
            return xp.linalg.cholesky(A + more[..., None, None] * self._eye(A))
        except np.linalg.LinAlgError:
            return xp.full_like(A, float("nan"))

    def inverse_factor(self, L: Any) -> Any:
        """L^-1 for factors (..., P, P) on the device."""
        return self.xp.linalg.solve(L, self.xp.broadcast_to(self._eye(L), L.shape))

    def _eye(self, like: Any) -> Any:
        return self.xp.eye(like.shape[-1], dtype=like.dtype, device=self.device)

    def select(self, C: Any, columns: NDArray[np.intp]) -> Any:
        """Selected on the device."""
        index = self.xp.asarray(columns.astype(np.int64), device=self.device)
        return self.xp.take(self.xp.take(C, index, axis=1), index, axis=2)

    def ridge(self, G: Any, r: Array, lam: float, count: JitterCount) -> Ridge:
        """Factored in memory."""
        return ridge(self.host(G), r, lam, count)

    def extend(self, known: Any, cross: Any, square: Any) -> Any:
        """Put together on the device."""
        xp = self.xp
        top, bottom = xp.concat([known, cross.T], axis=1), xp.concat([cross, square], axis=1)
        return self.symmetric(xp.concat([top, bottom], axis=0)[None, ...])[0, ...]

    def symmetric(self, C: Any) -> Any:
        """Both triangles."""
        xp = self.xp
        return xp.tril(C) + xp.matrix_transpose(xp.tril(C, k=-1))


class DeviceEngine:
    """Data on a device, in a few large blocks."""

    def __init__(
        self,
        X: Array,
        y: Array,
        weight: Array | None = None,
        *,
        xp: Any,
        device: Any = None,
        dtype: str = "float64",
        block_rows: int = DEVICE_ROWS,
        on_device: Any = None,
    ) -> None:
        if block_rows % BLOCK_ROWS:
            raise ValueError(f"block_rows must be a multiple of {BLOCK_ROWS}, but is {block_rows}.")
        self.xp, self.device, self.dtype, self.block_rows = xp, device, dtype, block_rows
        self.n_lanes = LANES
        self.y, self.weight = y.copy(), weight
        self.X = xp.asarray(X, device=device) if on_device is None else on_device
        self.ops = self._operations()
        #: Where trajectories go, by what they are made for (:mod:`banklearn.sampler.aloft`).
        self.paths: dict[Any, Any] = {}

    @property
    def records(self) -> bool:
        """Whether a step along the gradient is so short that it is recorded and done again."""
        return self.ops.repeats and self.lanes_at_work == 1

    def path(self, key: Any, make: Callable[[], Any]) -> Any:
        """Where trajectories of a kind go; those PATHS that were last used are kept."""
        found = self.paths.pop(key, None)
        self.paths[key] = make() if found is None else found
        while len(self.paths) > PATHS:
            del self.paths[next(iter(self.paths))]
        return self.paths[key]

    def _operations(self) -> Any:
        """Operations with work space of their own."""
        if not self.xp.__name__.endswith("torch"):
            return ArrayOps(self.xp, self.device, self.dtype)
        from banklearn.engines.torch_ops import TorchOps

        ops = TorchOps(self.xp, self.device, self.dtype)
        ops.constants.append(self.y)
        return ops

    def beside(self) -> DeviceEngine:
        """The same rows for a chain that runs beside others, which must not share work space."""
        other = copy(self)
        other.ops, other.paths = other._operations(), {}
        return other

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        return len(self.y)

    @property
    def lanes_at_work(self) -> int:
        """Lanes that have at least two blocks each, or one lane."""
        n_blocks = -(-len(self.y) // self.block_rows)
        return max(1, min(self.n_lanes, n_blocks // 2))

    @property
    def work_of_step(self) -> float | None:
        """Work of a step along the gradient, in sweeps; None where it is that of its products."""
        if not self.ops.waits:
            return None
        return (STEP_ROWS + self.n_rows) / (SWEEP_ROW * (SWEEP_ROWS + self.n_rows))

    def bytes_of_chain(self, M: int, h: int, tasks: int) -> int:
        """What a chain of M frequencies and h trend columns takes on the device, from above.

        Features and what is formed of them in the blocks at work, copies of the statistic, and
        a subsample of half of the rows.
        """
        columns, rows = h + 4 * M, min(self.n_rows, self.n_lanes * self.block_rows)
        numbers = 5 * rows * columns + (3 + 4 * tasks) * columns**2 + self.n_rows * self.X.shape[1]
        return 8 * numbers

    def chains_that_fit(self, M: int, h: int, tasks: int) -> float:
        """How many such chains find room beside each other, as far as is known."""
        room = self.ops.free_bytes()
        return room if np.isinf(room) else room // self.bytes_of_chain(M, h, tasks)

    def blocks(self) -> Iterator[Block]:
        """The blocks in order."""
        for start in range(0, len(self.y), self.block_rows):
            part = slice(start, min(start + self.block_rows, len(self.y)))
            weight = None if self.weight is None else self.weight[part]
            yield Block(self.X[part, :], self.y[part], weight, start)

    def sum(self, statistic: Statistic[Any]) -> Any:
        """Add the blocks in order, in turn to the totals of the lanes, and these in order."""
        lanes = self.ops.lanes(self.lanes_at_work)
        totals: list[list[Any]] = []
        for i, block in enumerate(self.blocks()):
            lane = lanes[i % len(lanes)]
            with lane.at_work():
                if i < len(lanes):
                    totals.append(statistic.zero(lane))
                statistic.add(lane, totals[i % len(lanes)], block)
            if i == 0:  # what a statistic computes once, it computes with its first block
                for other in lanes[1:]:
                    other.after(lane)
        if not totals:
            totals.append(statistic.zero(self.ops))
        self.ops.join(lanes, totals)
        total = totals[0]
        for more in totals[1:]:
            for k, part in enumerate(more):
                total[k] = total[k] + part
        return statistic.finish(self.ops, total)

    def exact(self) -> DeviceEngine:
        """Itself: chains on it do not look for rounding."""
        return self

    def rough(self) -> DeviceEngine:
        """Itself: a GPU for double precision is as fast in it."""
        return self

    def subset(self, rows: NDArray[np.intp]) -> DeviceEngine:
        """Some of the rows, copied on the device."""
        weight = None if self.weight is None else self.weight[rows]
        index = self.xp.asarray(rows.astype(np.int64), device=self.device)
        return DeviceEngine(
            np.empty((0, 0)),
            self.y[rows],
            weight,
            xp=self.xp,
            device=self.device,
            dtype=self.dtype,
            block_rows=self.block_rows,
            on_device=self.xp.take(self.X, index, axis=0),
        )

    def freeze(self, working: WorkingFunction, W: Array, trend: Trend) -> WorkingFunction:
        """Drawn once and kept."""
        return Frozen(working)
