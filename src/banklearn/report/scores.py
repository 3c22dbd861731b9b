"""How well predictions and intervals did on rows that were not seen."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

Array = NDArray[np.float64]


def score_names(estimator: Any, baseline: Any) -> tuple[str, str]:
    """What the scores of both are called, apart also where they are of one class."""
    own, other = type(estimator).__name__, type(baseline).__name__
    return own, f"{other} (baseline)" if other == own else other


def point_scores(y: Array, predicted: Array) -> dict[str, float]:
    """Mean squared error, its root, and the share of variance explained, NaN where there is none.

    The variance is that around the mean of these very targets.
    """
    error = float(np.mean((y - predicted) ** 2))
    varies = y.min() < y.max()  # the variance of equal numbers may be a little above 0
    return {
        "mse": error,
        "rmse": float(np.sqrt(error)),
        "r2": 1.0 - error / float(np.var(y)) if varies else float("nan"),
    }


def interval_scores(y: Array, lower: Array, upper: Array) -> dict[str, float]:
    """Share of targets in their interval, and the intervals' mean width."""
    return {
        "coverage": float(np.mean((lower <= y) & (y <= upper))),
        "width": float(np.mean(upper - lower)),
    }


def bank_scores(estimator: Any, X: Any, y: Array, level: float) -> dict[str, float]:
    """All scores of an estimator with a full predictive law."""
    return {
        **point_scores(y, estimator.predict(X)),
        **interval_scores(y, *estimator.predict_interval(X, level)),
        "log_density": float(np.mean(estimator.log_predictive_density(X, y))),
    }


def rival_scores(estimator: Any, X: Any, y: Array, level: float) -> dict[str, float]:
    """Scores of another regressor.

    Intervals and density are its own, or those of a normal law with the standard deviation that
    the regressor gives; without one, only the scores of its predictions.
    """
    if hasattr(estimator, "log_predictive_density"):
        return bank_scores(estimator, X, y, level)
    if "return_std" not in inspect.signature(estimator.predict).parameters:
        return point_scores(y, np.asarray(estimator.predict(X), dtype=float))
    mean, std = estimator.predict(X, return_std=True)
    z = float(norm.ppf(0.5 + 0.5 * level))
    return {
        **point_scores(y, mean),
        **interval_scores(y, mean - z * std, mean + z * std),
        "log_density": float(np.mean(norm.logpdf(y, mean, std))),
    }
