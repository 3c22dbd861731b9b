"""A fitted estimator reduced to arrays and elementary operations, for serving."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from banklearn.model.class_tree import ClassTree, class_probabilities
from banklearn.model.features import trend_columns
from banklearn.posterior.column_names import refuse_other_columns
from banklearn.posterior.scaling import InputScaling, TargetScaling

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PointModel:
    """Arrays of a predictor without its uncertainty: S draws, M frequencies, d varying inputs.

    Rows are scaled as in training, v = scaling(x). Draw s then gives q numbers per row::

        f_s = offset_s + v linear_s + cos(v W_s') cosine_s + sin(v W_s') sine_s

    with W (S, M, d), offset (S, q), linear (S, d, q), cosine and sine (S, M, q). A regression has
    q = 1, and the mean over s goes back to the user's units: target.value(mean). A classification
    has q = R T: R samples of the weights with T latent functions each, one for each node of the
    tree of classes, whose class probabilities are averaged over s and R; order is the position of
    each class in the tree. names are those of the inputs, if they had some.
    """

    scaling: InputScaling
    target: TargetScaling | None
    W: Array
    offset: Array
    linear: Array
    cosine: Array
    sine: Array
    tree: ClassTree | None
    order: NDArray[np.int64] | None
    classes: Any
    names: Any = None

    def __call__(self, X: Any) -> Array:
        """The mean (n,) of a regression, or class probabilities (n, C)."""
        refuse_other_columns(X, self.names)
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != len(self.scaling.used):
            raise ValueError(f"X must have shape (n, {len(self.scaling.used)}), not {X.shape}.")
        v = self.scaling(X)
        total: Any = 0.0
        for s in range(len(self.W)):
            angle = v @ self.W[s].T
            f = self.offset[s] + v @ self.linear[s]
            f = f + np.cos(angle) @ self.cosine[s] + np.sin(angle) @ self.sine[s]
            total = total + (f[:, 0] if self.tree is None else self._probabilities(f, self.tree))
        mean = np.asarray(total / len(self.W))
        return mean if self.target is None else self.target.value(mean)

    def _probabilities(self, f: Array, tree: ClassTree) -> Array:
        """Mean class probabilities (n, C) of the samples in f (n, R T)."""
        samples = f.T.reshape(-1, len(tree.nodes), len(f))
        return np.asarray(class_probabilities(tree, samples).mean(axis=0)[self.order].T)


def point_model(estimator: Any, max_draws: int | None = None) -> PointModel:
    """The posterior mean of a fitted estimator as arrays.

    With all draws (None) it predicts what ``predict`` or ``predict_proba`` does, to rounding;
    fewer draws, evenly spaced, are a smaller and quicker model and a rougher average.
    """
    check_is_fitted(estimator)
    draws = estimator.draws_
    if max_draws is not None and max_draws < 1:
        raise ValueError(f"max_draws must be at least 1, but is {max_draws}.")
    if max_draws is not None and len(draws) > max_draws:
        draws = [draws[i] for i in np.linspace(0, len(draws) - 1, max_draws).round().astype(int)]
    classifier = hasattr(estimator, "classes_")
    W = np.stack([draw.W for draw in draws])
    _, M, d = W.shape
    weights = np.stack([_samples(draw) if classifier else draw.mu_n.T for draw in draws])
    offset = np.zeros((len(W), weights.shape[2]))
    linear = np.zeros((len(W), d, weights.shape[2]))
    head = trend_columns(estimator.trend_, d)
    if head:
        offset = weights[:, 0]
    if head > 1:
        linear = weights[:, 1:head] / np.sqrt(d)
    cosine = weights[:, head::2] / np.sqrt(M)
    sine = weights[:, head + 1 :: 2] / np.sqrt(M)
    return PointModel(
        scaling=estimator.input_scaling_,
        target=None if classifier else estimator.target_scaling_,
        W=W,
        offset=offset,
        linear=linear,
        cosine=cosine,
        sine=sine,
        tree=estimator.tree_ if classifier else None,
        order=np.argsort(estimator.stick_) if classifier else None,
        classes=estimator.classes_ if classifier else None,
        names=getattr(estimator, "feature_names_in_", None),
    )


def _samples(draw: Any) -> Array:
    """Samples mean +- root of the weights as columns, (P, R T), tasks running fastest."""
    samples = draw.mu_n[:, :, None]
    if draw.root.any():
        step = draw.root * np.sqrt(draw.root.shape[2])
        samples = np.concatenate([samples + step, samples - step], axis=2)
    return np.asarray(samples.transpose(1, 2, 0).reshape(samples.shape[1], -1))
