"""What all rivals share once their frequencies are chosen: the last fit and the prediction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from banklearn.estimators.data import (
    refuse_one_class,
    rows_and_labels,
    rows_and_numbers,
    validate_data,
)
from banklearn.posterior.scaling import TargetScaling

from .chunks import Array, gram, row_chunks, weighted_features
from .logistic import Blocks, fit_logistic
from .options import check_options
from .ridge import ridge_posterior
from .scaling import LARGEST, Scaler, fit_target
from .selection import class_probabilities, ridge_penalty, with_intercept


class FourierRegressor(RegressorMixin, BaseEstimator):
    """Ridge regression on weighted Fourier features; subclasses choose W, amplitude and lam.

    y = mean + scale (phi(x)'beta + noise), beta | noise ~ N(0, noise / lam I),
    noise ~ IG(a0, b0); inputs and target are scaled inside.
    """

    a0: float
    b0: float
    chunk_rows: int
    scaler_: Scaler

    def _prepare(self, X: Any, y: Any) -> tuple[Array, Array]:
        """Validate X (N, d) and standardise y (N,)."""
        check_options(self)
        X, y = rows_and_numbers(self, X, y, ensure_min_samples=2)
        scaling = fit_target(y)
        self.y_mean_, self.y_scale_ = scaling.shift, scaling.scale
        return X, np.asarray((y - self.y_mean_) / self.y_scale_)

    def _finish(self, X: Array, y: Array, W: Array, amplitude: Array | None, lam: float) -> None:
        """The posterior of weights and noise on all rows of the scaled X and y."""
        self.W_, self.amplitude_, self.lam_ = W, amplitude, lam
        stats = gram(X, y[:, None], W, amplitude, self.chunk_rows)
        self.posterior_ = ridge_posterior(stats, lam, self.a0, self.b0)
        # A variance may overflow where the deviation does not.
        noise = self.posterior_.noise * self.y_scale_ * self.y_scale_
        self.noise_ = min(noise, LARGEST)

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Posterior mean of y at X (N, d); with ``return_std`` also its standard deviation."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        mean, std = np.empty(X.shape[0]), np.empty(X.shape[0])
        for rows in row_chunks(X.shape[0], self.chunk_rows):
            Phi = weighted_features(self.scaler_(X[rows]), self.W_, self.amplitude_)
            mean[rows] = self.posterior_.mean(Phi)
            if return_std:
                std[rows] = self.posterior_.std(Phi)
        scaling = TargetScaling(self.y_mean_, self.y_scale_)
        return (scaling.value(mean), scaling.spread(std)) if return_std else scaling.value(mean)


def one_hot(codes: np.ndarray, n_classes: int) -> Array:
    """One column of 0/1 targets per problem: one for two classes, else one class against rest."""
    if n_classes == 2:
        return codes[:, None].astype(float)
    return (codes[:, None] == np.arange(n_classes)).astype(float)


class FourierClassifier(ClassifierMixin, BaseEstimator):
    """Logistic regression on weighted Fourier features; subclasses choose W, amplitude and lam.

    P(y = 1 | x) = sigmoid(phi(x)'beta + beta_0), beta ~ N(0, I / lam); more than two classes are
    one-against-rest problems with normalised probabilities.  Inputs are scaled inside.
    """

    chunk_rows: int
    scaler_: Scaler

    def _prepare(self, X: Any, y: Any) -> tuple[Array, np.ndarray]:
        """Validate X (N, d); class numbers (N,) from the labels y."""
        check_options(self)
        X, y = rows_and_labels(self, X, y, ensure_min_samples=2)
        classes, codes = np.unique(y, return_inverse=True)
        refuse_one_class(classes)
        self.classes_ = classes
        return X, codes

    def _finish(self, X: Array, T: Array, W: Array, amplitude: Array | None, lam: float) -> None:
        """The mode of the weights on all rows of the scaled X, one Newton run per column of T."""
        self.W_, self.amplitude_, self.lam_ = W, amplitude, lam
        self.beta_ = self._mode(X, T, lam)

    def _mode(self, X: Array, T: Array, lam: float) -> Array:
        """Weights (2M + 1, C) at the mode for the current W and amplitudes, intercept last."""
        penalty = ridge_penalty(lam, 2 * self.W_.shape[0], X.shape[0])
        fits = [fit_logistic(self._blocks(X, t), penalty, np.zeros(penalty.size)) for t in T.T]
        return np.column_stack([fit.beta for fit in fits])

    def _blocks(self, X: Array, t: Array) -> Blocks:
        def blocks() -> Iterator[tuple[Array, Array]]:
            for rows in row_chunks(X.shape[0], self.chunk_rows):
                Phi = weighted_features(X[rows], self.W_, self.amplitude_)
                yield with_intercept(Phi), t[rows]

        return blocks

    def _logits(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        F = np.empty((X.shape[0], self.beta_.shape[1]))
        for rows in row_chunks(X.shape[0], self.chunk_rows):
            Phi = weighted_features(self.scaler_(X[rows]), self.W_, self.amplitude_)
            F[rows] = Phi @ self.beta_[:-1] + self.beta_[-1]
        return F

    def _probabilities(self, F: Array) -> Array:
        return class_probabilities(F)

    def decision_function(self, X: Any) -> Array:
        """Logits, (N,) for two classes and (N, n_classes) otherwise."""
        F = self._logits(X)
        return F[:, 0] if F.shape[1] == 1 else F

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities (N, n_classes) at the mode of the weights."""
        return self._probabilities(self._logits(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of :meth:`predict_proba`, finite where that is zero."""
        return np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        winners = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[winners])
