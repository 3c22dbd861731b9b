"""A made-up series in which two periods and a length scale are planted, to see them found."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Frequencies of a series that is drawn, and of standard deviations that one made exact reaches.
DRAWN, REACH = 3000, 5.0


class Series(NamedTuple):
    """Times x (n,) and values y (n,), and the length scale that its smooth part itself has."""

    x: Array
    y: Array
    realised: float


def make_series(
    seed: int = 0,
    n_samples: int = 1200,
    span: float = 40.0,
    periods: tuple[float, float] = (5.0, 1.7),
    length_scale: float = 0.25,
    noise: float = 0.12,
    drawn: bool = False,
) -> Series:
    """Two oscillations of amplitudes 2 and 1.5, a smooth part of deviation 0.6, and noise.

    The smooth part has an RBF kernel. It is a sum of cosines with random phases, one for every
    whole number of cycles in the span with its exact share of power, so that the series itself
    has the length scale. With ``drawn`` the frequencies are random too, as of a draw from a
    Gaussian process: the length scale of such a path differs from that of its law, by chance
    and with relative standard deviation sqrt(0.66 length_scale / span), 6 % as it stands.
    """
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0.0, span, n_samples))
    if drawn:
        omega: Array = rng.standard_normal(DRAWN) / length_scale
        power = np.ones(DRAWN)
    else:
        base = 2.0 * np.pi / span
        omega = base * np.arange(int(REACH / length_scale / base) + 1, dtype=np.float64)
        power = np.exp(-0.5 * (omega * length_scale) ** 2)
        power[0] *= 0.5  # every other frequency stands for its negative as well
    amplitude = 0.6 * np.sqrt(2.0 * power / power.sum())
    phase = rng.uniform(0.0, 2.0 * np.pi, len(omega))
    if not drawn:
        phase[0] = 0.25 * np.pi  # a constant with the power of a cosine of its amplitude

    def smooth(at: Array) -> Array:
        return np.asarray(np.cos(np.outer(at, omega) + phase) @ amplitude)

    y = smooth(x) + noise * rng.standard_normal(n_samples)
    y += 2.0 * np.sin(2.0 * np.pi * x / periods[0]) + 1.5 * np.cos(2.0 * np.pi * x / periods[1])
    grid = np.linspace(0.0, span, 32 * int(span / length_scale) + 1)
    path = smooth(grid)
    slope = np.gradient(path, grid)
    return Series(x, y, float(np.sqrt((path**2).mean() / (slope**2).mean())))


def write_series(path: Path, series: Series, names: tuple[str, str] = ("years", "level")) -> None:
    """A CSV file with a column of times and one of values."""
    rows = np.column_stack([series.x, series.y])
    np.savetxt(path, rows, "%.9g", ",", header=",".join(names), comments="", encoding="utf-8")
