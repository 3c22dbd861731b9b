"""Bayesian nonparametric kernel learning (BaNK) for regression and classification.

The public names are imported on first use, so that ``import banklearn`` stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from banklearn._version import __version__

if TYPE_CHECKING:
    from banklearn.estimators.classifier import BankClassifier
    from banklearn.estimators.features import BankFeatures
    from banklearn.estimators.files import load_model
    from banklearn.estimators.polish import polish
    from banklearn.estimators.rare_classes import RareClassClassifier
    from banklearn.estimators.regressor import BankRegressor
    from banklearn.posterior.kernel import LearnedKernel
    from banklearn.storage.errors import CheckpointError, ModelFileError

_PUBLIC = {
    "BankClassifier": "banklearn.estimators.classifier",
    "BankFeatures": "banklearn.estimators.features",
    "BankRegressor": "banklearn.estimators.regressor",
    "CheckpointError": "banklearn.storage.errors",
    "LearnedKernel": "banklearn.posterior.kernel",
    "ModelFileError": "banklearn.storage.errors",
    "RareClassClassifier": "banklearn.estimators.rare_classes",
    "load_model": "banklearn.estimators.files",
    "polish": "banklearn.estimators.polish",
}

__all__ = [
    "BankClassifier",
    "BankFeatures",
    "BankRegressor",
    "CheckpointError",
    "LearnedKernel",
    "ModelFileError",
    "RareClassClassifier",
    "__version__",
    "load_model",
    "polish",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'banklearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
