"""The law of errors in units of the predictive deviation, learned from errors that were made.

The model's noise is normal and of one size. Where that is wrong its deviation may still be right
on average while its intervals are not: few large errors beside many small ones. A mixture of
normal laws about zero whose scales are a fixed grid can take any such shape, and its shares have
one best value, which the EM algorithm finds (the nonparametric maximum likelihood of Kiefer and
Wolfowitz, 1956).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtr, ndtri

Array = NDArray[np.float64]

#: Scales of the normal laws, in units of the predictive deviation: a 128th of it to 64 times it.
SCALES = 2.0 ** (np.arange(-28, 25) / 4)
#: Shares below this are left out: no row in a million.
SMALLEST_SHARE = 1e-6
#: The learned deviation is at least so many of the model's. It is less only where the prior of the
#: noise rules, since there is none; far from the rows the model's doubts must not go with it.
LEAST_STD = 0.5
#: With fewer rows for each weight than this, it is at least the model's own: frequencies can go so
#: far towards single rows that errors of rows left out say little.
ROWS_A_WEIGHT = 10
STEPS = 500
TOLERANCE = 1e-6
#: Errors beyond this are taken to lie at this distance.
FARTHEST = 1e150


@dataclass(frozen=True)
class ErrorLaw:
    """K normal laws about zero: scale (K,) and share (K,), which adds up to one."""

    scale: Array
    share: Array

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
        tail = min(q, 1.0 - q)

        def excess(distance: float) -> float:
            return float(self.cdf(np.array(-distance))) - tail

        # No nearer than the narrowest law's quantile, no farther out than the widest's.
        near, far = (-ndtri(tail) * self.scale[[0, -1]]).tolist()
        if excess(near) <= 0.0:  # there is one law alone, or rounding sees no other
            distance = near
        elif excess(far) >= 0.0:
            distance = far
        else:
            distance = brentq(excess, near, far, xtol=1e-12)
        return float(np.copysign(distance, q - 0.5))

    def factors(self, n: int, rng: np.random.Generator) -> Array:
        """Scales of n errors drawn from this law, (n,)."""
        return np.asarray(rng.choice(self.scale, n, p=self.share / self.share.sum()))


@dataclass(frozen=True)
class LearnedLaw:
    """Predictive laws of n rows: centre and spread (n,), errors of one law in these units."""

    centre: Array
    spread: Array
    errors: ErrorLaw

    def mean(self) -> Array:
        """Mean, (n,)."""
        return self.centre

    def std(self) -> Array:
        """Standard deviation, (n,)."""
        return self.spread * self.errors.std()

    def cdf(self, y: Array) -> Array:
        """P(Y <= y) per row, (n,)."""
        return self.errors.cdf((y - self.centre) / self.spread)

    def log_density(self, y: Array) -> Array:
        """log p(y) per row, (n,)."""
        with np.errstate(over="ignore"):  # so far out that it has no number
            z = (y - self.centre) / self.spread
        return self.errors.log_density(z) - np.log(self.spread)

    def quantile(self, q: float) -> Array:
        """Quantile, (n,)."""
        return np.asarray(self.centre + self.spread * self.errors.quantile(q))


def least_std(rows: float, weights: int) -> float:
    """The least deviation of a law learned in a fit of so many rows and weights."""
    return LEAST_STD if rows >= ROWS_A_WEIGHT * weights else 1.0


def fit_error_law(z: Array, weight: Array | None = None, least: float = LEAST_STD) -> ErrorLaw:
    """The shares of highest likelihood for errors z (n,); a row of weight w counts as w rows.

    A law whose deviation is below the least is stretched to it.
    """
    mass = np.ones(len(z)) if weight is None else weight
    mass = mass / mass.sum()
    # Relative to each row's best scale: densities of far errors would be zero for all of them.
    log_p = -0.5 * (z[:, None] / SCALES) ** 2 - np.log(SCALES)
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    share = np.full(len(SCALES), 1.0 / len(SCALES))
    for _ in range(STEPS):
        before, share = share, share * ((mass / (p @ share)) @ p)
        if np.abs(share - before).max() < TOLERANCE:
            break
    kept = share > SMALLEST_SHARE
    law = ErrorLaw(SCALES[kept], share[kept] / share[kept].sum())
    return ErrorLaw(law.scale * max(least / law.std(), 1.0), law.share)
