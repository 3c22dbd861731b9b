"""How far draws can be trusted: effective sample size and R-hat of scalars.

Use them on quantities without labels: log likelihood, noise, number of components, the kernel at
a lag, predictions at probe points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

Array = NDArray[np.float64]


def _chains(values: ArrayLike, least: int = 4) -> Array:
    """Chains as rows, (m, n); one chain may come as a vector."""
    x = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if x.ndim != 2:
        raise ValueError(f"values must be (draws,) or (chains, draws), but have shape {x.shape}.")
    if x.shape[1] < least:
        raise ValueError(
            f"At least {least} draws per chain are needed, but there are {x.shape[1]}."
        )
    return x


def split(values: ArrayLike) -> Array:
    """Each chain in two halves, (2m, n // 2), so that a drift within a chain is seen."""
    x = _chains(values)
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def autocovariance(values: ArrayLike) -> Array:
    """Autocovariances of each chain at lags 0..n-1 (divided by n), by Fourier transform."""
    x = _chains(values, least=1)
    n = x.shape[1]
    centred = x - x.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n] / n)


def _variances(x: Array) -> tuple[float, float]:
    """Mean variance within chains, and the estimate of the variance that adds that between them."""
    m, n = x.shape
    within = float(x.var(axis=1, ddof=1).mean())
    between = float(x.mean(axis=1).var(ddof=1)) if m > 1 else 0.0
    return within, within * (n - 1) / n + between


def r_hat(values: ArrayLike) -> float:
    """Split R-hat (Gelman and others, 2013): 1 where chains agree; NaN for a constant."""
    return _r_hat(split(values))


def _r_hat(x: Array) -> float:
    within, total = _variances(x)
    return float(np.sqrt(total / within)) if within > 0 else float("nan")


def rank_normalised(x: Array) -> Array:
    """Normal scores of the ranks among all values: heavy tails no longer matter."""
    ranks = rankdata(x).reshape(x.shape)
    return np.asarray(ndtri((ranks - 0.375) / (x.size + 0.25)))


def rank_r_hat(values: ArrayLike) -> float:
    """Rank-normalised split R-hat (Vehtari and others, 2021), of location and of spread.

    The larger of the split R-hat of normal scores and that of the scores of distances from the
    median. NaN for a constant; infinite for chains that are stuck at different values.
    """
    x = split(values)
    folded = np.abs(x - np.median(x))
    if (x == x[:, :1]).all():
        return float("nan") if (x == x[0, 0]).all() else float("inf")
    found = [_r_hat(rank_normalised(values)) for values in (x, folded)]
    return max((value for value in found if not np.isnan(value)), default=float("nan"))


def effective_sample_size(values: ArrayLike) -> float:
    """Independent draws that would estimate the mean as well, from (draws,) or (chains, draws).

    Autocorrelations of the split chains, summed in pairs while the pairs are positive and forced
    to fall (Geyer's initial monotone sequence, 1992). NaN for a constant.
    """
    return _effective(split(values))


def _effective(x: Array) -> float:
    m, n = x.shape
    within, total = _variances(x)
    if not within > 0:
        return float("nan")
    rho = 1.0 - (within - autocovariance(x).mean(axis=0) * n / (n - 1)) / total
    rho[0] = 1.0
    pairs = rho[: 2 * (n // 2)].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    pairs = np.minimum.accumulate(pairs[: negative[0]] if len(negative) else pairs)
    time = max(2.0 * float(pairs.sum()) - 1.0, 1.0 / np.log10(m * n))
    return m * n / time


def bulk_effective(values: ArrayLike) -> float:
    """Effective sample size of the normal scores (Vehtari and others, 2021): of the centre."""
    x = split(values)
    # Of chains that are all stuck nothing is known; scores of ranks would differ by rounding.
    return float("nan") if (x == x[:, :1]).all() else _effective(rank_normalised(x))


def tail_effective(values: ArrayLike, tail: float = 0.05) -> float:
    """The lesser effective sample size of the two tail probabilities; NaN for a constant."""
    x = split(values)
    # A quantile that is the largest value has everything below it, and nothing to estimate.
    found = [_effective((x <= q).astype(np.float64)) for q in np.quantile(x, [tail, 1.0 - tail])]
    known = [value for value in found if not np.isnan(value)]
    return min(known, default=float("nan"))


class Agreement(NamedTuple):
    """R-hat and effective sample size of the function at each row, (n,) each."""

    r_hat: Array
    effective: Array


def agreement(chains: ArrayLike) -> Agreement:
    """R-hat and effective sample size of values (chains, draws, n), for each of the n."""
    values = np.asarray(chains, dtype=np.float64)
    columns = [values[:, :, i] for i in range(values.shape[2])]
    return Agreement(
        np.array([r_hat(column) for column in columns]),
        np.array([effective_sample_size(column) for column in columns]),
    )


def standard_error(values: ArrayLike) -> float:
    """Monte Carlo standard error of the mean over all draws."""
    _, total = _variances(split(values))
    return float(np.sqrt(total / effective_sample_size(values)))
