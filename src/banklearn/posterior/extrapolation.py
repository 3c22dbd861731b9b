"""Where the predictive law has fallen back to the prior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banklearn.model.features import Trend
from banklearn.posterior.draws import Draw
from banklearn.posterior.predict import features_of

Array = NDArray[np.float64]

#: Share of the prior variance that is left, from which on a row counts as extrapolated.
THRESHOLD = 0.25


class Extrapolation(NamedTuple):
    """Per row: the share of the kernel's prior variance that the data left, and whether it is much.

    prior_share is 0 where the data settle the function and about 1 where they say nothing.
    """

    prior_share: Array
    doubtful: NDArray[np.bool_]


def prior_share(draws: Sequence[Draw], X: Array, trend: Trend, reach: Array | None = None) -> Array:
    """Posterior variance of the function over the kernel's prior variance, at rows X (n,).

    Over draws and summed over tasks, which count by `reach` (T, n), the probability that a row
    comes to that decision: the mean of noise phi'A^-1 phi plus the variance of
    phi'mu_n, divided by the mean of noise / lam, the prior variance of the random features' part
    (k(0) = 1). A trend's prior variance grows with the inputs and is left out of that: doubt about
    a trend alone can exceed it. At most 1. Rows are in model units.
    """
    first = second = within = np.zeros((draws[0].mu_n.shape[0], len(X)))
    prior = 0.0
    for draw in draws:
        Phi = features_of(draw, X, trend)
        mean = draw.mu_n @ Phi
        first, second = first + mean, second + mean**2
        spread = np.stack([((root.T @ Phi) ** 2).sum(axis=0) for root in draw.root])
        within = within + draw.noise * spread
        prior += draw.noise / draw.lam
    S = len(draws)
    between = np.maximum(second / S - (first / S) ** 2, 0.0)
    reach = np.ones_like(within) if reach is None else reach
    total = (reach * (within / S + between)).sum(axis=0)
    return np.asarray(np.minimum(total / (reach.sum(axis=0) * prior / S), 1.0))
