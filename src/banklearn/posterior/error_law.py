"""The law of errors in units of the predictive deviation, learned from errors that were made.

The model's noise is normal and of one size. Where that is wrong its deviation may still be right
on average while its intervals are not: few large errors beside many small ones. A mixture of
normal laws about zero whose scales are a fixed grid can take any such shape, and its shares have
one best value, which the EM algorithm finds (the nonparametric maximum likelihood of Kiefer and
Wolfowitz, 1956).

A predictive variance has two parts, that of the noise v and that of the doubt about the function u.
Among the rows errors tell of their sum. Far from the rows u is nearly all of it, and that noise is
mostly small says nothing of it. So doubt is scaled with the noise as far as it is common among the
training rows, up to ``reach`` v, and what exceeds that comes on top as it is:

    variance of part k = scale_k^2 (v + min(u, reach v)) + max(u - reach v, 0)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr, ndtri

from banklearn.posterior.predict import FARTHEST

Array = NDArray[np.float64]

#: Scales of the normal laws, in units of the predictive deviation: a 128th of it to 64 times it.
SCALES = 2.0 ** (np.arange(-28, 25) / 4)
#: Shares below this are left out: no row in a million.
SMALLEST_SHARE = 1e-6
#: The learned deviation is at least so many of the model's. It is less only where the prior of the
#: noise rules, since there is none.
LEAST_STD = 0.5
#: Doubt is common up to that of this share of the training rows, in units of the noise's variance.
COMMON = 0.5
#: With fewer rows for each weight than this, it is at least the model's own: frequencies can go so
#: far towards single rows that errors of rows left out say little.
ROWS_A_WEIGHT = 10
STEPS = 500
STEPS_TO_QUANTILE = 100
TOLERANCE = 1e-6


class Errors(NamedTuple):
    """Errors of n rows, and what the model says of their variance: noise, doubt; (n,) each."""

    error: Array
    noise: Array
    doubt: Array


@dataclass(frozen=True)
class ErrorLaw:
    """K normal laws about zero: scale (K,) and share (K,), which adds up to one.

    reach: doubt about the function is scaled up to so many times the noise's variance; infinite in
    model files of before there was a limit.
    """

    scale: Array
    share: Array
    reach: float = math.inf

    def std(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.share @ self.scale**2))

    def cdf(self, z: Array) -> Array:
        """P(Z <= z)."""
        return np.asarray(ndtr(z[..., None] / self.scale) @ self.share)

    def log_density(self, z: Array) -> Array:
        """log p(z)."""
        each = -0.5 * (np.clip(z, -FARTHEST, FARTHEST)[..., None] / self.scale) ** 2
        shares = self.share / (self.scale * np.sqrt(2.0 * np.pi))
        return np.asarray(logsumexp(each, axis=-1, b=shares))

    def quantile(self, q: float) -> float:
        """The value that a share q of errors stays below."""
        return float(quantiles(self.scale[None, :], self.share, q)[0])

    def factors(self, n: int, rng: np.random.Generator) -> Array:
        """Scales of n errors drawn from this law, (n,)."""
        return np.asarray(rng.choice(self.scale, n, p=self.share / self.share.sum()))

    def common(self, noise: Array, doubt: Array) -> Array:
        """What is scaled with the noise of the function's variances doubt (n,)."""
        with np.errstate(over="ignore"):  # no limit
            return np.asarray(np.minimum(doubt, self.reach * noise))

    def variances(self, noise: Array, doubt: Array) -> Array:
        """Of the K parts at n rows with these variances of noise and of the function, (n, K)."""
        common = self.common(noise, doubt)
        return (noise + common)[:, None] * self.scale**2 + (doubt - common)[:, None]


@dataclass(frozen=True)
class LearnedLaw:
    """Predictive laws of n rows: centre, variance of noise, of the function (n,), law of errors."""

    centre: Array
    noise: Array
    doubt: Array
    errors: ErrorLaw

    def _scales(self) -> Array:
        return np.sqrt(self.errors.variances(self.noise, self.doubt))

    def mean(self) -> Array:
        """Mean, (n,)."""
        return self.centre

    def std(self) -> Array:
        """Standard deviation, (n,)."""
        return np.asarray(
            np.sqrt(self.errors.variances(self.noise, self.doubt) @ self.errors.share)
        )

    def cdf(self, y: Array) -> Array:
        """P(Y <= y) per row, (n,)."""
        return np.asarray(ndtr((y - self.centre)[:, None] / self._scales()) @ self.errors.share)

    def log_density(self, y: Array) -> Array:
        """log p(y) per row, (n,)."""
        scales = self._scales()
        with np.errstate(over="ignore"):  # so far out that it has no number
            z = np.clip((y - self.centre)[:, None] / scales, -FARTHEST, FARTHEST)
        shares = self.errors.share / np.sqrt(2.0 * np.pi)
        return np.asarray(logsumexp(-0.5 * z**2 - np.log(scales), axis=1, b=shares))

    def quantile(self, q: float) -> Array:
        """Quantile, (n,): of the law of errors itself, where all doubt is within its reach."""
        away = np.sqrt(self.noise + self.doubt) * self.errors.quantile(q)
        beyond = self.doubt > self.errors.common(self.noise, self.doubt)
        if beyond.any():
            away[beyond] = quantiles(self._scales()[beyond], self.errors.share, q)
        return self.centre + away


def quantiles(scales: Array, share: Array, q: float) -> Array:
    """Quantiles of n mixtures of normal laws about zero, scales (n, K): (n,).

    They are no nearer than that of the narrowest part, and no farther out than that of the widest.
    Newton's steps for the logarithm of the tail, from where a normal law of the same deviation has
    it; halves where these leave what is known. A row is done by itself: its quantile does not
    depend on those beside it.
    """
    tail = min(q, 1.0 - q)
    unit = -ndtri(tail)
    near, far = unit * np.stack([scales.min(axis=1), scales.max(axis=1)])
    out = np.clip(unit * np.sqrt((scales**2 * share).sum(axis=1)), near, far)
    left, at = np.arange(len(scales)), out.copy()
    for _ in range(STEPS_TO_QUANTILE):
        z = at[:, None] / scales[left]
        mass = (ndtr(-z) * share).sum(axis=1)
        near, far = np.where(mass > tail, at, near), np.where(mass > tail, far, at)
        slope = (np.exp(-0.5 * z**2) / scales[left] * share).sum(axis=1) / np.sqrt(2.0 * np.pi)
        with np.errstate(divide="ignore", invalid="ignore"):  # nothing is left so far out
            there = at + np.log(mass / tail) * mass / slope
        there = np.where((near <= there) & (there <= far), there, 0.5 * (near + far))
        out[left] = there
        moving = np.abs(there - at) > 1e-12 * at
        if not moving.any():
            break
        left, at, near, far = left[moving], there[moving], near[moving], far[moving]
    return np.asarray(np.copysign(out, q - 0.5))


def least_std(rows: float, weights: int) -> float:
    """The least deviation of a law learned in a fit of so many rows and weights."""
    return LEAST_STD if rows >= ROWS_A_WEIGHT * weights else 1.0


def fit_error_law(
    errors: Errors,
    weight: Array | None = None,
    least: float = LEAST_STD,
    reach: float | None = None,
) -> ErrorLaw:
    """The shares of highest likelihood for errors of n rows; a row of weight w counts as w rows.

    A law whose deviation is below the least is stretched to it. Without a reach doubt is scaled as
    far as it is common.
    """
    mass = np.ones(len(errors.error)) if weight is None else weight
    mass = mass / mass.sum()
    reach = common_doubt(errors, mass) if reach is None else reach
    grid = ErrorLaw(SCALES, np.ones(len(SCALES)), reach)
    scales = np.sqrt(grid.variances(errors.noise, errors.doubt))
    # Relative to each row's best scale: densities of far errors would be zero for all of them.
    log_p = -0.5 * (errors.error[:, None] / scales) ** 2 - np.log(scales)
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    share = np.full(len(SCALES), 1.0 / len(SCALES))
    for _ in range(STEPS):
        before, share = share, share * ((mass / (p @ share)) @ p)
        if np.abs(share - before).max() < TOLERANCE:
            break
    kept = share > SMALLEST_SHARE
    law = ErrorLaw(SCALES[kept], share[kept] / share[kept].sum(), reach)
    return replace(law, scale=law.scale * max(least / law.std(), 1.0))


def common_doubt(errors: Errors, mass: Array) -> float:
    """The doubt that this share of the rows does not exceed, by the noise; mass adds up to one."""
    doubt = errors.doubt / errors.noise
    order = np.argsort(doubt)
    place = int(np.searchsorted(np.cumsum(mass[order]), COMMON))
    return float(doubt[order[min(place, len(order) - 1)]])
