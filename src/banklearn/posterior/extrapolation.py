"""Where the predictive law has fallen back to the prior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from banklearn.model.class_tree import ClassTree
from banklearn.model.features import Trend
from banklearn.posterior.classify import probability_samples
from banklearn.posterior.draws import Draw
from banklearn.posterior.predict import features_of

Array = NDArray[np.float64]

#: Share of the prior variance that is left, from which on a row counts as extrapolated.
THRESHOLD = 0.25
#: Points that stand for a normal law, of one probability each.
POINTS = 1024


class Extrapolation(NamedTuple):
    """Per row: the share of the prior variance that the data left, and whether it is much.

    prior_share is 0 where the data settle the function, or a class, and about 1 where they say
    nothing.
    """

    prior_share: Array
    doubtful: NDArray[np.bool_]


def prior_share(draws: Sequence[Draw], X: Array, trend: Trend) -> Array:
    """Posterior variance of the function over the kernel's prior variance, at rows X (n,).

    Over draws and summed over tasks: the mean of noise phi'A^-1 phi plus the variance of
    phi'mu_n, divided by the mean of noise / lam, the prior variance of the random features' part
    (k(0) = 1). A trend's prior variance grows with the inputs and is left out. At most 1. Rows
    are in model units.
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
    total = (within / S + between).sum(axis=0)
    return np.asarray(np.minimum(total / (len(within) * prior / S), 1.0))


def prior_share_of_classes(draws: Sequence[Draw], X: Array, trend: Trend, tree: ClassTree) -> Array:
    """Posterior variance of the class probabilities over their prior variance, at rows X (n,).

    Summed over classes, over draws and weights. It is the probabilities that are judged: labels
    say little about the size of log odds where a class is certain, and it matters little there.
    The prior variance is that of log odds N(0, 1 / lam), the kernel's part. At most 1.
    """
    first = second = np.zeros((tree.n_classes, len(X)))
    for sample in probability_samples(draws, X, trend, tree):
        first = first + sample.mean(axis=0)
        second = second + (sample**2).mean(axis=0)
    S = len(draws)
    total = np.maximum(second / S - (first / S) ** 2, 0.0).sum(axis=0)
    prior = prior_variance(np.array([draw.lam for draw in draws]), tree)
    return np.asarray(np.minimum(total / prior, 1.0))


def prior_variance(lam: Array, tree: ClassTree) -> float:
    """Variance of the class probabilities, summed over classes, where nothing has been seen.

    Log odds of each decision are N(0, 1 / lam), lam one of those given (S,), decisions independent
    given lam: a class below k decisions has the mean 2^-k and the second moment E[E[sigmoid^2]^k].
    """
    z = ndtri((np.arange(POINTS) + 0.5) / POINTS)
    square = (expit(z / np.sqrt(lam)[:, None]) ** 2).mean(axis=1)
    ranges = tree.ranges
    place = np.arange(tree.n_classes)[:, None]
    depth = ((ranges[:, 0] <= place) & (place < ranges[:, 2])).sum(axis=1)
    return float(((square[:, None] ** depth).mean(axis=0) - 0.25**depth).sum())
