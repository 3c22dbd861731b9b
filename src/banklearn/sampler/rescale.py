"""The weights of a classifier and lam, rescaled together.

Polya-Gamma variables remember how large the latent function was: thousands of them fix its size to
a fraction of a per cent, and lam with it, so that Gibbs sampling takes hundreds of sweeps to find
the size that labels which are nearly separable want. Here they are integrated out. Along the orbit
(beta, lam) -> (c beta, lam / c^2) the prior of the weights is constant, since its normalising
constant cancels the Jacobian; what is left is the likelihood of c f and the law of log lam.

c is drawn from a lattice of log c in which the current point has a random place, so that every
point of the lattice would offer the same lattice, and the choice among its points is an exact
Gibbs update (Liu and Sabatti, 2000). The spacing is random: points both near and far are offered.
One pass over the data gives the likelihood at all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.base import Engine
from banklearn.gram import Block, Ops, latent_values
from banklearn.likelihoods.base import Augmented
from banklearn.model.features import Trend
from banklearn.model.joint import State
from banklearn.model.priors import Prior

Array = NDArray[np.float64]

#: Points of the lattice.
POINTS = 9
#: Smallest and largest spacing of log c; its logarithm is uniform.
SPACINGS = (0.005, 0.3)


class LikelihoodSum:
    """The log likelihood at several multiples of the latent function, as a sum over blocks."""

    def __init__(
        self, W: Array, trend: Trend, beta: Array, likelihood: Augmented, factors: Array
    ) -> None:
        self.W, self.trend, self.beta = W, trend, beta
        self.likelihood, self.factors = likelihood, factors

    def zero(self, ops: Ops) -> list[Any]:
        """One number for each factor."""
        return [np.zeros(len(self.factors))]

    def add(self, ops: Ops, total: list[Any], block: Block) -> None:
        """Add one block."""
        f = latent_values(ops, block, self.W, self.trend, self.beta)
        (sums,) = total
        sums += self.likelihood.log_likelihoods(block, f, self.factors)

    def finish(self, ops: Ops, total: list[Any]) -> Array:
        """The sums."""
        (sums,) = total
        return np.asarray(sums)


def draw_lattice(rng: np.random.Generator) -> Array:
    """log c at the points of a lattice; the current point, 0, has a random place in it."""
    low, high = np.log(SPACINGS)
    spacing = np.exp(rng.uniform(low, high))
    return np.asarray(spacing * (np.arange(POINTS) - rng.integers(POINTS)), dtype=np.float64)


def log_law(log_c: Array, log_likelihoods: Array, lam: float, prior: Prior) -> Array:
    """Unnormalised log density of log c: the likelihood and the law of log lam."""
    there = [lam * float(np.exp(-2.0 * v)) for v in log_c]
    # A lam that no number can hold is out of reach: infinity has no density either.
    law = log_likelihoods + [prior.log_lam(v) if v > 0.0 else -np.inf for v in there]
    return np.where(np.isfinite(law), law, -np.inf)


def update(
    state: State,
    beta: Array,
    engine: Engine,
    likelihood: Augmented,
    trend: Trend,
    prior: Prior,
    rng: np.random.Generator,
) -> tuple[State, Array]:
    """Draw c; returns the state with its new lam, and the weights."""
    log_c = draw_lattice(rng)
    values = engine.sum(LikelihoodSum(state.W, trend, beta, likelihood, np.exp(log_c)))
    law = log_law(log_c, values, state.lam, prior)
    # Gumbel's trick: the largest of these is a draw from the normalised law.
    chosen = log_c[int(np.argmax(law + rng.gumbel(size=POINTS)))]
    return state.with_(lam=state.lam * float(np.exp(-2.0 * chosen))), beta * np.exp(chosen)
