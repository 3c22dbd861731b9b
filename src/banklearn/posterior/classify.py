"""Class probabilities: averages over draws of frequencies and weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from banklearn.model.class_tree import ClassTree, class_probabilities
from banklearn.model.features import Trend
from banklearn.posterior.draws import Draw
from banklearn.posterior.predict import features_of

Array = NDArray[np.float64]


def latent_samples(draw: Draw, X: Array, trend: Trend) -> Array:
    """Latent functions of a draw at weights mu_n +- root columns, (2R, T, n).

    The columns of root are exact draws divided by sqrt(R); both signs are used, so that the mean
    over samples is the conditional mean.
    """
    Phi = features_of(draw, X, trend)
    R = draw.root.shape[2]
    mean = draw.mu_n @ Phi
    if not draw.root.any():
        return mean[None]
    steps = np.stack([root.T @ Phi for root in draw.root], axis=1) * np.sqrt(R)
    return np.concatenate([mean + steps, mean - steps])


def probability_samples(
    draws: Sequence[Draw], X: Array, trend: Trend, tree: ClassTree
) -> Iterator[Array]:
    """Samples of the class probabilities of each draw, (2R, C, n), in the order of the tree."""
    for draw in draws:
        yield class_probabilities(tree, latent_samples(draw, X, trend))


def mean_probabilities(draws: Sequence[Draw], X: Array, trend: Trend, tree: ClassTree) -> Array:
    """Posterior mean of the class probabilities, (C, n), in the order of the tree."""
    total: Array | None = None
    for sample in probability_samples(draws, X, trend, tree):
        mean = sample.mean(axis=0)
        total = mean if total is None else total + mean
    assert total is not None
    return total / len(draws)
