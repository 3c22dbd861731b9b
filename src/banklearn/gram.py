"""The statistic through which all data enters: (Phi'A Phi, Phi'A t, t'A t, n), summed over blocks.

A task is one set of weights beta: regression and binary classification have one, C classes have
C - 1. Row weights A and targets t come from the likelihood, per block and task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from banklearn.model.features import Trend, feature_rows, trend_columns
from banklearn.numerics.blas import add_square, add_times_transposed, mirror, times
from banklearn.numerics.scratch import scratch

Array = NDArray[np.float64]

#: Rows per block: the unit of memory, of summation order and of random streams.
BLOCK_ROWS = 4096


@dataclass(frozen=True)
class Block:
    """Consecutive rows of the data: X (n, d), y (n,), weight (n,) or None, position in the data."""

    X: Array
    y: Array
    weight: Array | None
    index: int


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


#: What a likelihood makes of a block, given the current features as rows (P, n).
WorkingFunction = Callable[[Block, Array], Sequence[Working]]


@dataclass(frozen=True)
class Gram:
    """G (T, Q, Q), r (T, Q), tt (T,), n (T,) for T tasks."""

    G: Array
    r: Array
    tt: Array
    n: Array

    def select(self, columns: NDArray[np.intp]) -> Gram:
        """The statistic of some of the columns, in the given order."""
        G = np.empty((len(self.G), len(columns), len(columns)))
        for t in range(len(G)):
            np.take(self.G[t, columns], columns, axis=1, out=G[t])
        return Gram(G, self.r[:, columns], self.tt, self.n)


class GramSum:
    """The statistic of the features at W, as a sum over blocks.

    The first `current` frequencies (all, if None) are those that the working weights see.
    """

    def __init__(
        self,
        W: Array,
        trend: Trend,
        working: WorkingFunction,
        tasks: int,
        current: int | None = None,
    ) -> None:
        self.W, self.trend, self.working, self.tasks = W, trend, working, tasks
        self.current = len(W) if current is None else current
        self.h = trend_columns(trend, W.shape[1])
        self.Q = self.h + 2 * len(W)

    def zero(self) -> list[Array]:
        """Accumulators G, r, (tt, n)."""
        T, Q = self.tasks, self.Q
        return [np.zeros((T, Q, Q)), np.zeros((T, Q)), np.zeros((T, 2))]

    def features(self, X: Array) -> Array:
        """Features of a block as rows; the scale 1/sqrt(M) is that of the current frequencies."""
        scale = 1.0 / np.sqrt(self.current)
        return feature_rows(X, self.W, self.trend, scratch("Phi", (self.Q, len(X))), scale)

    def add(self, total: list[Array], block: Block) -> None:
        """Add one block to the accumulators."""
        Phi = self.features(block.X)
        G, r, scalars = total
        for t, work in enumerate(self.working(block, Phi[: self.h + 2 * self.current])):
            rows = Phi if work.rows is None else np.take(Phi, work.rows, axis=1)
            r[t] += rows @ work.At
            scalars[t] += (work.tt, work.n)
            weighted = rows
            if work.A is not None:
                weighted = np.multiply(rows, np.sqrt(work.A), out=scratch("weighted", rows.shape))
            add_square(G[t], weighted)

    def finish(self, total: list[Array]) -> Gram:
        """The statistic from the accumulators."""
        G, r, scalars = total
        for t in range(self.tasks):
            mirror(G[t])
        return Gram(G, r, scalars[:, 0], scalars[:, 1])


class ProposalSum:
    """What proposals W_star add to a known statistic when row weights do not change.

    Phi'A Phi* and Phi*'A Phi* are new; Phi'A Phi is carried over.
    """

    def __init__(
        self, known: Gram, W: Array, W_star: Array, trend: Trend, working: WorkingFunction
    ):
        self.known, self.W, self.W_star = known, W, W_star
        self.trend, self.working = trend, working
        self.P = trend_columns(trend, W.shape[1]) + 2 * len(W)
        self.P_star = 2 * len(W_star)

    def zero(self) -> list[Array]:
        """Accumulators Phi*'A Phi (transposed cross product), Phi*'A Phi*, Phi*'A t."""
        P, S = self.P, self.P_star
        return [np.zeros((S, P)), np.zeros((S, S)), np.zeros(S)]

    def add(self, total: list[Array], block: Block) -> None:
        """Add one block to the accumulators."""
        n = len(block.X)
        Phi = feature_rows(block.X, self.W, self.trend, scratch("Phi", (self.P, n)))
        star = feature_rows(
            block.X,
            self.W_star,
            "none",
            scratch("Phi*", (self.P_star, n)),
            1.0 / np.sqrt(len(self.W)),
        )
        (work,) = self.working(block, Phi)
        cross, square, r = total
        r += star @ work.At
        if work.A is not None:
            root = np.sqrt(work.A)
            Phi *= root
            star *= root
        add_times_transposed(cross, star, Phi)
        add_square(square, star)

    def finish(self, total: list[Array]) -> Gram:
        """The statistic of the columns [current | proposed]."""
        cross, square, r = total
        P, S = self.P, self.P_star
        G = np.empty((1, P + S, P + S))
        G[0, :P, :P] = self.known.G[0]
        G[0, P:, :P] = cross
        G[0, :P, P:] = cross.T
        G[0, P:, P:] = mirror(square)
        return Gram(G, np.concatenate([self.known.r, r[None]], axis=1), self.known.tt, self.known.n)


class GradientSum:
    """The gradient of the log evidence in W (M, d), as a sum over blocks.

    With A_n = G + lam I, mu_n = A_n^-1 r and a factor c (a_n / b_n, or 1 where the noise is known)
    the gradient in a row's features is -a A_n^-1 phi + c mu_n (a t - a mu_n'phi), row weight a;
    the chain rule through cosine and sine, and U = X W', does the rest.
    """

    def __init__(
        self,
        W: Array,
        trend: Trend,
        working: WorkingFunction,
        inverse: Sequence[Array],
        mu_n: Sequence[Array],
        factor: float,
    ) -> None:
        self.W, self.trend, self.working = W, trend, working
        self.inverse, self.mu_n, self.factor = inverse, mu_n, factor
        self.h = trend_columns(trend, W.shape[1])

    def zero(self) -> list[Array]:
        """One accumulator, (M, d)."""
        return [np.zeros_like(self.W)]

    def add(self, total: list[Array], block: Block) -> None:
        """Add one block."""
        from banklearn.numerics import _compiled

        n, h = len(block.X), self.h
        P = h + 2 * len(self.W)
        Phi = feature_rows(block.X, self.W, self.trend, scratch("Phi", (P, n)))
        slope = scratch("slope", (len(self.W), n))
        slope[:] = 0.0
        for t, work in enumerate(self.working(block, Phi)):
            rows = Phi if work.rows is None else np.take(Phi, work.rows, axis=1)
            A = np.ones(rows.shape[1]) if work.A is None else work.A
            residual = self.factor * (work.At - A * (self.mu_n[t] @ rows))
            R = times(self.inverse[t][h:], rows)
            part = slope if work.rows is None else np.zeros((len(self.W), rows.shape[1]))
            _compiled.add_phase_gradient(rows[h:], R, A, residual, self.mu_n[t][h:], part)
            if work.rows is not None:
                slope[:, work.rows] += part
        total[0] += times(slope, block.X)

    def finish(self, total: list[Array]) -> Array:
        """The gradient."""
        return total[0]


class Frozen:
    """Working weights that are drawn once and then kept, block by block."""

    def __init__(self, working: WorkingFunction) -> None:
        self.working = working
        self.kept: dict[int, Sequence[Working]] = {}

    def __call__(self, block: Block, Phi: Array) -> Sequence[Working]:
        """What the first call for this block gave."""
        if block.index not in self.kept:
            self.kept[block.index] = self.working(block, Phi)
        return self.kept[block.index]
