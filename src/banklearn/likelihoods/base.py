"""What the sampler asks of a likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from banklearn.gram import Block, Gram, WorkingFunction
from banklearn.model.evidence import Ridge
from banklearn.numerics.streams import Streams

Array = NDArray[np.float64]


class Likelihood(Protocol):
    """Given its working weights and targets, the model is a Bayesian linear regression."""

    #: Number of weight vectors beta.
    tasks: int
    #: True when row weights never change, so that the statistic of the current W is carried over.
    fixed_weights: bool

    def start_target(self, y: Array, weight: Array | None) -> Array:
        """What stands for y where the starting point is chosen by regression."""
        ...

    def start_lam(self, lam: float) -> float:
        """Where lam starts, given the best one of that regression."""
        ...

    def working(self, beta: Array | None, streams: Streams, sweep: int) -> WorkingFunction:
        """Row weights and targets of a block in this sweep; beta (T, P): the current weights."""
        ...

    def newton(self, beta: Array) -> WorkingFunction:
        """Weights and targets whose regression is Newton's step for the mode of the weights."""
        ...

    def log_evidence(self, gram: Gram, solutions: Sequence[Ridge]) -> float:
        """log p(targets | W, lam) with the weights integrated out, given the factored equations."""
        ...

    def accept_form(self, gram: Gram) -> tuple[float, float]:
        """(a_n, rest) of the accept step: a_n = 0 when the noise is known."""
        ...

    def residual_factor(self, gram: Gram, solutions: Sequence[Ridge]) -> float:
        """Expected precision of the noise given everything: a_n / b_n, or 1 where it is known."""
        ...

    def draw_weights(
        self, gram: Gram, solutions: Sequence[Ridge], rng: np.random.Generator
    ) -> Array | None:
        """beta (T, P) from its law given everything else, where later steps need it."""
        ...


@runtime_checkable
class Augmented(Protocol):
    """A likelihood whose working weights are auxiliary variables that can be integrated out."""

    def log_likelihoods(self, block: Block, f: Array, factors: Array) -> Array:
        """log p(y | c f) of a block at each factor c, where f (T, n) are latent values."""
        ...
