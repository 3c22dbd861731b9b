"""The methods that ``bank compare`` puts side by side."""

from __future__ import annotations

from typing import Any

#: Name in the table: what it is.
METHODS = {
    "linear": "ridge or logistic regression, its penalty by cross-validation",
    "boosting": "scikit-learn's histogram gradient boosting, early stopping",
    "RKS": "random features of one RBF kernel, bandwidth and ridge by hold-out",
    "BaNK": "this package: the kernel learned",
}


def make_rival(name: str, task: str, frequencies: int, seed: int) -> Any:
    """An unfitted rival."""
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
            grid = {"C": [0.01, 0.1, 1.0, 10.0, 100.0]}
            logistic = LogisticRegression(max_iter=500)
            model = GridSearchCV(logistic, grid, cv=3, scoring="neg_log_loss")
        return make_pipeline(StandardScaler(), model)
    if name == "boosting":
        kind = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
        return kind(random_state=seed, early_stopping=True, max_iter=500, learning_rate=0.05)
    if name == "RKS":
        return (RKSRegressor if regression else RKSClassifier)(frequencies, random_state=seed)
    raise ValueError(f"There is no rival called {name!r}; there are {', '.join(METHODS)}.")
