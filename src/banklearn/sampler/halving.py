"""Decisions in turn by halving, in memory and in place.

Each half is decided with the other half's columns eliminated by a fresh Cholesky factor: no error
accumulates, and nearly all work is a matrix product. See :mod:`banklearn.numerics._accept` for the
layout, which makes a half a range of rows and lets lower triangles suffice.

Second halves are decided with everything before them eliminated as it was decided. Their factors
are therefore the blocks of the factor of the columns in use at the end, which costs nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from banklearn.numerics.blas import (
    add_square,
    cholesky_in_place,
    solve_lower_in_place,
    solve_right_in_place,
    subtract_inner,
)
from banklearn.numerics.scratch import scratch
from banklearn.numerics.threads import in_parts

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Pairs = NDArray[np.int64]

#: Up to this many frequencies the compiled version decides.
SMALL = 24
#: From this many on, columns are gathered by several threads.
LARGE = 128


def _space(name: str, tasks: int, rows: int, columns: int) -> Array:
    """Work space (tasks, rows, columns) with rows that begin at multiples of a cache line."""
    width = -(-columns // 8) * 8
    return scratch(f"accept {name}", (tasks * rows, width)).reshape(tasks, rows, width)


@dataclass(frozen=True)
class Chances:
    """Uniform numbers of the decisions: log_u to accept, u to choose among places, if any."""

    log_u: Array
    u: Array | None = None


@dataclass
class Walk:
    """What a walk over the frequencies collects: decisions, gain, and the factor at its end.

    chosen says which pair of columns each place holds (:mod:`banklearn.numerics._accept`). gain is
    (log evidence gained, 1 if a pivot failed); L (T, P, P) and v = L^-1 r (T, P) belong to the
    columns in use after the decisions and are right where `factored` and where no pivot failed.
    """

    chosen: Pairs
    gain: Array
    L: Array
    v: Array
    factored: bool = True

    @property
    def accepted(self) -> Bools:
        """Whether a proposal is in use, by place."""
        return self.chosen % 2 == 1

    def pairs(self, first: int, stop: int) -> Pairs:
        """The pairs in use in places first..stop - 1, counted from the first place's."""
        return self.chosen[first:stop] - 2 * first


def decide(
    G: Array,
    r: Array,
    h: int,
    lam: float,
    rest: float,
    a_n: float,
    log_u: Array,
    u: Array | None = None,
    order: Pairs | None = None,
) -> Walk:
    """Decisions on G + lam I, lower triangles (T, Q, Q) over [h trend | current | proposed].

    With u a proposal is offered to all places that are decided together, without to its own.
    With an order current frequency order[j] is in place j, and no factor comes out.
    """
    from banklearn.numerics import _accept

    M, tasks = len(log_u), len(G)
    n, P = h + 4 * M + 1, h + 2 * M
    factored = order is None
    L, v = np.empty((tasks, P, P) if factored else 0), np.empty((tasks, P))
    walk = Walk(2 * np.arange(M), np.zeros(2), L, v, factored)
    chances = Chances(log_u, u)
    order = np.arange(M) if order is None else order
    S = _space("whole", tasks, n, n)
    for G_t, r_t, S_t in zip(G, r, S, strict=True):
        in_parts(_accept.interleave, G_t, r_t, h, lam, order, S_t, side_by_side=M >= LARGE)
        try:
            L = cholesky_in_place(S_t[:h, :h])
        except np.linalg.LinAlgError:
            walk.gain[1] = 1.0
            return walk
        solve_right_in_place(L, S_t[h:, :h])
        add_square(S_t[h:, h:n], S_t[h:, :h], -1.0)
    _halve(S, h, rest, a_n, chances, walk, slice(0, M), factored)
    if not factored:
        return walk
    for S_t, L_t, v_t in zip(S, walk.L, walk.v, strict=True):
        X = np.ascontiguousarray(S_t[h:, :h].T)
        D = np.ascontiguousarray(S_t[:h, :h])
        _accept.fill_factor(D, X, walk.chosen, 0, L_t, v_t, 0, 1)
    return walk


def _halve(
    S: Array, o: int, rest: float, a_n: float, chances: Chances, walk: Walk, part: slice, last: bool
) -> None:
    """Decide the frequencies `part`; S begins at row and column o and may be overwritten.

    last: all before them are eliminated as decided, none follows.
    """
    from banklearn.numerics import _accept

    m = part.stop - part.start
    if m <= SMALL:
        walk.chosen[part] = 2 * part.start + _decide_small(S, o, rest, a_n, chances, walk, part)
        if last:
            _finish(S, o, walk, part)
        return
    half, others, large = m // 2, m - m // 2, m >= LARGE
    middle = part.start + half

    kept = 4 * half + 1
    first = _space(f"{m}", len(S), kept, kept)
    (D,), (B,) = _space("D", 1, 2 * others, 2 * others), _space("B", 1, 2 * others, kept)
    try:
        for S_t, C in zip(S, first, strict=True):
            in_parts(_accept.gather_second, S_t, o, half, m, D, B, C, side_by_side=large)
            _eliminate(D, B, C, kept)
        _halve(first, 0, rest, a_n, chances, walk, slice(part.start, middle), False)
    except np.linalg.LinAlgError:
        walk.gain[1] = 1.0

    decided = walk.pairs(part.start, middle)
    kept, o_second = 4 * others + 1, o + 4 * half
    name = f" {m}" if last else ""  # the last ones are used again below
    Ds = _space("D" + name, len(S), 2 * half, 2 * half)
    Bs = _space("B" + name, len(S), 2 * half, kept)
    try:
        for S_t, D, B in zip(S, Ds, Bs, strict=True):
            in_parts(_accept.gather_first, S_t, o, half, m, decided, D, B, side_by_side=large)
            # What is left of the first half has been gathered, so the second needs no copy.
            _eliminate(D, B, S_t[o_second:, o_second:], kept)
        _halve(S, o_second, rest, a_n, chances, walk, slice(middle, part.stop), last)
    except np.linalg.LinAlgError:
        walk.gain[1] = 1.0
        return
    if last:
        place, following = walk.v.shape[1] - 2 * m, walk.pairs(middle, part.stop)
        for D, B, L, v in zip(Ds, Bs, walk.L, walk.v, strict=True):
            in_parts(_accept.fill_factor, D, B, following, place, L, v, side_by_side=large)


def _decide_small(
    S: Array, o: int, rest: float, a_n: float, chances: Chances, walk: Walk, part: slice
) -> Pairs:
    """The pairs in use after a few frequencies were decided, counted from the first's."""
    from banklearn.numerics import _accept, _exchange

    chosen, log_u = np.zeros(part.stop - part.start, np.int64), chances.log_u[part]
    if chances.u is None:
        _accept.accept_small(S, o, rest, a_n, log_u, chosen, walk.gain)
    else:
        _exchange.exchange_small(S, o, rest, a_n, log_u, chances.u[part], chosen, walk.gain)
    return chosen


def _eliminate(D: Array, B: Array, C: Array, kept: int) -> None:
    """C - B' D^-1 B in the place of C's lower triangle; D and B become factor and D^-1/2 B."""
    L = cholesky_in_place(D[:, : len(D)])
    solve_lower_in_place(L, B[:, :kept])
    subtract_inner(C[:kept, :kept], B[:, :kept])


def _finish(S: Array, o: int, walk: Walk, part: slice) -> None:
    """Factor the last frequencies as they were decided."""
    from banklearn.numerics import _accept

    chosen = walk.pairs(part.start, part.stop)
    n = 2 * len(chosen)
    D, B = np.empty((n, n)), np.empty((n, 1))
    for S_t, L, v in zip(S, walk.L, walk.v, strict=True):
        _accept.gather_used(S_t, o, chosen, D, B)
        try:
            solve_lower_in_place(cholesky_in_place(D), B)
        except np.linalg.LinAlgError:
            walk.gain[1] = 1.0
            return
        _accept.fill_factor(D, B, chosen[:0], len(v) - n, L, v, 0, 1)
