"""Squared distances that chains travel: effective samples, and how long they take to go as far.

By squared distances the correlation of what is a lag apart is 1 - D / 2 V, whatever its mean, where
V is the variance of what is sampled (Gelman and others, Bayesian Data Analysis, section 11.5). Its
own variance flatters a chain that has hardly moved. So samplers are compared by a variance that
another chain saw, as Hoffman and Gelman (The No-U-Turn Sampler, 2014) took it from a long run: here
the largest of chains that began at the same state. What neither had time for is in neither count:
if the slowest of it is moved no faster, effective samples are in a smaller ratio than it says.

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
#: Correlations are summed over lags of so many times the time that comes out of it.
WINDOW = 5.0
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


def in_one_mode(values: Mapping[str, Sequence[Array]]) -> dict[str, list[Array]]:
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


def distances(x: Array, most: int) -> Array:
    """Sums of squared distances of all pairs 0, 1, ..., most - 1 sweeps apart."""
    n, centred = len(x), x - x.mean()
    spectrum = np.fft.rfft(centred, 2 * n)
    products = np.fft.irfft(np.abs(spectrum) ** 2)[:most]
    squares = np.concatenate([[0.0], np.cumsum(centred**2)])
    lags = np.arange(most)
    return np.maximum(squares[n - lags] + squares[n] - squares[lags] - 2.0 * products, 0.0)


def sweeps_of_one(values: Sequence[Array]) -> float:
    """Sweeps for each effective sample: 1 + 2 times the sum of correlations, for a variance of one.

    Summed over lags of up to WINDOW times the result (Sokal 1997), or of half the shortest chain:
    what a chain remembers for longer is not counted against it.
    """
    most = min(len(x) for x in values) // 2
    pairs = sum(len(x) - np.arange(most) for x in values)
    share = sum(distances(x, most) for x in values) / pairs / 2.0
    sums = 2.0 * np.cumsum(1.0 - share) - 1.0
    enough = np.flatnonzero(np.arange(most) >= WINDOW * sums)
    return max(float(sums[enough[0] if len(enough) else -1]), 1.0)


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
