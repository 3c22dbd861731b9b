"""Accept or reject proposals for all frequencies in turn, from the Gram statistic alone.

The decisions are those of the one-at-a-time chain: frequency j sees the decisions of
0..j-1. The extended matrix holds current and proposed columns; halving it, each half is decided
with the other half's columns eliminated by a fresh Cholesky factor, so no error accumulates:
O(M^3) in matrix products per sweep. In memory :mod:`banklearn.sampler.halving` does it; matrices on
a device are halved there until they are small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.gram import Gram
from banklearn.model.equations import equation
from banklearn.model.evidence import Ridge
from banklearn.sampler.halving import SMALL, decide

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Pairs = NDArray[np.int64]

#: (S, r, kept columns, dropped columns) to (Schur complement, its vector, quadratic form).
Eliminate = Callable[[Any, Array, tuple[slice, slice], NDArray[np.intp]], tuple[Any, Array, float]]


@dataclass(frozen=True)
class Decisions:
    """The pairs of columns in use, the evidence gained, and whether a pivot ever failed.

    Pair 2j are the current columns in place j, 2j + 1 the proposed ones. solutions are the factored
    equations of the columns in use after the decisions, where they came out of the work.
    """

    chosen: Pairs
    gain: float
    trouble: bool
    solutions: tuple[Ridge, ...] | None = None

    @property
    def accepted(self) -> Bools:
        """Whether a proposal is in use, by place."""
        return self.chosen % 2 == 1


def columns_of(h: int, frequencies: Pairs) -> NDArray[np.intp]:
    """The h columns of the trend, and those of frequencies: M + j is the proposal of j < M."""
    first = h + 2 * frequencies
    return np.concatenate([np.arange(h), np.stack([first, first + 1], axis=1).ravel()])


def extended_columns(h: int, M: int, accepted: Bools) -> NDArray[np.intp]:
    """Columns of [trend | current | proposed] that are in use after the decisions."""
    return columns_of(h, np.arange(M) + M * accepted)


@equation("rj")
def accept_in_turn(
    gram: Gram, lam: float, h: int, log_u: Array, a_n: float, rest: float
) -> Decisions:
    """Accept W_j* when log u_j < log P(Y | W_j*, W_-j) - log P(Y | W_j, W_-j), j = 1..M.

    gram is over [h trend | 2M current | 2M proposed] columns; see ``Likelihood.accept_form`` for
    a_n and rest.
    """
    return decide_places(gram, lam, h, a_n, rest, log_u)


def decide_places(
    gram: Gram,
    lam: float,
    h: int,
    a_n: float,
    rest: float,
    log_u: Array,
    u: Array | None = None,
    order: Pairs | None = None,
) -> Decisions:
    """Decide on all places; u and order as in :func:`.halving.decide`."""
    M, eliminate = len(log_u), getattr(gram.ops, "eliminate", None)
    # Who is decided together must not depend on where.
    if eliminate is None or (u is not None and M <= SMALL):
        walk = decide(gram.in_memory(), gram.r, h, lam, rest, a_n, log_u, u, order)
        solutions = None
        if not walk.gain[1]:
            solutions = tuple(Ridge(L, v, lam) for L, v in zip(walk.L, walk.v, strict=True))
        return Decisions(walk.chosen, float(walk.gain[0]), bool(walk.gain[1]), solutions)
    if order is not None:
        gram = gram.select(columns_of(h, np.concatenate([order, np.arange(M, 2 * M)])))
    S = gram.G.clone()
    S.diagonal(dim1=1, dim2=2).add_(lam)
    gain = np.zeros(2)
    chosen = _halve(list(S), list(gram.r), rest, a_n, log_u, u, gain, h, eliminate)
    return Decisions(chosen, float(gain[0]), bool(gain[1]))


def _halve(
    S: list[Any],
    r: list[Array],
    rest: float,
    a_n: float,
    log_u: Array,
    u: Array | None,
    gain: Array,
    h: int,
    eliminate: Eliminate,
) -> Pairs:
    """Decide the frequencies of S, columns [h always in | 2m current | 2m proposed], on a device.

    What eliminate brings to memory is decided there.
    """
    m = len(log_u)
    if isinstance(S[0], np.ndarray):
        walk = decide(np.stack(S), np.stack(r), 0, 0.0, rest, a_n, log_u, u)
        gain += walk.gain
        return walk.chosen
    half, chosen = m // 2, 2 * np.arange(m)
    for lo, hi in ((0, half), (half, m)):
        if lo == hi:
            continue
        keep = (slice(h + 2 * lo, h + 2 * hi), slice(h + 2 * m + 2 * lo, h + 2 * m + 2 * hi))
        others = chosen[np.r_[0:lo, hi:m]]
        drop = columns_of(h, others // 2 + m * (others % 2))
        newS, newr, half_quadratic = [], [], 0.0
        try:
            for S_t, r_t in zip(S, r, strict=True):
                reduced, reduced_r, quadratic = eliminate(S_t, r_t, keep, drop)
                newS.append(reduced)
                newr.append(reduced_r)
                half_quadratic += 0.5 * quadratic
        except np.linalg.LinAlgError:
            gain[1] = 1.0
            continue
        left, choice = rest - half_quadratic, None if u is None else u[lo:hi]
        part = _halve(newS, newr, left, a_n, log_u[lo:hi], choice, gain, 0, eliminate)
        chosen[lo:hi] = 2 * lo + part
    return chosen
