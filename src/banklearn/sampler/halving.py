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

from banklearn.numerics.blas import cholesky_in_place, solve_lower_in_place, subtract_inner
from banklearn.numerics.scratch import scratch

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Pairs = NDArray[np.int64]
Columns = NDArray[np.int64]

#: Up to this many frequencies the compiled version decides.
SMALL = 24


def _space(name: str, tasks: int, rows: int, columns: int) -> Array:
    """Work space (tasks, rows, columns) with rows that begin at multiples of a cache line."""
    width = -(-columns // 8) * 8
    return scratch(f"accept {name}", (tasks * rows, width)).reshape(tasks, rows, width)


@dataclass(frozen=True)
class Rule:
    """By what is decided: rest and a_n of the evidence (see ``Likelihood.accept_form``), chances.

    log_u are the logs of uniform numbers to accept, u uniform ones to choose among places, if any.
    """

    rest: float
    a_n: float
    log_u: Array
    u: Array | None = None


@dataclass
class Walk:
    """What a walk over the frequencies collects: decisions, gain, and the factor at its end.

    chosen says which pair of columns each place holds (:mod:`banklearn.numerics._accept`). gain is
    (log evidence gained, 1 if a pivot failed); L (T, P, P) and v = L^-1 r (T, P) belong to the
    columns in use after the decisions, place by place, and are right where no pivot failed.
    """

    chosen: Pairs
    gain: Array
    L: Array
    v: Array

    @property
    def accepted(self) -> Bools:
        """Whether a proposal is in use, by place."""
        return self.chosen % 2 == 1

    def pairs(self, first: int, stop: int) -> Pairs:
        """The pairs in use in places first..stop - 1, counted from the first place's."""
        return self.chosen[first:stop] - 2 * first


@dataclass(frozen=True)
class Whole:
    """G (T, Q, Q), to which lam I is added, and r (T, Q): the first two halves are taken from it.

    places (M, 4) are the columns of the frequencies: two current ones, two proposed ones.
    The trend, the first h columns, is eliminated together with what each half eliminates: twice,
    which costs less than a pass over all columns as long as it is narrow.
    """

    G: Array
    r: Array
    lam: float
    h: int
    places: Columns

    def without_trend(self) -> tuple[Part, Array, Array]:
        """All frequencies: where they are a few that need no halves, or the trend is wide."""
        return self._without(self.places[:0], self.places, "trend")

    def without_second(self, half: int, m: int) -> Part:
        """The first half's frequencies, the second half's current columns eliminated."""
        return self._without(self.places[half:, :2], self.places[:half], f"{m}")[0]

    def without_first(self, half: int, m: int, decided: Pairs) -> tuple[Part, Array, Array]:
        """The second half's frequencies, the first half's columns in use eliminated."""
        used = self.places[:half].reshape(2 * half, 2)[decided]
        return self._without(used, self.places[half:], f"{m}")

    def _without(self, drop: Columns, keep: Columns, name: str) -> tuple[Part, Array, Array]:
        from banklearn.numerics import _accept

        drop, keep = np.concatenate([np.arange(self.h), drop.ravel()]), keep.ravel()
        n, kept = len(drop), len(keep) + 1
        S = _space(name, len(self.G), kept, kept)
        Ds, Bs = _space("whole D", len(self.G), n, n), _space("whole B", len(self.G), n, kept)
        for G, r, D, B, C in zip(self.G, self.r, Ds, Bs, S, strict=True):
            _accept.gather(G, r, self.lam, drop, keep, D, B, C)
            _eliminate(D, B, C, kept)
        return Part(S, 0), Ds, Bs


@dataclass(frozen=True)
class Part:
    """Lower triangles of what is left of some frequencies and the target, after elimination.

    S (T, rows, columns) begins at row and column o. Halves may overwrite it.
    """

    S: Array
    o: int

    def without_second(self, half: int, m: int) -> Part:
        """The first half's frequencies, the second half's current columns eliminated."""
        from banklearn.numerics import _accept

        n, kept = 2 * (m - half), 4 * half + 1
        first = _space(f"{m}", len(self.S), kept, kept)
        (D,), (B,) = _space("D", 1, n, n), _space("B", 1, n, kept)
        for S, C in zip(self.S, first, strict=True):
            _accept.gather_second(S, self.o, half, m, D, B, C)
            _eliminate(D, B, C, kept)
        return Part(first, 0)

    def without_first(self, half: int, m: int, decided: Pairs) -> tuple[Part, Array, Array]:
        """The second half's frequencies, the first half's columns in use eliminated."""
        from banklearn.numerics import _accept

        n, kept, o = 2 * half, 4 * (m - half) + 1, self.o + 4 * half
        # The last ones are used again for the factor: what is decided until then has smaller m.
        Ds, Bs = _space(f"D {m}", len(self.S), n, n), _space(f"B {m}", len(self.S), n, kept)
        for S, D, B in zip(self.S, Ds, Bs, strict=True):
            _accept.gather_first(S, self.o, half, m, decided, D, B)
            # What is left of the first half has been gathered, so the second needs no copy.
            _eliminate(D, B, S[o:, o:], kept)
        return Part(self.S, o), Ds, Bs


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
    """Decisions on G + lam I, symmetric (T, Q, Q) over [h trend | current | proposed].

    With u a proposal is offered to all places that are decided together, without to its own.
    With an order current frequency order[j] is in place j.
    """
    M, tasks, P = len(log_u), len(G), h + 2 * len(log_u)
    walk = Walk(2 * np.arange(M), np.zeros(2), np.empty((tasks, P, P)), np.empty((tasks, P)))
    rule = Rule(rest, a_n, log_u, u)
    now = h + 2 * (np.arange(M) if order is None else order)
    new = P + 2 * np.arange(M)
    whole = Whole(G, r, lam, h, np.stack([now, now + 1, new, new + 1], axis=1))
    everything = slice(0, M)
    if M > SMALL and h < M:
        _halve(whole, rule, walk, everything, True)
        return walk
    try:
        part, Ds, Bs = whole.without_trend()
    except np.linalg.LinAlgError:
        walk.gain[1] = 1.0
        return walk
    _halve(part, rule, walk, everything, True)
    _fill(Ds, Bs, walk, everything)
    return walk


def _halve(piece: Whole | Part, rule: Rule, walk: Walk, part: slice, last: bool) -> None:
    """Decide the frequencies `part`, which are those of the piece.

    last: all before them are eliminated as decided, none follows.
    """
    m = part.stop - part.start
    if m <= SMALL and isinstance(piece, Part):
        _decide_small(piece, rule, walk, part, last)
        return
    half = m // 2
    middle = part.start + half
    try:
        first = piece.without_second(half, m)
        _halve(first, rule, walk, slice(part.start, middle), False)
    except np.linalg.LinAlgError:
        walk.gain[1] = 1.0

    following = slice(middle, part.stop)
    try:
        second, Ds, Bs = piece.without_first(half, m, walk.pairs(part.start, middle))
        _halve(second, rule, walk, following, last)
    except np.linalg.LinAlgError:
        walk.gain[1] = 1.0
        return
    if last:
        _fill(Ds, Bs, walk, following)


def _fill(Ds: Array, Bs: Array, walk: Walk, following: slice) -> None:
    """The columns of the factor that what was eliminated before the following ones gives."""
    from banklearn.numerics import _accept

    chosen = walk.pairs(following.start, following.stop)
    place = walk.v.shape[1] - 2 * len(chosen) - Ds.shape[1]
    for D, B, L, v in zip(Ds, Bs, walk.L, walk.v, strict=True):
        _accept.fill_factor(D, B, chosen, place, L, v)


def _decide_small(piece: Part, rule: Rule, walk: Walk, part: slice, last: bool) -> None:
    """Decide a few frequencies, and factor them as they were decided if they are the last."""
    from banklearn.numerics import _accept, _exchange

    S, o = piece.S, piece.o
    rest, a_n, log_u = rule.rest, rule.a_n, rule.log_u[part]
    chosen = np.zeros(len(log_u), np.int64)
    if rule.u is None:
        _accept.accept_small(S, o, rest, a_n, log_u, chosen, walk.gain)
    else:
        _exchange.exchange_small(S, o, rest, a_n, log_u, rule.u[part], chosen, walk.gain)
    walk.chosen[part] = 2 * part.start + chosen
    if last:
        _finish(S, o, walk, chosen)


def _eliminate(D: Array, B: Array, C: Array, kept: int) -> None:
    """C - B' D^-1 B in the place of C's lower triangle; D and B become factor and D^-1/2 B."""
    L = cholesky_in_place(D[:, : len(D)])  # rows of work space are longer
    solve_lower_in_place(L, B[:, :kept])
    subtract_inner(C[:kept, :kept], B[:, :kept])


def _finish(S: Array, o: int, walk: Walk, chosen: Pairs) -> None:
    """Factor the last frequencies as they were decided."""
    from banklearn.numerics import _accept

    n = 2 * len(chosen)
    D, B = np.empty((n, n)), np.empty((n, 1))
    for S_t, L, v in zip(S, walk.L, walk.v, strict=True):
        _accept.gather_used(S_t, o, chosen, D, B)
        try:
            solve_lower_in_place(cholesky_in_place(D), B)
        except np.linalg.LinAlgError:
            walk.gain[1] = 1.0
            return
        _accept.fill_factor(D, B, chosen[:0], len(v) - n, L, v)
