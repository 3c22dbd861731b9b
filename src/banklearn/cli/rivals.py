"""The methods that ``bank compare`` puts side by side."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

#: Parts in which the linear classifier's penalty is chosen, and boosting's validation share.
PARTS, VALIDATION = 3, 0.1

#: Name in the table: what it is.
METHODS = {
    "linear": "ridge or logistic regression, its penalty by cross-validation",
    "boosting": "scikit-learn's histogram gradient boosting, early stopping where classes allow",
    "RKS": "random features of one RBF kernel, bandwidth and ridge by hold-out",
    "BaNK": "this package: the kernel learned",
}


def make_rival(name: str, task: str, frequencies: int, seed: int, y: Any) -> Any:
    """An unfitted rival; y, the training target, tells which classes are too rare to be split."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from banklearn.baselines import RKSClassifier, RKSRegressor

    regression = task == "regression"
    if name == "linear":
        model: Any
        if regression:
            model = RidgeCV(alphas=[10.0**k for k in range(-3, 5)])
        else:
            model = LogisticRegression(max_iter=500)
            if splits := penalty_splits(y):
                grid = {"C": [0.01, 0.1, 1.0, 10.0, 100.0]}
                model = GridSearchCV(model, grid, cv=splits, scoring=_log_likelihood)
        return make_pipeline(StandardScaler(), model)
    if name == "boosting":
        kind = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        early = regression or can_stratify(y)
        return kind(
            random_state=seed,
            early_stopping=early,
            validation_fraction=VALIDATION,
            max_iter=500 if early else 100,  # nothing stops it otherwise
            learning_rate=0.05,
        )
    if name == "RKS":
        return (RKSRegressor if regression else RKSClassifier)(frequencies, random_state=seed)
    raise ValueError(f"There is no rival called {name!r}; there are {', '.join(METHODS)}.")


def can_stratify(y: Any) -> bool:
    """Whether the validation rows of early stopping can have every class, as boosting asks."""
    counts = np.unique(y, return_counts=True)[1]
    return bool(counts.min() >= 2 and math.ceil(VALIDATION * len(y)) >= len(counts))


def penalty_splits(y: Any) -> list[tuple[Any, Any]]:
    """Row numbers (fit, judge) of each part; rows of classes too rare for all parts only fit.

    There are none where no class has a row for each part.
    """
    from sklearn.model_selection import StratifiedKFold

    labels, codes = np.unique(y, return_inverse=True)
    common = np.bincount(codes, minlength=len(labels))[codes] >= PARTS
    rows, rare = np.flatnonzero(common), np.flatnonzero(~common)
    if len(rows) == 0:
        return []
    found = StratifiedKFold(PARTS).split(rows, codes[rows])
    return [(np.sort(np.concatenate([rows[fit], rare])), rows[judge]) for fit, judge in found]


def _log_likelihood(model: Any, X: Any, y: Any) -> float:
    """Mean log probability of the labels, which need not be of every class."""
    from banklearn.cli.scoring import scores

    return -scores(model, X, y, y)["log_loss"]
