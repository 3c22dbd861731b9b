"""Class probabilities: averages over draws of frequencies and weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

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


def stick_probabilities(f: Array) -> Array:
    """Class probabilities (..., T + 1, n) in stick order from latent functions (..., T, n)."""
    p = expit(f)
    rest = np.cumprod(expit(-f), axis=-2)
    before = np.concatenate([np.ones_like(rest[..., :1, :]), rest[..., :-1, :]], axis=-2)
    return np.concatenate([p * before, rest[..., -1:, :]], axis=-2)


def probability_samples(draws: Sequence[Draw], X: Array, trend: Trend) -> Iterator[Array]:
    """Samples of the class probabilities of each draw, (2R, C, n)."""
    for draw in draws:
        yield stick_probabilities(latent_samples(draw, X, trend))


def mean_probabilities(draws: Sequence[Draw], X: Array, trend: Trend) -> Array:
    """Posterior mean of the class probabilities, (C, n)."""
    total: Array | None = None
    for sample in probability_samples(draws, X, trend):
        mean = sample.mean(axis=0)
        total = mean if total is None else total + mean
    assert total is not None
    return total / len(draws)
