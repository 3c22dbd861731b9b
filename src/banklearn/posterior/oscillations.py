"""Periods: lines in the spectrum of the learned function, and peaks of the spectral density."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import find_peaks
from scipy.signal.windows import hann

Array = NDArray[np.float64]

#: A period is named only if the data span at least this many of them.
FEWEST_CYCLES = 4
#: A line stands out of its neighbourhood by this factor. Ordinates of a noise's periodogram are
#: exponential, so one of 500 exceeds its median by this factor with probability 1.5 %; the
#: louder side counts, which makes it rarer.
STANDS_OUT = 15.0
#: And it carries at least this share of the function's variance.
SMALLEST_SHARE = 0.01
#: A peak of the spectral density away from zero holds at least this share of its mass.
SMALLEST_MASS = 0.1
#: Bins on either side that belong to a line under a Hann window, and that it is compared with.
LOBE, NEIGHBOURS = 2, 8


class Line(NamedTuple):
    """An oscillation: its frequency in each draw (radians per unit) and its share of variance.

    blur is the standard deviation that what lies beside a line adds to its frequency.
    """

    frequency: Array
    share: float
    blur: float = 0.0

    def period(self, z: float) -> tuple[float, float, float]:
        """Period, and its interval z standard deviations of the frequency to either side."""
        centre = float(np.median(self.frequency))
        reach = min(z * float(np.hypot(self.frequency.std(), self.blur)), 0.99 * centre)
        return 2 * np.pi / centre, 2 * np.pi / (centre + reach), 2 * np.pi / (centre - reach)


def spectral_lines(f: Array, length: float) -> list[Line]:
    """Lines in the spectrum of functions f (S, R, n), sampled evenly over a range of that length.

    S counts draws; R the slices (or tasks), whose periodograms are added.
    """
    S, _, n = f.shape
    place = np.linspace(-1.0, 1.0, n)
    centred = f - f.mean(axis=2, keepdims=True)
    slope = centred @ place / (place @ place)
    windowed = (centred - slope[..., None] * place) * hann(n, sym=False)
    power = (np.abs(np.fft.rfft(windowed, axis=2)) ** 2).sum(axis=1)
    mean = power.mean(axis=0)
    total = float(mean[1:].sum())
    # The grid holds both ends, so that n samples span n / (n - 1) lengths.
    step = 2.0 * np.pi / (length * n / (n - 1))
    lines = []
    for k in find_peaks(mean)[0]:
        own = slice(max(k - LOBE, 1), k + LOBE + 1)
        share = float(mean[own].sum()) / total if total > 0 else 0.0
        ratio = _stands_out(mean, int(k))
        if k >= FEWEST_CYCLES and share >= SMALLEST_SHARE and ratio > STANDS_OUT:
            trial = k + np.linspace(-1.0, 1.0, 81)
            waves = np.exp(-2j * np.pi * np.outer(np.arange(n), trial) / n)
            at = [_refine(windowed[s], trial, waves) for s in range(S)]
            # Of a cosine in noise: sqrt(6) / 2 pi bins at a ratio of one of power to mean noise.
            # The median of the noise is log 2 times its mean.
            blur = step * np.sqrt(6.0) / (2.0 * np.pi) / np.sqrt(ratio * np.log(2.0))
            lines.append(Line(step * np.array(at), share, float(blur)))
    return sorted(lines, key=lambda line: -line.share)


def _stands_out(power: Array, k: int) -> float:
    """How many times the typical power on the louder of its two sides a bin has."""
    left = power[max(k - LOBE - NEIGHBOURS, 1) : k - LOBE]
    right = power[k + LOBE + 1 : k + LOBE + 1 + NEIGHBOURS]
    background = max((float(np.median(side)) for side in (left, right) if len(side)), default=0.0)
    return float(power[k]) / max(background, 1e-12 * float(power.max()))


def _refine(windowed: Array, trial: Array, waves: NDArray[np.complex128]) -> float:
    """The place of the highest power among trial bins, between them, for slices (R, n)."""
    power = (np.abs(windowed @ waves) ** 2).sum(axis=0)
    best = int(np.clip(power.argmax(), 1, len(trial) - 2))
    before, here, after = power[best - 1 : best + 2]
    bend = before - 2.0 * here + after
    shift = 0.5 * (before - after) / bend if bend < 0 else 0.0
    return float(trial[best] + np.clip(shift, -1.0, 1.0) * (trial[1] - trial[0]))


def density_peaks(omega: Array, density: Array, length: float) -> list[Line]:
    """Peaks away from zero of spectral densities (S, n) on an even grid omega from 0 on.

    A peak counts if the mean density falls to half of its height on both sides before it rises
    higher, if four of five draws do so too on the side of zero, and if it holds enough mass.
    """
    mean = density.mean(axis=0)
    total = float(mean.sum())
    n = len(mean)
    # The density is even, so that zero can be a peak like any other.
    even = np.concatenate([mean[:0:-1], mean])
    tops, found_at = find_peaks(even, prominence=0.0)
    high = tops[found_at["prominences"] >= 0.5 * even[tops]] - (n - 1)
    high = high[high >= 0]
    found = []
    for number, k in enumerate(high):
        before = int(high[number - 1]) if number else 0
        after = int(high[number + 1]) if number + 1 < len(high) else n
        valley = before + int(mean[before : k + 1].argmin())
        end = int(k) + int(mean[k:after].argmin()) + 1
        mass = float(mean[valley:end].sum()) / total if total > 0 else 0.0
        part = density[:, valley:end]
        deep = density[:, before : k + 1].min(axis=1) <= 0.5 * part.max(axis=1)
        at = omega[valley + part.argmax(axis=1)]
        if (
            mass >= SMALLEST_MASS
            and deep.mean() >= 0.8
            and omega[k] * length >= 2.0 * np.pi * FEWEST_CYCLES
            and (at > 0).all()
        ):
            found.append(Line(at, mass))
    return found
