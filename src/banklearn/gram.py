"""The statistic through which all data enters: (Phi'A Phi, Phi'A t, t'A t, n), summed over blocks.

A task is one set of weights beta: regression and binary classification have one, C classes have
C - 1. Row weights A and targets t come from the likelihood, per block and task. Each statistic is
written once; an engine brings the operations (:class:`Ops`) for the arrays it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from banklearn.model.evidence import Ridge
from banklearn.model.features import Trend, feature_rows, trend_columns
from banklearn.model.kept_features import Features
from banklearn.numerics.blas import times
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.scratch import scratch

Array = NDArray[np.float64]

#: Rows per cell: the unit of random streams. Blocks begin at multiples of it.
BLOCK_ROWS = 4096


@dataclass(frozen=True)
class Block:
    """Consecutive rows of the data: X (n, d) wherever the engine keeps it, y and weight in memory.

    start is the position of the first row in the data.
    """

    X: Any
    y: Array
    weight: Array | None
    start: int


@dataclass(frozen=True)
class Working:
    """Row weights A and weighted targets A t of one task in one block.

    rows selects the rows that the task sees (None: all); A is None for unit weights.
    """

    A: Array | None
    At: Array
    tt: float
    n: float
    rows: NDArray[np.intp] | None = None


#: Latent values beta Phi (T, n) of a block's rows at weights beta (T, P).
Latent = Callable[[Array], Array]
#: What a likelihood makes of a block.
WorkingFunction = Callable[[Block, Latent], Sequence[Working]]


class Ops(Protocol):
    """Operations on the arrays that an engine holds; features are rows, (P, n)."""

    def zeros(self, *shape: int) -> Any:
        """An accumulator."""
        ...

    def array(self, values: Array) -> Any:
        """Values from memory where the engine computes."""
        ...

    def host(self, values: Any) -> Array:
        """Values back in memory."""
        ...

    def features(
        self, X: Any, W: Array, trend: Trend, scale: float, name: str
    ) -> tuple[Any, float]:
        """Features of a block divided by a number, and that number.

        The next call with the same name may overwrite them.
        """
        ...

    def take(self, A: Any, rows: NDArray[np.intp]) -> Any:
        """Some of the columns."""
        ...

    def weigh(self, A: Any, weight: Array) -> Any:
        """Columns times the square roots of weights."""
        ...

    def add_square(self, C: Any, t: int, A: Any, factor: float) -> None:
        """C[t] += factor A A', at least its lower triangle."""
        ...

    def add_cross(self, C: Any, A: Any, B: Any, factor: float) -> None:
        """C += factor A B'."""
        ...

    def times(self, A: Any, B: Any) -> Any:
        """A B."""
        ...

    def add_slope(
        self, slope: Any, Phi: Any, R: Any, A: Any, residual: Any, mu: Array, rows: Any
    ) -> Any:
        """slope + the gradient in the phases; see ``GradientSum``."""
        ...

    def inverse(self, L: Array) -> Any:
        """(L L')^-1."""
        ...

    def symmetric(self, C: Any) -> Any:
        """C with both triangles, from its lower one."""
        ...

    def extend(self, known: Any, cross: Any, square: Any) -> Any:
        """[[known, cross'], [cross, square]]; square is known by its lower triangle."""
        ...

    def select(self, C: Any, columns: NDArray[np.intp]) -> Any:
        """Some rows and the same columns of matrices C (T, Q, Q)."""
        ...

    def ridge(self, G: Any, r: Array, lam: float, count: JitterCount) -> Ridge:
        """The factored equations G + lam I, in memory."""
        ...


@dataclass(frozen=True)
class Gram:
    """G (T, Q, Q), r (T, Q), tt (T,), n (T,) for T tasks.

    G stays where it was summed; ops is how to work on it there.
    """

    G: Any
    r: Array
    tt: Array
    n: Array
    ops: Ops

    def in_memory(self) -> Array:
        """G as a NumPy array."""
        return self.ops.host(self.G)

    def select(self, columns: NDArray[np.intp]) -> Gram:
        """The statistic of some of the columns, in the given order."""
        return replace(self, G=self.ops.select(self.G, columns), r=self.r[:, columns])

    def ridge(self, t: int, lam: float, count: JitterCount) -> Ridge:
        """The factored equations of one task."""
        return self.ops.ridge(self.G[t, ...], self.r[t], lam, count)


def _features(
    ops: Ops, block: Block, W: Array, trend: Trend, scale: float, kept: Features | None
) -> tuple[Any, float]:
    if kept is None:
        return ops.features(block.X, W, trend, scale, "Phi")
    return kept.of(ops, block.X, block.start, W, trend, scale)


def _latent(ops: Ops, Phi: Any, unit: float) -> Latent:
    return lambda beta: unit * ops.host(ops.times(ops.array(beta), Phi))


def latent_values(ops: Ops, block: Block, W: Array, trend: Trend, beta: Array) -> Array:
    """beta Phi (T, n) of a block's rows, in memory."""
    Phi, unit = ops.features(block.X, W, trend, 1.0 / float(np.sqrt(len(W))), "Phi")
    return _latent(ops, Phi, unit)(beta)


class GramSum:
    """The statistic of the features at W, as a sum over blocks.

    The first `current` frequencies (all, if None) are those that the working weights see. Features
    are kept in `kept`, if anywhere, for a :class:`GradientSum`. If it `stays`, r remains where it
    was summed, and of G the lower triangle is what a factor needs; W may be there, too.
    """

    def __init__(
        self,
        W: Array,
        trend: Trend,
        working: WorkingFunction,
        tasks: int,
        current: int | None = None,
        kept: Features | None = None,
        stays: bool = False,
    ) -> None:
        self.W, self.trend, self.working, self.tasks = W, trend, working, tasks
        self.kept, self.stays = kept, stays
        self.current = W.shape[0] if current is None else current
        self.h = trend_columns(trend, W.shape[1])
        self.Q = self.h + 2 * W.shape[0]

    def __getstate__(self) -> dict[str, Any]:
        """Features are kept where they were formed."""
        return {**self.__dict__, "kept": None}

    def zero(self, ops: Ops) -> list[Any]:
        """Accumulators G, r, (tt, n)."""
        T, Q = self.tasks, self.Q
        return [ops.zeros(T, Q, Q), ops.zeros(T, Q), np.zeros((T, 2))]

    def add(self, ops: Ops, total: list[Any], block: Block) -> None:
        """Add one block to the accumulators."""
        scale = 1.0 / float(np.sqrt(self.current))
        Phi, unit = _features(ops, block, self.W, self.trend, scale, self.kept)
        G, r, scalars = total
        latent = _latent(ops, Phi[: self.h + 2 * self.current, :], unit)
        for t, work in enumerate(self.working(block, latent)):
            if work.At.shape[0] == 0:
                continue  # a rare class may have no row here
            rows = Phi if work.rows is None else ops.take(Phi, work.rows)
            r[t, :] += unit * ops.times(rows, ops.array(work.At[:, None]))[:, 0]
            scalars[t] += (work.tt, work.n)
            rows = rows if work.A is None else ops.weigh(rows, work.A)
            ops.add_square(G, t, rows, unit**2)

    def finish(self, ops: Ops, total: list[Any]) -> Gram:
        """The statistic from the accumulators."""
        G, r, scalars = total
        if not self.stays:
            G, r = ops.symmetric(G), ops.host(r)
        return Gram(G, r, scalars[:, 0], scalars[:, 1], ops)


class ProposalSum:
    """What proposals W_star add to a known statistic when row weights do not change.

    Phi'A Phi* and Phi*'A Phi* are new; Phi'A Phi is carried over.
    """

    def __init__(
        self, known: Gram, W: Array, W_star: Array, trend: Trend, working: WorkingFunction
    ) -> None:
        self.known, self.W, self.W_star = known, W, W_star
        self.trend, self.working = trend, working
        self.h = trend_columns(trend, W.shape[1])
        self.P = self.h + 2 * len(W)
        self.P_star = 2 * len(W_star)

    def __getstate__(self) -> dict[str, Any]:
        """Blocks elsewhere need not know what is carried over: only `finish` looks at it."""
        return {**self.__dict__, "known": None}

    def zero(self, ops: Ops) -> list[Any]:
        """Accumulators Phi*'A [t | Phi], Phi*'A Phi*."""
        P, S = self.P, self.P_star
        return [ops.zeros(S, 1 + P), ops.zeros(1, S, S)]

    def add(self, ops: Ops, total: list[Any], block: Block) -> None:
        """Add one block to the accumulators."""
        scale = 1.0 / float(np.sqrt(len(self.W)))
        Phi, unit = ops.features(block.X, self.W, self.trend, scale, "Phi")
        star, _ = ops.features(block.X, self.W_star, "none", scale, "Phi*")
        (work,) = self.working(block, _latent(ops, Phi, unit))
        at_once = getattr(ops, "add_proposals", None)
        if work.A is None and at_once and at_once(total, star, Phi, work.At, unit):
            return
        cross, square = total
        cross[:, 0] += unit * ops.times(star, ops.array(work.At[:, None]))[:, 0]
        if work.A is not None:
            # One weighing is enough for the cross product, but the square needs half on each side.
            star = ops.weigh(star, work.A)
            Phi *= ops.array(np.sqrt(work.A)[None])
        ops.add_cross(cross[:, 1:], star, Phi, unit**2)
        ops.add_square(square, 0, star, unit**2)

    def finish(self, ops: Ops, total: list[Any]) -> Gram:
        """The statistic of the columns [current | proposed]."""
        cross, square = total
        G = ops.extend(self.known.G[0, ...], cross[:, 1:], square[0, ...])[None, ...]
        r = np.concatenate([self.known.r, ops.host(cross[:, 0])[None]], axis=1)
        return Gram(G, r, self.known.tt, self.known.n, ops)


class GradientSum:
    """The gradient of the log evidence in W (M, d), as a sum over blocks.

    With A_n = G + lam I = L L', mu_n = A_n^-1 r and a factor c (a_n / b_n, or 1 where the noise is
    known) the gradient in a row's features is -a A_n^-1 phi + c mu_n (a t - a mu_n'phi), row weight
    a; the chain rule through cosine and sine, and U = X W', does the rest. `kept` may have the
    features of the same rows already. Where the sum is formed, everything may be there: W, mu_n,
    factor, and inverse = A_n^-1 in the place of L; then it `stays` there.
    """

    def __init__(
        self,
        W: Array,
        trend: Trend,
        working: WorkingFunction,
        L: Sequence[Array],
        mu_n: Sequence[Array],
        factor: float,
        kept: Features | None = None,
        inverse: Sequence[Any] | None = None,
    ) -> None:
        self.W, self.trend, self.working, self.kept = W, trend, working, kept
        self.L, self.mu_n, self.factor = L, mu_n, factor
        self.inverse, self.stays = inverse, inverse is not None
        self.h = trend_columns(trend, W.shape[1])
        self._inverse: list[Any] = []

    def __getstate__(self) -> dict[str, Any]:
        """The inverses are made where they are used, and features kept where they were formed."""
        return {**self.__dict__, "_inverse": [], "kept": None}

    def zero(self, ops: Ops) -> list[Any]:
        """One accumulator, (M, d)."""
        return [ops.zeros(*self.W.shape)]

    def add(self, ops: Ops, total: list[Any], block: Block) -> None:
        """Add one block."""
        h = self.h
        scale = 1.0 / float(np.sqrt(self.W.shape[0]))
        Phi, unit = _features(ops, block, self.W, self.trend, scale, self.kept)
        if not self._inverse:  # once, not with every block
            inverse = self.inverse or [ops.inverse(L) for L in self.L]
            self._inverse = [unit * part[h:, :] for part in inverse]
        slope = ops.zeros(self.W.shape[0], len(block.y))
        for t, work in enumerate(self.working(block, _latent(ops, Phi, unit))):
            if work.At.shape[0] == 0:
                continue
            rows = Phi if work.rows is None else ops.take(Phi, work.rows)
            f = ops.times(ops.array(unit * self.mu_n[t][None, :]), rows)
            A = None if work.A is None else ops.array(work.A[None, :])
            residual = self.factor * (ops.array(work.At[None, :]) - (f if A is None else A * f))
            R = ops.times(self._inverse[t], rows)
            mu = self.mu_n[t][h:]
            slope = ops.add_slope(slope, rows[h:, :], R, A, residual, mu, work.rows)
        total[0] += unit * ops.times(slope, block.X)

    def finish(self, ops: Ops, total: list[Any]) -> Any:
        """The gradient."""
        return total[0] if self.stays else ops.host(total[0])


class Frozen:
    """Working weights that are drawn once and then kept, block by block."""

    def __init__(self, working: WorkingFunction) -> None:
        self.working = working
        self.kept: dict[int, Sequence[Working]] = {}

    def __call__(self, block: Block, latent: Latent) -> Sequence[Working]:
        """What the first call for this block gave."""
        if block.start not in self.kept:
            self.kept[block.start] = self.working(block, latent)
        return self.kept[block.start]


class Redrawn:
    """The same without keeping much: drawn anew, from the same streams, whenever a block comes.

    The working weights belong to the features at W, whatever features a later sum looks at. What
    fits into `room` bytes is kept all the same.
    """

    def __init__(self, working: WorkingFunction, W: Array, trend: Trend, room: int = 0) -> None:
        self.working, self.W, self.trend, self.room = working, W, trend, room
        self.kept: dict[int, Sequence[Working]] = {}

    def __call__(self, block: Block, latent: Latent) -> Sequence[Working]:
        """What every call for this block gives."""
        if block.start in self.kept:
            return self.kept[block.start]
        P = trend_columns(self.trend, self.W.shape[1]) + 2 * len(self.W)
        Phi = feature_rows(block.X, self.W, self.trend, scratch("redrawn", (P, len(block.y))))
        drawn = self.working(block, lambda beta: times(beta, Phi))
        size = sum(
            part.nbytes
            for work in drawn
            for part in (work.A, work.At, work.rows)
            if part is not None
        )
        if size <= self.room:
            self.room -= size
            self.kept[block.start] = drawn
        return drawn
