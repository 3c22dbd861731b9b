"""Whole functions from the posterior: the latent function at one draw of the weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from banklearn.model.features import Trend
from banklearn.posterior.draws import Draw
from banklearn.posterior.predict import features_of

Array = NDArray[np.float64]


def draw_weights(draw: Draw, rng: np.random.Generator) -> Array:
    """One draw of the weights of all tasks given the frequencies, (T, P)."""
    T, P, R = draw.root.shape
    if R == P:
        step = np.stack([root @ rng.standard_normal(R) for root in draw.root])
    else:
        # The columns of a sketch are exact draws divided by sqrt(R); either sign will do.
        step = np.stack([root[:, int(rng.integers(R))] for root in draw.root])
        step *= np.sqrt(R) * rng.choice((-1.0, 1.0), size=(T, 1))
    return np.asarray(draw.mu_n + np.sqrt(draw.noise) * step)


def function_at(draw: Draw, beta: Array, X: Array, trend: Trend) -> Array:
    """f_t(x) = phi(x)' beta_t at rows X (n, d) in model units, (T, n)."""
    return np.asarray(beta @ features_of(draw, X, trend))


def functions_by_chain(draws: Sequence[Draw], X: Array, trend: Trend) -> Array:
    """Mean functions given each draw at rows X in model units, (chains, draws, n).

    Tasks are added up; a chain with more draws than another is cut at its start.
    """
    numbers = sorted({draw.chain for draw in draws})
    chains = [[draw for draw in draws if draw.chain == number] for number in numbers]
    least = min(map(len, chains))
    return np.array(
        [
            [function_at(draw, draw.mu_n, X, trend).sum(axis=0) for draw in chain[-least:]]
            for chain in chains
        ]
    )


def evenly(draws: Sequence[Draw], most: int) -> list[Draw]:
    """At most so many draws, evenly spaced."""
    if len(draws) <= most:
        return list(draws)
    return [draws[i] for i in np.linspace(0, len(draws) - 1, most).round().astype(int)]
