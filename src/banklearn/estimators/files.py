"""Fitted estimators to and from model files."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from banklearn.posterior.kernel import LearnedKernel
from banklearn.storage.container import MAX_FILE
from banklearn.storage.errors import ModelFileError
from banklearn.storage.model_file import StoredModel, read_model, write_model

if TYPE_CHECKING:
    from banklearn.estimators.base import BankBase

#: Parameters that speak of the machine on which the fit ran; they are not saved.
LOCAL = ("checkpoint",)


def save_model(
    estimator: BankBase, path: str | PathLike[str], extra: dict[str, Any] | None = None
) -> None:
    """Write a fitted estimator to one file; see :meth:`BankBase.save`."""
    check_is_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    write_model(
        Path(path),
        StoredModel(
            estimator=type(estimator).__name__,
            parameters=plain_parameters(estimator),
            trend=estimator.trend_,
            input_scaling=estimator.input_scaling_,
            starting_point=estimator.starting_point_,
            prior=estimator.prior_,
            draws=estimator.draws_,
            trace=estimator.trace_,
            feature_names=None if names is None else [str(name) for name in names],
            target_scaling=getattr(estimator, "target_scaling_", None),
            classes=getattr(estimator, "classes_", None),
            stick=getattr(estimator, "stick_", None),
            provenance=getattr(estimator, "provenance_", {}),
            extra=getattr(estimator, "extra_", None) if extra is None else extra,
        ),
    )


def load_model(path: str | PathLike[str], *, max_bytes: int = MAX_FILE) -> Any:
    """Read a model file that ``save`` wrote, as a fitted estimator.

    Loading needs no training data and executes nothing that the file holds. Predictions are those
    of the saved estimator, bit for bit on the same machine.

    Parameters
    ----------
    path : path of the file.
    max_bytes : larger files are refused.

    Raises
    ------
    ModelFileError
        The file is cut off, damaged, altered, too large, inconsistent, of a later version, or no
        model file at all.
    """
    stored = read_model(Path(path), max_bytes)
    try:
        estimator = _with_parameters(stored)
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"{Path(path).name}: {error}") from error
    if stored.feature_names is not None:
        estimator.feature_names_in_ = np.array(stored.feature_names, dtype=object)
    estimator.n_features_in_ = len(stored.input_scaling.used)
    if stored.classes is not None:
        estimator.classes_, estimator.stick_ = stored.classes, stored.stick
    else:
        estimator.target_scaling_ = stored.target_scaling
    estimator.input_scaling_ = stored.input_scaling
    estimator.trend_ = stored.trend
    estimator.starting_point_ = stored.starting_point
    estimator.prior_ = stored.prior
    estimator.draws_ = stored.draws
    estimator.trace_ = stored.trace
    estimator.n_sweeps_ = [len(trace["K"]) for trace in stored.trace]
    estimator.provenance_ = stored.provenance
    estimator.settling_ = stored.provenance.get("settling")
    estimator.schedule_ = stored.provenance.get("schedule")
    if stored.extra is not None:
        estimator.extra_ = stored.extra
    estimator.kernel_ = LearnedKernel(estimator.draws_, estimator.input_scaling_)
    return estimator


def _with_parameters(stored: StoredModel) -> Any:
    """A new estimator with the file's parameters; those that the file lacks have their default."""
    from banklearn.estimators.classifier import BankClassifier
    from banklearn.estimators.regressor import BankRegressor

    kind: Any = {"BankRegressor": BankRegressor, "BankClassifier": BankClassifier}[stored.estimator]
    parameters = dict(stored.parameters)
    unknown = sorted(set(parameters) - set(kind._get_param_names()))
    if unknown:
        raise ValueError(
            f"it has parameters that this banklearn does not know: {str(unknown)[:200]}. Read it "
            "with the banklearn that wrote it, or a later one."
        )
    weights = parameters.get("class_weight")
    if isinstance(weights, list):
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in weights):
            raise ValueError("class_weight should be pairs of label and weight.")
        parameters["class_weight"] = {label: weight for label, weight in weights}
    estimator = kind(**parameters)
    if not isinstance(estimator.random_state, int | None):
        raise ValueError("random_state should be a whole number or nothing.")
    estimator._check_parameters()
    if estimator.n_frequencies != len(stored.draws[0].W):
        raise ValueError("n_frequencies does not fit the draws.")
    return estimator


def plain_parameters(estimator: BankBase) -> dict[str, Any]:
    """Parameters that a header can hold; objects, such as generators, are left out."""
    found: dict[str, Any] = {}
    for name, value in estimator.get_params(deep=False).items():
        if name == "class_weight" and isinstance(value, dict):
            value = [[_item(label), _item(weight)] for label, weight in value.items()]
        value = _item(value)
        if name not in LOCAL and isinstance(value, bool | int | float | str | list | None):
            found[name] = value
    return found


def _item(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    return value.item() if isinstance(value, np.generic) else value
