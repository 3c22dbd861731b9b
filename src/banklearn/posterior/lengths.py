"""Length scales along one input: of the learned function where it shows them, else of the kernel.

The length scale of a stationary process is l = 1 / sqrt(-k''(0)) = sqrt(Var f / Var f'), that of
the RBF kernel which bends as much at zero. A function that spans many of them shows its own, by
the second form. The first form, through the frequencies W, is then the worse one: with a finite
number of frequencies each part of the spectrum needs some, however little power it has, so that
weak fast parts own more frequencies than their share of the power, and l comes out too short.
A function that bends once or twice within the data says little by itself; there the kernel does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banklearn.model.kernel import mixture_kernel
from banklearn.posterior.draws import Draw
from banklearn.posterior.oscillations import Line

Array = NDArray[np.float64]

#: A function shows its length scale if the data span at least so many of them.
FEWEST_LENGTHS = 20
#: What is left of a function without line and oscillations shows a length scale of its own if it
#: has at least this share of the function's variance.
LEAST_SHARE = 0.005
#: Var(log l) times the number of length scales seen, for a path of a process with an RBF kernel:
#: 2 sqrt(pi) 3/16, as every ordinate of its periodogram is exponential around its mean.
CHANCE = 2.0 * np.sqrt(np.pi) * 3.0 / 16.0


class Estimate(NamedTuple):
    """Posterior median of a number, and the ends of its credible interval."""

    value: float
    low: float
    high: float


def function_length(f: Array, length: float, lines: Sequence[Line], z: float) -> Estimate | None:
    """Length scale of functions f (S, R, n), sampled evenly over a range of that length.

    S counts draws; R the slices (or tasks). A straight line and the given oscillations are taken
    out, and what the rest has around their frequencies is put in their place. The interval is z
    standard deviations to either side, of the draws and of what a path differs from its law by
    chance. None if the range holds too few length scales to tell, or next to nothing is left.
    """
    n = f.shape[2]
    place = np.linspace(0.0, length, n)
    columns = [np.ones(n), place]
    taken = [0.0, *(float(np.median(line.frequency)) for line in lines)]
    for omega in taken[1:]:
        columns += [np.cos(omega * place), np.sin(omega * place)]
    basis = np.linalg.qr(np.stack(columns, axis=1))[0]
    rest = f - (f @ basis) @ basis.T
    # Five points: the error at a tenth of the sampling rate is below 1 %.
    slope = 8.0 * (rest[..., 3:-1] - rest[..., 1:-3]) - (rest[..., 4:] - rest[..., :-4])
    slope /= 12.0 * length / (n - 1)
    power, bend = (rest**2).mean(axis=(1, 2)), (slope**2).mean(axis=(1, 2))
    if np.median(power) < LEAST_SHARE * np.median(f.var(axis=2).mean(axis=1)):
        return None
    for omega in taken:
        below = _power_beside(rest, place, omega)
        power, bend = power + below, bend + below * omega**2
    if not (power.min() > 0 and bend.min() > 0):
        return None
    log_l = 0.5 * (np.log(power) - np.log(bend))
    value = float(np.exp(np.median(log_l)))
    if length < FEWEST_LENGTHS * value:
        return None
    reach = float(np.exp(z * np.sqrt(log_l.var() + CHANCE * value / length)))
    return Estimate(value, value / reach, value * reach)


def _power_beside(rest: Array, place: Array, omega: float) -> Array:
    """What the smooth part has at a frequency that was taken out, from those around it, (S,)."""
    near = omega + 2.0 * np.pi / place[-1] * np.array([-3.0, -2.0, 2.0, 3.0])
    waves = np.exp(-1j * np.outer(place, near[near > 0]))
    power = 2.0 * np.abs(rest @ waves / len(place)) ** 2
    return np.asarray(power.mean(axis=(1, 2)))


def kernel_lengths(W: Sequence[Array], lines: Sequence[tuple[Line, str]], x: Array) -> Array:
    """1 / sqrt(-k''(0)) of each draw's frequencies W (M,) in the units of x, oscillations aside."""
    bend = [np.sqrt(np.mean(smooth_frequencies(w, lines, x) ** 2)) for w in W]
    return np.asarray(1.0 / np.maximum(bend, np.finfo(float).tiny ** 0.5))


def smooth_frequencies(w: Array, lines: Sequence[tuple[Line, str]], x: Array) -> Array:
    """The frequencies that no oscillation owns: those further away than the data can resolve."""
    keep = np.ones(len(w), dtype=bool)
    # Rows that all have one value resolve nothing; 2 pi over less than this is no number.
    resolution = 2.0 * np.pi / max(float(x.max() - x.min()), 8.0 * np.finfo(float).tiny)
    for line, of in lines:
        width = resolution if of == "function" else max(3.0 * line.frequency.std(), resolution)
        keep &= np.abs(np.abs(w) - np.median(line.frequency)) > width
    return w[keep] if keep.any() else w


def half_lag(draw: Draw, i: int) -> float:
    """The smallest lag at which the kernel of a draw along input i is 1/2, in model units."""
    part = slice(i, i + 1)
    spread = float(np.median(np.abs(draw.W[:, i])))
    lags = np.geomspace(1e-3, 1e2, 1000) / max(spread, 1e-6)
    k = mixture_kernel(lags[:, None], draw.pi, draw.mu[:, part], draw.Sigma[:, part, part])
    below = np.flatnonzero(k <= 0.5)
    if len(below) == 0 or below[0] == 0:
        return float("inf") if len(below) == 0 else float(lags[0])
    j = int(below[0])
    return float(lags[j - 1] + (k[j - 1] - 0.5) / (k[j - 1] - k[j]) * (lags[j] - lags[j - 1]))
