"""What every rival does to its inputs before fitting: scaling, hold-out rows, grids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state

from .chunks import Array


def generator(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """A NumPy generator from scikit-learn's idea of a random state."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


@dataclass(frozen=True)
class Scaler:
    """x -> (x - mean) / scale per column; constant columns keep scale 1."""

    mean: Array
    scale: Array

    def __call__(self, X: Array) -> Array:
        """Scale the rows of X (N, d)."""
        return np.asarray((X - self.mean) / self.scale)


def standardiser(X: Array) -> Scaler:
    """Mean 0 and standard deviation 1 for each column of X (N, d)."""
    mean, scale = X.mean(axis=0), X.std(axis=0)
    constant = scale <= 10.0 * np.finfo(float).eps * np.abs(mean)
    return Scaler(mean, np.where(constant, 1.0, scale))


def median_distance(X: Array, rng: np.random.Generator, max_rows: int = 1000) -> float:
    """The median heuristic: median Euclidean distance between (a sample of) the rows of X."""
    rows = rng.permutation(X.shape[0])[:max_rows]
    distances = pdist(X[rows])
    distances = distances[distances > 0]
    return float(np.median(distances)) if distances.size else 1.0


def holdout_rows(
    n_rows: int, fraction: float, rng: np.random.Generator, max_rows: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Random (fit, hold-out) row numbers, at least one of each, from at most ``max_rows`` rows."""
    if not 0.0 < fraction < 1.0:
        raise ValueError(
            f"holdout={fraction} is not a fraction of the rows; give a number between 0 and 1."
        )
    rows = rng.permutation(n_rows)[:max_rows]
    n_out = min(max(round(fraction * rows.size), 1), rows.size - 1)
    return np.sort(rows[n_out:]), np.sort(rows[:n_out])
