r"""Classification by Polya-Gamma augmentation (Polson, Scott and Windle, 2013), any classes.

C classes are told apart along a tree (:mod:`banklearn.model.class_tree`): task t is its node t, and
asks of the rows whose class lies in the node's range whether it lies in the first part,

    P(first part | x, in the range) = sigmoid(f_t(x)),   t = 0..C-2,

so that two classes are ordinary logistic regression and C classes are C - 1 logistic regressions
that share frequencies, spectral density and lam. Given w_i ~ PG(1, f_t(x_i)) each task is a
Gaussian regression, its weights integrate out exactly, and rare classes cost little because a
task sees only the rows of its range. Classes are ordered by decreasing frequency.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from banklearn.gram import BLOCK_ROWS, Block, Gram, Latent, Working, WorkingFunction
from banklearn.model.class_tree import ClassTree, stick
from banklearn.model.evidence import Ridge, augmented_log_evidence
from banklearn.numerics.linalg import solve_lower_transposed
from banklearn.numerics.polya_gamma import draw_polya_gamma
from banklearn.numerics.streams import Purpose, Streams
from banklearn.numerics.weighted import mean_and_std

Array = NDArray[np.float64]


def log_sigmoid(x: Array) -> Array:
    """log(1 / (1 + exp(-x))) without overflow."""
    return -np.logaddexp(0.0, -x)


class _View(NamedTuple):
    """What one task sees of a block: latent values, labels in {0, 1}, weights, rows."""

    f: Array
    label: Array
    weight: Array | None
    rows: NDArray[np.intp] | None

    @property
    def log_likelihood(self) -> float:
        log_p = log_sigmoid(np.where(self.label > 0, self.f, -self.f))
        return float(log_p.sum() if self.weight is None else self.weight @ log_p)


def look(tree: ClassTree, t: int, f: Array, block: Block) -> _View:
    """What task t sees of a block with latent values f (n,)."""
    first, middle, last = tree.nodes[t]
    label, weight = (block.y < middle).astype(np.float64), block.weight
    if t == 0:
        return _View(f, label, weight, None)
    rows = np.flatnonzero((block.y >= first) & (block.y < last))
    return _View(f[rows], label[rows], None if weight is None else weight[rows], rows)


def _newton_task(view: _View) -> Working:
    p = expit(view.f)
    w = np.ones_like(p) if view.weight is None else view.weight
    A = np.maximum(w * p * (1.0 - p), 1e-12)
    At = A * view.f + w * (view.label - p)
    return Working(A, At, view.log_likelihood, float(w.sum()), view.rows)


class Logistic:
    """Labels y in 0..C-1, the position of a class in the order of the tree.

    A number of classes stands for the stick of so many.

    Working weights are Polya-Gamma variables drawn from streams addressed by cells of rows, so they
    do not depend on how blocks are cut or spread over engines. In the statistic, tt carries the log
    likelihood of the current weights beta: nothing else needs that place.
    """

    fixed_weights = False

    def __init__(self, classes: ClassTree | int) -> None:
        self.tree = stick(classes) if isinstance(classes, int) else classes
        self.tasks = len(self.tree.nodes)

    def start_target(self, y: Array, weight: Array | None) -> Array:
        """The indicator of the first class, standardised."""
        first = np.where(y == 0, 1.0, 0.0)
        mean, std = mean_and_std(first[:, None], weight)
        return np.asarray((first - mean) / np.maximum(std, 1e-12))

    def start_lam(self, lam: float) -> float:
        """Log odds with a prior deviation between 1 and 30: lam is in other units there."""
        return min(max(lam, 1e-3), 1.0)

    def working(self, beta: Array | None, streams: Streams, sweep: int) -> WorkingFunction:
        """w_i | beta ~ PG(weight_i, f_t(x_i)), targets (label - 1/2) weight_i / w_i."""
        assert beta is not None

        def draw(block: Block, latent: Latent) -> Sequence[Working]:
            f = latent(beta)
            return [self._task(t, f[t], block, streams, sweep) for t in range(self.tasks)]

        return draw

    def newton(self, beta: Array) -> WorkingFunction:
        """Curvature p (1 - p) and targets f + (label - p) / (p (1 - p))."""

        def curvature(block: Block, latent: Latent) -> Sequence[Working]:
            f = latent(beta)
            return [_newton_task(look(self.tree, t, f[t], block)) for t in range(self.tasks)]

        return curvature

    def _task(self, t: int, f: Array, block: Block, streams: Streams, sweep: int) -> Working:
        view = look(self.tree, t, f, block)
        rows = np.arange(len(block.y)) if view.rows is None else view.rows
        shape = np.ones(len(rows)) if view.weight is None else view.weight
        w = np.empty(len(rows))
        for cell in range(0, len(block.y), BLOCK_ROWS):
            part = slice(*np.searchsorted(rows, (cell, cell + BLOCK_ROWS)))
            if part.start == part.stop:
                continue
            # Addressed by the cell's first row: the same draws however blocks are cut.
            rng = streams.at(Purpose.AUGMENTATION, sweep, (block.start + cell) * self.tasks + t)
            w[part] = draw_polya_gamma(shape[part], view.f[part], rng)
        return Working(
            w, shape * (view.label - 0.5), view.log_likelihood, float(shape.sum()), view.rows
        )

    def log_likelihoods(self, block: Block, f: Array, factors: Array) -> Array:
        """Of the labels, at each multiple of the latent values."""
        views = [look(self.tree, t, f[t], block) for t in range(self.tasks)]
        return np.array([sum(v._replace(f=c * v.f).log_likelihood for v in views) for c in factors])

    def log_evidence(self, gram: Gram, solutions: Sequence[Ridge]) -> float:
        """log p(labels, w | W, lam) up to a constant, with the weights integrated out."""
        return sum(augmented_log_evidence(s) for s in solutions)

    def accept_form(self, gram: Gram) -> tuple[float, float]:
        """The noise is known."""
        return 0.0, 0.0

    def residual_factor(self, gram: Gram, solutions: Sequence[Ridge]) -> float:
        """1: the noise is known."""
        return 1.0

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
