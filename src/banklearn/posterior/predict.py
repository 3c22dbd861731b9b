"""Predictive laws: a mixture over draws, in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr, stdtr
from scipy.stats import t as student_t

from banklearn.model.features import Trend, feature_rows, trend_columns
from banklearn.numerics.scratch import scratch
from banklearn.posterior.draws import Draw

Array = NDArray[np.float64]

PREDICT_ROWS = 2048
#: Standard deviations beyond which a density is taken to be that at this distance.
FARTHEST = 1e150
# From here on a Student t is a normal law to within 1e-4 of its cumulative distribution.
_NORMAL_FROM = 2000.0


@dataclass(frozen=True)
class Law:
    """S Student t laws for each of n rows: location, scale (S, n) and degrees of freedom (S,)."""

    location: Array
    scale: Array
    dof: Array

    def mean(self) -> Array:
        """Mean of the mixture, (n,)."""
        return np.asarray(self.location.mean(axis=0))

    def std(self) -> Array:
        """Standard deviation of the mixture, (n,)."""
        within = (self.scale**2 * variance_factor(self.dof)[:, None]).mean(axis=0)
        return np.asarray(np.sqrt(within + self.location.var(axis=0)))

    def cdf(self, y: Array) -> Array:
        """P(Y <= y) per row, (n,)."""
        z = (y - self.location) / self.scale
        if self.dof.min() > _NORMAL_FROM:
            return np.asarray(ndtr(z).mean(axis=0))
        return np.asarray(stdtr(self.dof[:, None], z).mean(axis=0))

    def log_density(self, y: Array) -> Array:
        """log p(y) per row, (n,)."""
        with np.errstate(over="ignore"):  # so far out that its square has no number
            z = np.clip((y - self.location) / self.scale, -FARTHEST, FARTHEST)
        log_p = student_t.logpdf(z, self.dof[:, None]) - np.log(self.scale)
        return np.asarray(logsumexp(log_p, axis=0) - np.log(len(self.dof)))

    def quantile(self, q: float) -> Array:
        """Quantile of the mixture by bisection between the extreme component quantiles, (n,)."""
        z = student_t.ppf(q, self.dof)[:, None]
        each = self.location + z * self.scale
        low, high = each.min(axis=0), each.max(axis=0)
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = self.cdf(middle) < q
            low = np.where(below, middle, low)
            high = np.where(below, high, middle)
            if np.all(high - low <= 1e-7 * (self.scale.mean(axis=0))):
                break
        return np.asarray(0.5 * (low + high))


def variance_factor(dof: Array) -> Array:
    """Variance of a Student t of scale one; a law without a variance gets a large one."""
    # dof / (dof - 2), also where dof is infinite.
    return np.asarray(1.0 / np.maximum(1.0 - 2.0 / dof, 1e-3))


def row_blocks(X: Sized, rows: int = PREDICT_ROWS) -> Iterator[slice]:
    """Slices over the rows of X."""
    for start in range(0, len(X), rows):
        yield slice(start, min(start + rows, len(X)))


def features_of(draw: Draw, X: Array, trend: Trend) -> Array:
    """Features of a draw as rows (P, n), in work space that the next call overwrites."""
    P = trend_columns(trend, X.shape[1]) + 2 * len(draw.W)
    return feature_rows(X, draw.W, trend, scratch("predict", (P, len(X))))


def latent(draw: Draw, X: Array, trend: Trend) -> tuple[Array, Array]:
    """Mean (T, n) and relative variance phi'A^-1 phi (T, n) of the latent functions."""
    Phi = features_of(draw, X, trend)
    mean = draw.mu_n @ Phi
    spread = np.stack([((root.T @ Phi) ** 2).sum(axis=0) for root in draw.root])
    return mean, spread


def regression_law(draws: Sequence[Draw], X: Array, trend: Trend, observed: bool = True) -> Law:
    """The predictive law at rows X (n, d) in model units; observed adds the noise."""
    location = np.empty((len(draws), len(X)))
    scale = np.empty_like(location)
    for s, draw in enumerate(draws):
        mean, spread = latent(draw, X, trend)
        location[s] = mean[0]
        scale[s] = np.sqrt(draw.noise * ((1.0 if observed else 0.0) + spread[0]))
    return Law(location, scale, np.array([draw.dof for draw in draws]))


def noise_variance(draws: Sequence[Draw]) -> float:
    """The noise's part of the variance of the predictive law, the same at all rows."""
    noise, dof = np.array([(draw.noise, draw.dof) for draw in draws]).T
    return float(np.mean(noise * variance_factor(dof)))


def regression_mean(draws: Sequence[Draw], X: Array, trend: Trend) -> Array:
    """Mean of the predictive law, without its spread: (n,)."""
    total = np.zeros(len(X))
    for draw in draws:
        total += draw.mu_n[0] @ features_of(draw, X, trend)
    return total / len(draws)
