"""A lower bound of the logistic likelihood with normal form (Jaakkola and Jordan, 2000).

For any xi > 0, with a = tanh(xi / 2) / (2 xi),

    log sigmoid(s f) >= log sigmoid(xi) - xi / 2 + a xi^2 / 2 + s f / 2 - a f^2 / 2,   s = +-1,

and both touch at f = +-xi. a is also the mean of a Polya-Gamma variable PG(1, xi): the bound has
the form that the augmentation gives, without its randomness, so that weights integrate out and
frequencies have a gradient as in regression. xi^2 = E f^2 makes the bound of the evidence highest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from banklearn.gram import Block, Gram, Latent, Working, WorkingFunction
from banklearn.likelihoods.base import Likelihood
from banklearn.likelihoods.logistic import log_sigmoid, look
from banklearn.model.class_tree import ClassTree

Array = NDArray[np.float64]


def curvature(xi: Array) -> Array:
    """tanh(xi / 2) / (2 xi), which is 1/4 at zero."""
    small = np.abs(xi) < 1e-4
    safe = np.where(small, 1.0, xi)
    return np.where(small, 0.25 - xi**2 / 48.0, np.tanh(0.5 * safe) / (2.0 * safe))


def touching(tree: ClassTree, mean: Array, roots: Sequence[Array]) -> WorkingFunction:
    """The highest bound where the weights of task t are N(mean[t], roots[t] roots[t]').

    mean (T, P), roots (P, R) for each task. In the statistic tt carries the part without f.
    """

    def touch(block: Block, latent: Latent) -> Sequence[Working]:
        f = latent(mean)
        return [
            _task(tree, t, np.sqrt(f[t] ** 2 + (latent(root.T) ** 2).sum(axis=0)), block)
            for t, root in enumerate(roots)
        ]

    return touch


def _task(tree: ClassTree, t: int, xi: Array, block: Block) -> Working:
    view = look(tree, t, xi, block)
    xi, w = view.f, np.ones(len(view.f)) if view.weight is None else view.weight
    a = curvature(xi)
    rest = float(w @ (log_sigmoid(xi) - 0.5 * xi + 0.5 * a * xi**2))
    return Working(w * a, w * (view.label - 0.5), rest, float(w.sum()), view.rows)


def log_bound(likelihood: Likelihood, gram: Gram, log_evidence: float) -> float:
    """log p(Y | X, W, lam), or its lower bound where it has no closed form."""
    return log_evidence if likelihood.fixed_weights else log_evidence + float(gram.tt.sum())
