"""Gradient boosted trees as rivals beyond the paper, from scikit-learn or LightGBM.

The number of trees is found by early stopping on a fifth of the training rows, then all rows are
used. Trees give no law for a target; theirs is normal around the prediction, with the mean square
of the hold-out's residuals as its variance.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from banklearn.numerics.threads import threads

Array = NDArray[np.float64]
Library = Literal["scikit-learn", "lightgbm"]

#: Rounds without improvement on the hold-out after which no more trees are grown.
PATIENCE = 50


class _Boosted(BaseEstimator):
    """Early stopping, then a fit on all rows."""

    def __init__(
        self,
        library: Library = "scikit-learn",
        learning_rate: float = 0.05,
        max_trees: int = 3000,
        random_state: int | None = None,
    ) -> None:
        self.library = library
        self.learning_rate = learning_rate
        self.max_trees = max_trees
        self.random_state = random_state

    def _fit_both(self, X: Array, y: np.ndarray, classify: bool) -> tuple[Array, np.ndarray, Any]:
        """Fit ``model_``; return the held-out rows and the model that did not see them."""
        if self.library not in ("scikit-learn", "lightgbm"):
            raise ValueError(f'library={self.library!r}; use "scikit-learn" or "lightgbm".')
        fit = _histogram if self.library == "scikit-learn" else _lightgbm
        parts = train_test_split(
            X, y, test_size=0.2, random_state=self.random_state, stratify=y if classify else None
        )
        first, self.n_trees_ = fit(self, parts, self.max_trees, classify)
        self.model_, _ = fit(self, (X, None, y, None), self.n_trees_, classify)
        return parts[1], parts[3], first


def _histogram(how: _Boosted, parts: Any, trees: int, classify: bool) -> tuple[Any, int]:
    """scikit-learn's histogram trees; the rows to watch may be absent."""
    X, X_out, y, _ = parts
    kind = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    model = kind(
        learning_rate=how.learning_rate,
        max_iter=trees,
        early_stopping=X_out is not None,
        validation_fraction=0.2,  # of its own rows: before 1.7 it cannot be given others
        n_iter_no_change=PATIENCE,
        random_state=how.random_state,
    ).fit(X, y)
    if X_out is None:
        return model, trees
    return model, max(int(np.argmax(model.validation_score_)), 1)


def _lightgbm(how: _Boosted, parts: Any, trees: int, classify: bool) -> tuple[Any, int]:
    """LightGBM's trees; the rows to watch may be absent."""
    import lightgbm

    X, X_out, y, y_out = parts
    kind = lightgbm.LGBMClassifier if classify else lightgbm.LGBMRegressor
    model = kind(
        learning_rate=how.learning_rate,
        n_estimators=trees,
        random_state=how.random_state,
        n_jobs=threads(),
        deterministic=True,
        verbose=-1,
    )
    if X_out is None:
        return model.fit(X, y), trees
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    model.fit(X, y, eval_X=X_out, eval_y=y_out, callbacks=[stop])
    return model, max(int(model.best_iteration_ or trees), 1)


class BoostedRegressor(RegressorMixin, _Boosted):
    """Boosted trees with a normal law of constant width.

    Parameters
    ----------
    library : "scikit-learn" or "lightgbm".
    learning_rate : shrinkage of each tree.
    max_trees : the most trees that are tried.
    """

    def fit(self, X: Any, y: Any) -> BoostedRegressor:
        """Find the number of trees, then fit on all rows; X (N, d), y (N,)."""
        X_out, y_out, first = self._fit_both(np.asarray(X, dtype=float), np.asarray(y), False)
        self.std_ = float(np.sqrt(np.mean((first.predict(X_out) - y_out) ** 2)))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Prediction (n,); with return_std also the standard deviation, the same for all rows."""
        mean = np.asarray(self.model_.predict(np.asarray(X, dtype=float)), dtype=float)
        return (mean, np.full(mean.shape, self.std_)) if return_std else mean


class BoostedClassifier(ClassifierMixin, _Boosted):
    """Boosted trees for classes; the parameters are those of ``BoostedRegressor``."""

    def fit(self, X: Any, y: Any) -> BoostedClassifier:
        """Find the number of trees, then fit on all rows; X (N, d), y (N,) labels."""
        # LightGBM does not encode the labels of the rows it watches.
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._fit_both(np.asarray(X, dtype=float), codes, True)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities (n, C)."""
        return np.asarray(self.model_.predict_proba(np.asarray(X, dtype=float)), dtype=float)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
