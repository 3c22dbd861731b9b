r"""Classification by Polya-Gamma augmentation (Polson, Scott and Windle, 2013), any number of classes.

C classes are broken off a stick one after another (Linderman, Johnson and Adams, 2015): task t
asks, of the rows not in classes 0..t-1, whether the row is in class t,

    P(class t | x) = sigmoid(f_t(x)) prod_{s<t} (1 - sigmoid(f_s(x))),   t = 0..C-2,

so that two classes are ordinary logistic regression and C classes are C - 1 logistic regressions
that share frequencies, spectral density and lam. Given w_i ~ PG(1, f_t(x_i)) each task is a
Gaussian regression, its weights integrate out exactly, and rare classes cost little because a
task sees only the rows that are left. Classes are ordered by decreasing frequency.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from polyagamma import random_polyagamma

from banklearn.gram import Block, Gram, Working, WorkingFunction
from banklearn.model.evidence import Ridge, augmented_log_evidence
from banklearn.numerics.linalg import solve_lower_transposed
from banklearn.numerics.streams import Purpose, Streams

Array = NDArray[np.float64]


def log_sigmoid(x: Array) -> Array:
    """log(1 / (1 + exp(-x))) without overflow."""
    return -np.logaddexp(0.0, -x)


class Logistic:
    """Labels y in 0..C-1, the position of a class on the stick.

    Working weights are Polya-Gamma variables drawn from streams addressed by block, so they do
    not depend on how blocks are spread over engines. In the statistic, tt carries the log
    likelihood of the current weights beta: nothing else needs that place.
    """

    fixed_weights = False

    def __init__(self, n_classes: int) -> None:
        self.tasks = n_classes - 1

    def working(self, beta: Array | None, streams: Streams, sweep: int) -> WorkingFunction:
        """w_i | beta ~ PG(weight_i, f_t(x_i)), targets (label - 1/2) weight_i / w_i."""
        assert beta is not None

        def draw(block: Block, Phi: Array) -> Sequence[Working]:
            rng = streams.at(Purpose.AUGMENTATION, sweep, block.index)
            return [self._task(t, beta[t], block, Phi, rng) for t in range(self.tasks)]

        return draw

    def _task(
        self, t: int, beta: Array, block: Block, Phi: Array, rng: np.random.Generator
    ) -> Working:
        rows = None if t == 0 else np.flatnonzero(block.y >= t)
        f = beta @ Phi
        label = block.y == t
        weight = block.weight
        if rows is not None:
            f, label = f[rows], label[rows]
            weight = None if weight is None else weight[rows]
        if len(f) == 0:
            return Working(np.empty(0), np.empty(0), 0.0, 0.0, rows)
        w = random_polyagamma(1.0 if weight is None else weight, f, random_state=rng)
        log_p = log_sigmoid(np.where(label, f, -f))
        kappa = np.where(label, 0.5, -0.5)
        if weight is None:
            return Working(w, kappa, float(log_p.sum()), float(len(f)), rows)
        return Working(w, weight * kappa, float(weight @ log_p), float(weight.sum()), rows)

    def log_evidence(self, gram: Gram, solutions: Sequence[Ridge]) -> float:
        """log p(labels, w | W, lam) up to a constant, with the weights integrated out."""
        return sum(augmented_log_evidence(s) for s in solutions)

    def accept_form(self, gram: Gram) -> tuple[float, float]:
        """The noise is known."""
        return 0.0, 0.0

    def draw_weights(
        self, gram: Gram, solutions: Sequence[Ridge], rng: np.random.Generator
    ) -> Array | None:
        """beta_t | W, lam, w ~ N(mu_n, A^-1)."""
        return np.stack(
            [
                s.mu_n + solve_lower_transposed(s.L, rng.standard_normal((len(s.v), 1)))[:, 0]
                for s in solutions
            ]
        )
