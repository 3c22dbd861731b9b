"""Accept or reject proposals for all frequencies in turn, from the Gram statistic alone.

The decisions are those of the one-at-a-time chain: frequency j sees the decisions of
0..j-1. The extended matrix holds current and proposed columns; halving it, each half is decided
with the other half's columns eliminated by a fresh Cholesky factor, so no error accumulates:
O(M^3) in matrix products per sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.gram import Gram
from banklearn.model.equations import equation
from banklearn.numerics.blas import cholesky_lower, mirror, solve_lower, subtract_inner

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: (S, r, kept columns, dropped columns) to (Schur complement, its vector, quadratic form).
Eliminate = Callable[[Any, Array, tuple[slice, slice], NDArray[np.intp]], tuple[Any, Array, float]]

#: Below this many frequencies the compiled version takes over.
SMALL = 16


@dataclass(frozen=True)
class Decisions:
    """Which proposals were accepted, the evidence gained, and whether a pivot ever failed."""

    accepted: Bools
    gain: float
    trouble: bool


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
    M = len(log_u)
    eliminate = getattr(gram.ops, "eliminate", None)
    if eliminate is None:
        S = gram.in_memory().copy()
        diagonal = np.arange(S.shape[1])
        S[:, diagonal, diagonal] += lam
    else:
        S = gram.G.clone()
        S.diagonal(dim1=1, dim2=2).add_(lam)
    accepted = np.zeros(M, dtype=bool)
    gain = np.zeros(2)
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
    on_device: Eliminate | None,
) -> None:
    """Decide the frequencies of S, columns [h always in | 2m current | 2m proposed].

    on_device eliminates columns of matrices that are not in memory.
    """
    m = len(log_u)
    if m <= SMALL and h == 0:
        from banklearn.numerics import _compiled

        _compiled.accept_small(np.stack(S), np.stack(r), rest, a_n, log_u, accepted, gain)
        return
    half = m // 2 if m > SMALL else m
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
                eliminate: Eliminate = _eliminate
                if on_device is not None and not isinstance(S_t, np.ndarray):
                    eliminate = on_device
                reduced, reduced_r, quadratic = eliminate(S_t, r_t, keep, drop)
                newS.append(reduced)
                newr.append(reduced_r)
                half_quadratic += 0.5 * quadratic
        except np.linalg.LinAlgError:
            gain[1] = 1.0
            continue
        _halve(
            newS,
            newr,
            rest - half_quadratic,
            a_n,
            log_u[lo:hi],
            accepted[lo:hi],
            gain,
            0,
            on_device,
        )


def _eliminate(
    S: Array, r: Array, keep: tuple[slice, slice], drop: NDArray[np.intp]
) -> tuple[Array, Array, float]:
    """Schur complement of `keep` with `drop` eliminated, its vector, and r_d' S_dd^-1 r_d."""
    rows = S[drop]
    L = cholesky_lower(np.take(rows, drop, axis=1))
    B = solve_lower(L, np.concatenate([rows[:, k] for k in keep], axis=1), overwrite=True)
    v = solve_lower(L, r[drop, None])[:, 0]
    reduced = np.concatenate(
        [np.concatenate([S[i, j] for j in keep], axis=1) for i in keep], axis=0
    )
    subtract_inner(reduced, B)
    return mirror(reduced), np.concatenate([r[k] for k in keep]) - v @ B, float(v @ v)
