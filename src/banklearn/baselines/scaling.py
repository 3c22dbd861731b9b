"""What every rival does to its inputs before fitting: scaling, hold-out rows, median distance.

An RBF kernel with one bandwidth depends on how the inputs are scaled, so the scaling is one more
thing to choose: "auto" offers all of ``SCALINGS`` to the same score that chooses the bandwidth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state

from banklearn.numerics.moments import Moments
from banklearn.posterior.scaling import FAR, TargetScaling, target_scaling

from .chunks import Array

LARGEST = float(np.finfo(np.float64).max)
SCALINGS = ("standard", "robust", "common", "arcsinh")


def generator(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """A NumPy generator from scikit-learn's idea of a random state."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


@dataclass(frozen=True)
class Scaler:
    """x -> (g(x) - mean) / scale per column, g(x) = x or arcsinh((x - centre) / unit).

    Rows further out than ``FAR`` are taken to be that far out, so that squares stay finite.
    """

    mean: Array
    scale: Array
    centre: Array | None = None
    unit: Array | None = None

    def __call__(self, X: Array) -> Array:
        """Scale the rows of X (N, d)."""
        if self.centre is not None and self.unit is not None:
            X = _arcsinh(X, self.centre, self.unit)
        with np.errstate(over="ignore"):  # infinitely far is cut to FAR
            return np.clip((X - self.mean) / self.scale, -FAR, FAR)


def _arcsinh(X: Array, centre: Array, unit: Array) -> Array:
    """arcsinh((x - centre) / unit); a quotient that overflows is the largest number."""
    with np.errstate(over="ignore"):
        return np.arcsinh(np.clip((X - centre) / unit, -LARGEST, LARGEST))


def _positive(spread: Array, fallback: Array) -> Array:
    """``spread`` where it is positive, else ``fallback`` where that is, else 1."""
    return np.where(spread > 0, spread, np.where(fallback > 0, fallback, 1.0))


def _mean_and_std(X: Array) -> tuple[Array, Array]:
    """NumPy's mean and deviation of each column; powers of two keep squares in range."""
    exponent = np.frexp(np.abs(X).max(axis=0))[1]
    B = np.ldexp(X, -exponent)
    return np.ldexp(B.mean(axis=0), exponent), np.ldexp(B.std(axis=0), exponent)


def fit_target(y: Array) -> TargetScaling:
    """Mean and deviation of the target y (N,)."""
    mean, std = _mean_and_std(y)
    ends = np.array([y.min()]), np.array([y.max()])
    return target_scaling(Moments(float(y.size), np.array([mean]), np.array([std]), *ends))


def make_scaler(X: Array, scaling: str) -> Scaler:
    """Learn a scaling from the rows of X (N, d).

    standard: mean 0 and deviation 1 per column; robust: median and interquartile range / 1.35;
    common: one scale for all columns, so that their units count; arcsinh: of deviations from the
    median in median absolute deviations, then standard (for heavy tails).
    """
    mean, std = _mean_and_std(X)
    rounding = 10.0 * np.finfo(float).eps * np.abs(X).max(axis=0)
    std = np.where(std <= rounding, 0.0, std)  # no more than a constant
    if scaling == "standard":
        return Scaler(mean, _positive(std, std))
    if scaling == "common":
        return Scaler(mean, np.full(X.shape[1], std.max() if std.max() > 0 else 1.0))
    if scaling == "robust":
        low, median, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
        return Scaler(median, _positive(np.where(std > 0, (high - low) / 1.35, 0.0), std))
    if scaling == "arcsinh":
        median = np.median(X, axis=0)
        deviation = np.median(np.abs(X - median), axis=0)
        unit = _positive(np.where(std > 0, deviation, 0.0), std)
        after = make_scaler(_arcsinh(X, median, unit), "standard")
        return Scaler(after.mean, after.scale, median, unit)
    raise ValueError(f'scaling={scaling!r} is unknown; use "auto" or one of {SCALINGS}.')


def make_scalers(X: Array, scaling: str) -> dict[str, Scaler]:
    """The scalings to choose from, by name: all of them for "auto", else the one named."""
    names = SCALINGS if scaling == "auto" else (scaling,)
    return {name: make_scaler(X, name) for name in names}


def median_distance(X: Array, rng: np.random.Generator, max_rows: int = 1000) -> float:
    """The median heuristic: median Euclidean distance between (a sample of) the rows of X."""
    rows = rng.permutation(X.shape[0])[:max_rows]
    distances = pdist(X[rows])
    distances = distances[distances > 0]
    return float(np.median(distances)) if distances.size else 1.0


@dataclass(frozen=True)
class Split:
    """Row numbers to fit and to score on during a search; ``all`` is both together."""

    fit: np.ndarray
    out: np.ndarray

    @property
    def all(self) -> np.ndarray:
        """All rows of the search, in order."""
        return np.sort(np.concatenate([self.fit, self.out]))


def split_rows(
    n_rows: int, fraction: float, rng: np.random.Generator, max_rows: int | None = None
) -> Split:
    """A random hold-out, at least one row on either side, from at most ``max_rows`` rows."""
    if not 0.0 < fraction < 1.0:
        raise ValueError(
            f"holdout={fraction} is not a fraction of the rows; give a number between 0 and 1."
        )
    rows = rng.permutation(n_rows)[:max_rows]
    n_out = min(max(round(fraction * rows.size), 1), rows.size - 1)
    return Split(np.sort(rows[n_out:]), np.sort(rows[:n_out]))
