"""BankFeatures: the learned feature map as a transformer."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from banklearn.engines.choose import to_memory
from banklearn.estimators import parameters as check
from banklearn.estimators.data import validate_data
from banklearn.model.features import fourier_features
from banklearn.posterior.draws import Draw
from banklearn.posterior.predict import row_blocks

Array = NDArray[np.float64]


class BankFeatures(TransformerMixin, BaseEstimator):
    """Random Fourier features of a kernel that is learned from a target.

    A supervised stand-in for :class:`sklearn.kernel_approximation.RBFSampler`: fit learns the
    kernel, transform gives features whose inner products are the mean kernel of at most max_draws
    draws, so that any linear model, SVM or clustering works with it. Features of S draws stand
    side by side, each divided by sqrt(S M)::

        k(x, x') = 1/S sum_s 1/M sum_j cos(W_sj'(x - x')) = phi(x)'phi(x')

    Where the model chose a linear trend, the scaled inputs stand before them.

    Parameters
    ----------
    estimator : BankRegressor or BankClassifier, default=None
        What learns the kernel; it is cloned. None takes a BankClassifier where the target is
        text, truth values or two numbers, and a BankRegressor otherwise.
    max_draws : int, default=8
        Draws whose features are used, evenly spaced among those kept. One draw gives 2M
        features; several average over the uncertainty of the kernel.
    random_state : int, RandomState or None
        Seed for the default estimator, or for one that has none.

    Attributes
    ----------
    estimator_ : the fitted estimator.
    n_features_out_ : int
        Number of features.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import RidgeCV
    >>> from sklearn.pipeline import make_pipeline
    >>> from banklearn import BankFeatures, BankRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> small = BankRegressor(16, n_warmup=20, n_draws=8, random_state=0)
    >>> model = make_pipeline(BankFeatures(small, max_draws=4), RidgeCV())
    >>> round(model.fit(X, y).score(X, y), 1)
    0.5
    """

    def __init__(
        self, estimator: Any = None, *, max_draws: int = 8, random_state: Any = None
    ) -> None:
        self.estimator = estimator
        self.max_draws = max_draws
        self.random_state = random_state

    @classmethod
    def from_fitted(cls, estimator: Any, max_draws: int = 8) -> BankFeatures:
        """The feature map of an estimator that is fitted already; nothing is fitted again."""
        check_is_fitted(estimator)
        features = cls(estimator, max_draws=max_draws)
        check.whole("max_draws", max_draws, 1)
        return features._keep(estimator)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BankFeatures:
        """Learn the kernel from X (N, d) and y (N,); a row of weight w counts as w rows."""
        check.whole("max_draws", self.max_draws, 1)
        self._check_estimator()
        if y is None:
            raise ValueError(
                "BankFeatures requires y to be passed, but the target y is None: the kernel is "
                "learned from a target. RBFSampler does without one."
            )
        return self._keep(self._unfitted(y).fit(X, y, sample_weight=sample_weight))

    def transform(self, X: Any) -> Array:
        """Features (n, n_features_out_) of the rows of X."""
        check_is_fitted(self)
        X = validate_data(self, to_memory(X), dtype=np.float64, reset=False)
        learned = self.estimator_
        chosen = self._draws
        out = np.empty((len(X), self.n_features_out_))
        for part in row_blocks(X):
            rows = learned.input_scaling_(X[part])
            trend = self._n_trend
            out[part, :trend] = rows[:, :trend] / np.sqrt(rows.shape[1])
            for s, draw in enumerate(chosen):
                begin = trend + 2 * len(draw.W) * s
                block = fourier_features(rows, draw.W) / np.sqrt(len(chosen))
                out[part, begin : begin + block.shape[1]] = block
        return out

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names: ``trend_x``, then ``draw0_cos0``, ``draw0_sin0``, ``draw0_cos1`` and so on."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{i}" for i in range(self.n_features_in_)]
        if input_features is not None and list(input_features) != list(names):
            if hasattr(self, "feature_names_in_") or len(input_features) != len(names):
                raise ValueError("input_features is not equal to feature_names_in_")
            names = list(input_features)
        used = np.flatnonzero(self.estimator_.input_scaling_.used)
        trend = [f"trend_{names[i]}" for i in used[: self._n_trend]]
        fourier = [
            f"draw{s}_{wave}{j}"
            for s, draw in enumerate(self._draws)
            for j in range(len(draw.W))
            for wave in ("cos", "sin")
        ]
        return np.array([*trend, *fourier], dtype=object)

    @property
    def _n_trend(self) -> int:
        """Scaled inputs that stand before the Fourier features."""
        linear = self.estimator_.trend_ == "linear"
        return int(self.estimator_.input_scaling_.used.sum()) if linear else 0

    def _check_estimator(self) -> None:
        from banklearn.estimators.classifier import BankClassifier
        from banklearn.estimators.regressor import BankRegressor

        if not isinstance(self.estimator, BankRegressor | BankClassifier | None):
            raise TypeError(
                "estimator must be a BankRegressor or a BankClassifier, not "
                f"{type(self.estimator).__name__}."
            )

    def _unfitted(self, y: Any) -> Any:
        from banklearn.estimators.classifier import BankClassifier
        from banklearn.estimators.regressor import BankRegressor

        if self.estimator is None:
            kind = BankClassifier if _are_labels(to_memory(y)) else BankRegressor
            return kind(random_state=self.random_state)
        estimator = clone(self.estimator)
        if estimator.random_state is None:
            estimator.set_params(random_state=self.random_state)
        return estimator

    def _keep(self, estimator: Any) -> BankFeatures:
        self.estimator_ = estimator
        self.n_features_in_ = estimator.n_features_in_
        if hasattr(estimator, "feature_names_in_"):
            self.feature_names_in_ = estimator.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit
        # Once: whoever sets another max_draws later means the next fit.
        self._draws = _spaced(estimator.draws_, self.max_draws)
        self.n_features_out_ = self._n_trend + sum(2 * len(d.W) for d in self._draws)
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From a pickle; older ones do not hold the draws that were chosen."""
        super().__setstate__(state)
        if "estimator_" in state and "_draws" not in state:
            self._draws = _spaced(self.estimator_.draws_, self.max_draws)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.estimator is not None:
            tags.target_tags.one_d_labels = is_classifier(self.estimator)
        return tags


def _spaced(draws: Sequence[Draw], most: int) -> list[Draw]:
    """All draws, or as many as there may be at most, evenly spaced among them."""
    if len(draws) <= most:
        return list(draws)
    return [draws[i] for i in np.linspace(0, len(draws) - 1, most).round().astype(int)]


def _are_labels(y: Any) -> bool:
    """Whether a target is text, truth values, or has two values."""
    values = np.asarray(y)
    if values.dtype.kind == "O":
        known = [value for value in values.ravel() if value is not None]
        numbers = all(isinstance(v, Number) and not isinstance(v, bool) for v in known)
        return not numbers or len(set(known)) == 2
    return values.dtype.kind in "SUb" or len(np.unique(values)) == 2
