"""From the user's units to the model's: input transforms and the target's location and scale."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from banklearn.numerics.moments import Moments
from banklearn.numerics.weighted import mean_and_std, median
from banklearn.posterior.normal_scores import NormalScores, fit_normal_scores

Array = NDArray[np.float64]
Kind = Literal["none", "standard", "arcsinh", "quantile"]
KINDS: tuple[Kind, ...] = ("none", "standard", "arcsinh", "quantile")

#: Inputs that are looked at together, so that no copy of all of them is made.
FIT_COLUMNS = 8
#: Rows further out than this many units are taken to be this far out: squares stay finite.
FAR = 1e100
#: Arcsinh brings training rows no further out than this many units. Where nearly all rows are at
#: one value, a standard deviation would leave the others tens of units apart: strangers to any
#: kernel that tells ordinary rows apart.
REACH = 10.0
#: Largest input that may be left as it is: beyond, the phase of a feature has lost its digits.
LARGEST_UNSCALED = 1e10
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class InputScaling:
    """x -> (g(x) - shift) / scale per input, on the inputs that vary.

    g is the identity ("none", "standard"), or a function of u = (x - centre) / spread with the
    median as centre and the median absolute deviation as spread: arcsinh(u) for heavy tails, or
    the normal score of u ("quantile"), for inputs that crowd at some values and are rare at others.
    """

    kind: Kind
    used: NDArray[np.bool_]
    shift: Array
    scale: Array
    centre: Array
    spread: Array
    scores: NormalScores | None = None

    @property
    def linear(self) -> bool:
        """Whether lags in the user's units are lags in the model's, up to a factor."""
        return self.kind in ("none", "standard")

    @cached_property
    def unit(self) -> Array:
        """What one unit of the model is in the user's units, near the median, (d,)."""
        return self.scale * self.spread / (1.0 if self.scores is None else self.scores.slope())

    def __call__(self, X: Array) -> Array:
        """Transform rows of all inputs, (n, d) to (n, number used)."""
        X = np.asarray(X, dtype=np.float64)
        # One copy, changed in place: rows from disk come through here with every sweep.
        X = np.array(X, order="C") if self.used.all() else np.ascontiguousarray(X[:, self.used])
        with np.errstate(over="ignore"):  # infinitely far is cut to FAR
            if not self.linear:
                X -= self.centre
                X /= self.spread
                np.clip(X, -_LARGEST, _LARGEST, out=X)
                X = np.arcsinh(X, out=X) if self.scores is None else self.scores(X)
            X -= self.shift
            X /= self.scale
        return np.clip(X, -FAR, FAR, out=X)


@dataclass(frozen=True)
class ScaledRows:
    """Rows that are scaled when they are asked for, so that no copy of all of them is made."""

    X: Array
    scaling: InputScaling

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, part: slice | NDArray[np.intp]) -> Array:
        return self.scaling(self.X[part])


def fit_scaling(
    X: Array, weight: Array | None, kind: Kind, moments: Moments | None = None
) -> InputScaling:
    """Choose shift and scale from training rows; inputs that do not vary are left out.

    moments are those of all rows where X is a sample of them: which inputs vary, means and
    standard deviations come from all rows, medians and quantiles from the sample.
    """
    moments = Moments.of(X, weight) if moments is None else moments
    used = moments.high > moments.low
    if not used.any():
        # Nothing varies: keep one input, which becomes a constant zero.
        used = used.copy()
        used[0] = True
    columns = np.flatnonzero(used)
    largest = float(max(moments.high[used].max(), -moments.low[used].min()))
    if kind == "none" and largest > LARGEST_UNSCALED:
        raise ValueError(
            f"Inputs go up to {largest:.3g}, too large to be used as they are: the features are "
            "cosines of them, and numbers of such extreme size have no phase. Use "
            "input_scaling='standard' or 'arcsinh', or give the inputs in other units."
        )
    centre, spread = np.zeros(len(columns)), np.ones(len(columns))
    shift, scale = moments.mean[used], moments.std[used]
    if kind == "none":
        shift, scale = np.zeros(len(columns)), np.ones(len(columns))
    scores = []
    for start in range(0, len(columns) if kind in ("arcsinh", "quantile") else 0, FIT_COLUMNS):
        part = slice(start, start + FIT_COLUMNS)
        some = X[:, columns[part]]
        centre[part] = median(some, weight)
        some -= centre[part]
        spread[part] = _spread(some, weight, scale[part])
        with np.errstate(over="ignore"):
            np.divide(some, spread[part], out=some)
        np.clip(some, -_LARGEST, _LARGEST, out=some)
        if kind == "arcsinh":
            np.arcsinh(some, out=some)
        else:
            scores.append(fit_normal_scores(some, weight))
            some = scores[-1](some)
        shift[part], scale[part] = mean_and_std(some, weight)
        if kind == "arcsinh":
            low, high = moments.low[columns[part]], moments.high[columns[part]]
            far = _furthest(low, high, centre[part], spread[part], shift[part])
            scale[part] = np.maximum(scale[part], far / REACH)
    scale = np.where(scale > 0, scale, 1.0)
    joined = NormalScores.side_by_side(scores) if scores else None
    return InputScaling(kind, used, shift, scale, centre, spread, joined)


def _spread(centred: Array, weight: Array | None, std: Array) -> Array:
    """Median absolute deviation; the standard deviation where more than half is at one value."""
    spread = median(np.abs(centred), weight)
    spread = np.where(spread > 0, spread, std)
    return np.where(spread > 0, spread, 1.0)


def _furthest(low: Array, high: Array, centre: Array, spread: Array, shift: Array) -> Array:
    """How far arcsinh of the lowest or highest value is from the mean."""
    with np.errstate(over="ignore"):
        ends = (np.stack([low, high]) - centre) / spread
    return np.abs(np.arcsinh(np.clip(ends, -_LARGEST, _LARGEST)) - shift).max(axis=0)


@dataclass(frozen=True)
class TargetScaling:
    """y -> (y - shift) / scale."""

    shift: float
    scale: float

    def value(self, scaled: Array) -> Array:
        """From the model's units back to y's; what overflows becomes the largest number."""
        with np.errstate(over="ignore"):
            return np.clip(self.shift + self.scale * scaled, -_LARGEST, _LARGEST)

    def spread(self, scaled: Array) -> Array:
        """The same for a standard deviation."""
        with np.errstate(over="ignore"):
            return np.minimum(self.scale * scaled, _LARGEST)


def fit_target_scaling(y: Array, weight: Array | None) -> TargetScaling:
    """Mean and standard deviation; a constant target has its own size as scale, zero has 1."""
    return target_scaling(Moments.of(y[:, None], weight))


def target_scaling(moments: Moments) -> TargetScaling:
    """The same from the moments of a target that came in blocks."""
    low, high = float(moments.low[0]), float(moments.high[0])
    if high == low:
        return TargetScaling(low, abs(low) or 1.0)
    # Differences as small as rounding are not blown up to noise of size one.
    smallest = max(1e-12 * max(abs(low), abs(high)), np.finfo(float).tiny)
    return TargetScaling(float(moments.mean[0]), max(float(moments.std[0]), smallest))
