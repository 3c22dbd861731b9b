"""Regression: normal noise of unknown variance, integrated out together with the weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from banklearn.gram import Block, Gram, Latent, Working, WorkingFunction
from banklearn.model.evidence import Ridge, gaussian_log_evidence, posterior_rate
from banklearn.numerics.streams import Streams

Array = NDArray[np.float64]


def _working(block: Block, latent: Latent) -> Sequence[Working]:
    y, w = block.y, block.weight
    if w is None:
        return (Working(None, y, float(y @ y), float(len(y))),)
    return (Working(w, w * y, float(y @ (w * y)), float(w.sum())),)


class Gaussian:
    """Y ~ N(Phi beta, noise), beta | noise ~ N(0, noise / lam I), noise ~ InverseGamma(a0, b0)."""

    tasks = 1
    fixed_weights = True

    def __init__(self, a0: float, b0: float) -> None:
        self.a0, self.b0 = a0, b0

    def start_target(self, y: Array, weight: Array | None) -> Array:
        """The target itself."""
        return y

    def start_lam(self, lam: float) -> float:
        """The same: it was this regression."""
        return lam

    def working(self, beta: Array | None, streams: Streams, sweep: int) -> WorkingFunction:
        """Sample weights and targets as they are."""
        return _working

    def newton(self, beta: Array) -> WorkingFunction:
        """The regression itself."""
        return _working

    def log_evidence(self, gram: Gram, solutions: Sequence[Ridge]) -> float:
        """Eq. modev_int."""
        return gaussian_log_evidence(
            solutions[0], float(gram.tt[0]), float(gram.n[0]), self.a0, self.b0
        )

    def accept_form(self, gram: Gram) -> tuple[float, float]:
        """a_n = a_0 + n/2 and b_0 + Y'Y/2."""
        return self.a0 + 0.5 * float(gram.n[0]), self.b0 + 0.5 * float(gram.tt[0])

    def residual_factor(self, gram: Gram, solutions: Sequence[Ridge]) -> float:
        """a_n / b_n."""
        a_n = self.a0 + 0.5 * float(gram.n[0])
        return a_n / posterior_rate(solutions[0], float(gram.tt[0]), self.b0)

    def draw_weights(
        self, gram: Gram, solutions: Sequence[Ridge], rng: np.random.Generator
    ) -> Array | None:
        """Not needed: nothing conditions on the weights."""
        return None
