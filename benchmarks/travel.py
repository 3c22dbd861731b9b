"""Squared distances that chains travel, and how long they take to go as far.

Where chains relax on many scales at once, squared distance grows like a small power of time. Of two
such chains the one that is c times as fast is hardly further at the same time, but it is there c
times as early: D_fast(t) = D_slow(c t), whatever the law. Where all scales are c times as fast, c
is the ratio of their effective samples a second. Distances that the slower one has no time for say
nothing of the scales on which it needs that time: where only some of its spread is moved faster,
the ratio of effective samples is smaller. A chain that climbs gains by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: Shares of the variance, and the seconds after which a chain has travelled so far.
Travelled = tuple[Array, Array]

#: Lags at which distances are measured.
LAGS = 40
#: Half the mean squared distance, by the variance, at which times are compared.
SHARES = (0.1, 0.25, 0.5)


def lags_of(sweep: float, seconds: float) -> Array:
    """From one sweep to a third of the time."""
    return np.geomspace(sweep, max(seconds / 3.0, sweep), LAGS)


def within(
    values: Sequence[Array], ends: Sequence[Array], lag: float
) -> tuple[Array, Array] | None:
    """Squared distances of pairs of sweeps at least a lag apart, and how far apart these are.

    values has a line for each sweep of a chain, ends the seconds at which they ended. None where
    no chain was watched for so long.
    """
    moved, spans = [], []
    for x, t in zip(values, ends, strict=True):
        later = np.searchsorted(t, t + lag * (1.0 - 1e-9))
        first = np.flatnonzero(later < len(t))
        moved.append((x[later[first]] - x[first]) ** 2)
        spans.append(t[later[first]] - t[first])
    together = np.concatenate(moved)
    return (together, np.concatenate(spans)) if len(together) else None


def in_units_of_a_pair(values: Mapping[str, Sequence[Array]]) -> dict[str, list[Array]]:
    """Chains in units of the largest deviation of those that began where they did.

    values has the chains of each sampler, in the order of the states at which they began. Where no
    chain moved there is no unit, and what comes out is NaN.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        units = [
            np.max([x.std(axis=0, ddof=1) for x in chains], axis=0)
            for chains in zip(*values.values(), strict=True)
        ]
        return {
            name: [x / unit for x, unit in zip(chains, units, strict=True)]
            for name, chains in values.items()
        }


def travelled(values: Sequence[Array], ends: Sequence[Array], lags: Array) -> Travelled:
    """Shares of a variance of one (a column for each quantity) at lags that chains lasted for."""
    shares, seconds = [], []
    for lag in lags:
        if (pairs := within(values, ends, lag)) is not None:
            shares.append(0.5 * pairs[0].mean(axis=0))
            seconds.append(float(pairs[1].mean()))
    return np.array(shares), np.array(seconds)


def seconds_to(share: float, shares: Array, seconds: Array) -> float:
    """When a chain has travelled so far first; NaN before the first lag and after the last."""
    reached = np.maximum.accumulate(shares)
    after = int(np.searchsorted(reached, share))
    if after == len(reached) or (after == 0 and reached[0] > share):
        return float("nan")
    if reached[after] == share:
        return float(seconds[after])
    part = (share - reached[after - 1]) / (reached[after] - reached[after - 1])
    before, at = np.log(seconds[after - 1]), np.log(seconds[after])
    return float(np.exp(before + part * (at - before)))
