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
from banklearn.sampler.halving import decide

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: (S, r, kept columns, dropped columns) to (Schur complement, its vector, quadratic form).
Eliminate = Callable[[Any, Array, tuple[slice, slice], NDArray[np.intp]], tuple[Any, Array, float]]


@dataclass(frozen=True)
class Decisions:
    """Which proposals were accepted, the evidence gained, and whether a pivot ever failed.

    solutions are the factored equations of the columns in use after the decisions, where they
    came out of the work.
    """

    accepted: Bools
    gain: float
    trouble: bool
    solutions: tuple[Ridge, ...] | None = None


def extended_columns(h: int, M: int, accepted: Bools) -> NDArray[np.intp]:
    """Columns of [trend | current | proposed] that are in use after the decisions."""
    pairs = h + 2 * np.arange(M) + np.where(accepted, 2 * M, 0)
    return np.concatenate([np.arange(h), np.stack([pairs, pairs + 1], axis=1).ravel()])


@equation("rj")
def accept_in_turn(
    gram: Gram, lam: float, h: int, log_u: Array, a_n: float, rest: float
) -> Decisions:
    """Accept W_j* when log u_j < log P(Y | W_j*, W_-j) - log P(Y | W_j, W_-j), j = 1..M.

    gram is over [h trend | 2M current | 2M proposed] columns; see ``Likelihood.accept_form`` for
    a_n and rest.
    """
    eliminate = getattr(gram.ops, "eliminate", None)
    if eliminate is None:
        walk = decide(gram.in_memory(), gram.r, h, lam, rest, a_n, log_u)
        solutions = None
        if not walk.gain[1]:
            solutions = tuple(Ridge(L, v, lam) for L, v in zip(walk.L, walk.v, strict=True))
        return Decisions(walk.accepted, float(walk.gain[0]), bool(walk.gain[1]), solutions)
    S = gram.G.clone()
    S.diagonal(dim1=1, dim2=2).add_(lam)
    accepted, gain = np.zeros(len(log_u), dtype=bool), np.zeros(2)
    _halve(list(S), list(gram.r), rest, a_n, log_u, accepted, gain, h, eliminate)
    return Decisions(accepted, float(gain[0]), bool(gain[1]))


def _halve(
    S: list[Any],
    r: list[Array],
    rest: float,
    a_n: float,
    log_u: Array,
    accepted: Bools,
    gain: Array,
    h: int,
    eliminate: Eliminate,
) -> None:
    """Decide the frequencies of S, columns [h always in | 2m current | 2m proposed], on a device.

    What eliminate brings to memory is decided there.
    """
    m = len(log_u)
    if isinstance(S[0], np.ndarray):
        walk = decide(np.stack(S), np.stack(r), 0, 0.0, rest, a_n, log_u)
        accepted[:] = walk.accepted
        gain += walk.gain
        return
    half = m // 2
    for lo, hi in ((0, half), (half, m)):
        if lo == hi:
            continue
        keep = (slice(h + 2 * lo, h + 2 * hi), slice(h + 2 * m + 2 * lo, h + 2 * m + 2 * hi))
        others = np.r_[0:lo, hi:m]
        start = h + 2 * others + np.where(accepted[others], 2 * m, 0)
        drop = np.concatenate([np.arange(h), np.stack([start, start + 1], axis=1).ravel()])
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
        left = rest - half_quadratic
        _halve(newS, newr, left, a_n, log_u[lo:hi], accepted[lo:hi], gain, 0, eliminate)
