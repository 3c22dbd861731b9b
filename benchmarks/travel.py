"""How long chains take to travel as far: squared distances within a lag of time.

Where chains relax on many scales at once, squared distance grows like a small power of time. Of two
such chains the one that is c times as fast is hardly further at the same time, but it is there c
times as early: D_fast(t) = D_slow(c t), whatever the law. If that holds for all t, c is the ratio
of their effective samples a second.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Lags at which distances are measured, and shares of the spread at which times are compared.
LAGS, SHARES = 40, 9


def lags_of(longest_sweep: float, seconds: float) -> Array:
    """From one sweep to a quarter of the time."""
    return np.geomspace(longest_sweep, max(0.25 * seconds, longest_sweep), LAGS)


def travelled(
    values: Sequence[Array], ends: Sequence[Array], spread: Array, lags: Array
) -> tuple[Array, Array]:
    """Half the mean squared distance within each lag, as shares of the spread, and the mean lag.

    values has a line for each sweep of a chain and a column for each quantity, ends the seconds
    at which sweeps ended. Sweeps end when they do, so that a lag is somewhat longer than asked for.
    """
    shares, spans = [], []
    for lag in lags:
        moved, span = [], []
        for x, t in zip(values, ends, strict=True):
            later = np.searchsorted(t, t + lag * (1.0 - 1e-9))
            first = np.flatnonzero(later < len(t))
            moved.append((x[later[first]] - x[first]) ** 2)
            span.append(t[later[first]] - t[first])
        together = np.concatenate(moved)
        empty = not len(together)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares.append(np.full(len(spread), np.nan) if empty else together.mean(0) / 2 / spread)
        spans.append(np.nan if empty else float(np.concatenate(span).mean()))
    return np.array(shares), np.array(spans)


def seconds_to(share: float, shares: Array, seconds: Array) -> float:
    """When a chain has travelled so far first; NaN before the first lag and after the last."""
    reached = np.maximum.accumulate(np.where(np.isfinite(shares), shares, -np.inf))
    after = int(np.searchsorted(reached, share))
    if after == len(reached) or (after == 0 and reached[0] > share):
        return float("nan")
    if reached[after] == share or not np.isfinite(reached[after - 1]):
        return float(seconds[after])
    part = (share - reached[after - 1]) / (reached[after] - reached[after - 1])
    before, at = np.log(seconds[after - 1]), np.log(seconds[after])
    return float(np.exp(before + part * (at - before)))


def times_as_long(
    fast: tuple[Array, Array], slow: tuple[Array, Array]
) -> tuple[float, float, float, float]:
    """How many times as long the slow one takes to be as far as the fast one.

    The median and the least over distances that both travel, from what takes both a sweep or more
    to what both reach; and the seconds of both for the middle one. NaN where there are none.
    """
    floor = max(float(fast[0][0]), float(slow[0][0]))
    top = min(float(np.nanmax(shares)) for shares, _ in (fast, slow))
    if not floor < top:
        return (float("nan"),) * 4
    pairs = [(seconds_to(s, *fast), seconds_to(s, *slow)) for s in np.linspace(floor, top, SHARES)]
    ratios = np.array([late / early for early, late in pairs])
    middle = pairs[SHARES // 2]
    return float(np.nanmedian(ratios)), float(np.nanmin(ratios)), *middle
