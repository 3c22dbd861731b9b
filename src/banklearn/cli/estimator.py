"""The estimator of a command: which one, with which options, fitted with its warnings caught."""

from __future__ import annotations

import warnings
from typing import Any


def make(task: str, **options: Any) -> Any:
    """BankRegressor or BankClassifier."""
    from banklearn import BankClassifier, BankRegressor

    return (BankRegressor if task == "regression" else BankClassifier)(**options)


def fit_caught(model: Any, X: Any, y: Any, **options: Any) -> list[str]:
    """Fit; the warnings as sentences."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **options)
    return list(dict.fromkeys(str(entry.message) for entry in caught))
