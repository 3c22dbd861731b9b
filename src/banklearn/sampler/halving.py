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

#: Up to this many frequencies the compiled version decides.
SMALL = 24
#: From this many on, columns are gathered by several threads.
LARGE = 128


def _space(name: str, tasks: int, rows: int, columns: int) -> Array:
    """Work space (tasks, rows, columns) with rows that begin at multiples of a cache line."""
    width = -(-columns // 8) * 8
    return scratch(f"accept {name}", (tasks * rows, width)).reshape(tasks, rows, width)


@dataclass
class Walk:
    """What a walk over the frequencies collects: decisions, gain, and the factor at its end.

    gain is (log evidence gained, 1 if a pivot failed); L (T, P, P) and v = L^-1 r (T, P) belong to
    the columns in use after the decisions and are right where no pivot failed.
    """

    accepted: Bools
    gain: Array
    L: Array
    v: Array


def decide(G: Array, r: Array, h: int, lam: float, rest: float, a_n: float, log_u: Array) -> Walk:
    """Decisions on G + lam I, lower triangles (T, Q, Q) over [h trend | current | proposed]."""
    from banklearn.numerics import _accept

    M, tasks = len(log_u), len(G)
    n, P = h + 4 * M + 1, h + 2 * M
    walk = Walk(np.zeros(M, dtype=bool), np.zeros(2), np.empty((tasks, P, P)), np.empty((tasks, P)))
    S = _space("whole", tasks, n, n)
    for G_t, r_t, S_t in zip(G, r, S, strict=True):
        in_parts(_accept.interleave, G_t, r_t, h, lam, S_t, side_by_side=M >= LARGE)
        try:
            L = cholesky_in_place(S_t[:h, :h])
        except np.linalg.LinAlgError:
            walk.gain[1] = 1.0
            return walk
        solve_right_in_place(L, S_t[h:, :h])
        add_square(S_t[h:, h:n], S_t[h:, :h], -1.0)
    _halve(S, h, rest, a_n, log_u, walk, slice(0, M), True)
    for S_t, L_t, v_t in zip(S, walk.L, walk.v, strict=True):
        X = np.ascontiguousarray(S_t[h:, :h].T)
        D = np.ascontiguousarray(S_t[:h, :h])
        _accept.fill_factor(D, X, walk.accepted, 0, L_t, v_t, 0, 1)
    return walk


def _halve(
    S: Array, o: int, rest: float, a_n: float, log_u: Array, walk: Walk, part: slice, last: bool
) -> None:
    """Decide the frequencies `part`; S begins at row and column o and may be overwritten.

    last: all before them are eliminated as decided, none follows.
    """
    from banklearn.numerics import _accept

    m = part.stop - part.start
    if m <= SMALL:
        _accept.accept_small(S, o, rest, a_n, log_u[part], walk.accepted[part], walk.gain)
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
        _halve(first, 0, rest, a_n, log_u, walk, slice(part.start, middle), False)
    except np.linalg.LinAlgError:
        walk.gain[1] = 1.0

    decided = walk.accepted[part.start : middle]
    kept, o_second = 4 * others + 1, o + 4 * half
    name = f" {m}" if last else ""  # the last ones are used again below
    Ds = _space("D" + name, len(S), 2 * half, 2 * half)
    Bs = _space("B" + name, len(S), 2 * half, kept)
    try:
        for S_t, D, B in zip(S, Ds, Bs, strict=True):
            in_parts(_accept.gather_first, S_t, o, half, m, decided, D, B, side_by_side=large)
            # What is left of the first half has been gathered, so the second needs no copy.
            _eliminate(D, B, S_t[o_second:, o_second:], kept)
        _halve(S, o_second, rest, a_n, log_u, walk, slice(middle, part.stop), last)
    except np.linalg.LinAlgError:
        walk.gain[1] = 1.0
        return
    if last:
        place, following = walk.v.shape[1] - 2 * m, walk.accepted[middle : part.stop]
        for D, B, L, v in zip(Ds, Bs, walk.L, walk.v, strict=True):
            in_parts(_accept.fill_factor, D, B, following, place, L, v, side_by_side=large)


def _eliminate(D: Array, B: Array, C: Array, kept: int) -> None:
    """C - B' D^-1 B in the place of C's lower triangle; D and B become factor and D^-1/2 B."""
    L = cholesky_in_place(D[:, : len(D)])
    solve_lower_in_place(L, B[:, :kept])
    subtract_inner(C[:kept, :kept], B[:, :kept])


def _finish(S: Array, o: int, walk: Walk, part: slice) -> None:
    """Factor the last frequencies as they were decided."""
    from banklearn.numerics import _accept

    accepted = walk.accepted[part]
    n = 2 * len(accepted)
    D, B = np.empty((n, n)), np.empty((n, 1))
    for S_t, L, v in zip(S, walk.L, walk.v, strict=True):
        _accept.gather_used(S_t, o, accepted, D, B)
        try:
            solve_lower_in_place(cholesky_in_place(D), B)
        except np.linalg.LinAlgError:
            walk.gain[1] = 1.0
            return
        _accept.fill_factor(D, B, accepted[:0], len(v) - n, L, v, 0, 1)
