"""Fitted estimators to and from model files."""

from __future__ import annotations

import math
import re
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from banklearn.posterior.kernel import learned_kernel
from banklearn.storage.errors import ModelFileError
from banklearn.storage.model_file import MAX_MODEL, StoredModel, read_model, write_model

if TYPE_CHECKING:
    from banklearn.estimators.base import BankBase

#: Parameters that speak of the machine on which the fit ran; no file holds them, and a file that
#: does is refused: the next fit would write wherever it says.
LOCAL = ("checkpoint",)


def save_model(
    estimator: BankBase, path: str | PathLike[str], extra: dict[str, Any] | None = None
) -> None:
    """Write a fitted estimator to one file; see :meth:`BankBase.save`."""
    check_is_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    stored = StoredModel(
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
        error_law=getattr(estimator, "error_law_", None),
        classes=getattr(estimator, "classes_", None),
        stick=getattr(estimator, "stick_", None),
        tree=getattr(estimator, "tree_", None),
        provenance=getattr(estimator, "provenance_", {}),
        extra=getattr(estimator, "extra_", None) if extra is None else extra,
    )
    try:  # what loading would refuse
        _with_parameters(stored)
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"This model cannot be saved: {str(error)[:400]}") from error
    write_model(Path(path), stored)


def load_model(path: str | PathLike[str], *, max_bytes: int = MAX_MODEL) -> Any:
    """Read a model file that ``save`` wrote, as a fitted estimator.

    Loading needs no training data and executes nothing that the file holds. Predictions are those
    of the saved estimator, bit for bit on the same machine.

    Parameters
    ----------
    path : path of the file.
    max_bytes : larger files are refused, by default those above 1 GiB; loading takes the
        size of the file in memory, and a little more.

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
        raise ModelFileError(f"{Path(path).name}: {str(error)[:400]}") from error
    if stored.feature_names is not None:
        estimator.feature_names_in_ = np.array(stored.feature_names, dtype=object)
    estimator.n_features_in_ = len(stored.input_scaling.used)
    if stored.classes is not None:
        estimator.classes_, estimator.stick_ = stored.classes, stored.stick
        estimator.tree_ = stored.tree
    else:
        estimator.target_scaling_ = stored.target_scaling
        estimator.error_law_ = stored.error_law
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
    estimator.kernel_ = learned_kernel(estimator)
    return estimator


def _with_parameters(stored: StoredModel) -> Any:
    """A new estimator with the file's parameters; those that the file lacks have their default."""
    from banklearn.estimators.classifier import NOT_OF_THE_JOINT_MOVE, BankClassifier
    from banklearn.estimators.regressor import BankRegressor

    kinds: dict[str, Any] = {"BankRegressor": BankRegressor, "BankClassifier": BankClassifier}
    if stored.estimator not in kinds:
        raise ValueError(f"estimator is {stored.estimator!r}, but should be one of {list(kinds)}.")
    kind = kinds[stored.estimator]
    parameters = dict(stored.parameters)
    if local := sorted(set(parameters) & set(LOCAL)):
        raise ValueError(
            f"it sets {', '.join(local)}, which speaks of one machine and which save leaves out; "
            "the file was altered."
        )
    unknown = sorted(set(parameters) - set(kind._get_param_names()))
    if unknown:
        raise ValueError(
            f"it has parameters that this banklearn does not know: {str(unknown)[:200]}. Read it "
            "with the banklearn that wrote it, or a later one."
        )
    if parameters.get("inference") == "laplace-mh":  # the defaults of whoever wrote the file
        parameters = {k: v for k, v in parameters.items() if k not in NOT_OF_THE_JOINT_MOVE}
    if "class_weight" in parameters:
        parameters["class_weight"] = _class_weight(parameters["class_weight"])
    estimator = kind(**parameters)
    estimator._check_parameters()
    _check_ranges(estimator)
    if any(estimator.n_frequencies != len(draw.W) for draw in stored.draws[:1]):
        raise ValueError("n_frequencies does not fit the draws.")
    return estimator


def _class_weight(value: Any) -> Any:
    """Nothing, "balanced", or pairs of label and weight as the dict that they were."""
    if value is None or value == "balanced":
        return value
    if not isinstance(value, list) or not all(isinstance(p, list) and len(p) == 2 for p in value):
        raise ValueError("class_weight should be pairs of label and weight.")
    for label, weight in value:
        if not isinstance(label, bool | int | float | str):
            raise ValueError("class_weight has a label that is no number and no text.")
        if not isinstance(weight, int | float) or not 0 <= weight < math.inf:
            raise ValueError("class_weight should hold finite weights of at least zero.")
    found = dict(value)
    if len(found) != len(value):
        raise ValueError("class_weight has a label twice.")
    return found


def _check_ranges(estimator: Any) -> None:
    """What a parameter may be in a file, beyond what a user who sets it may choose."""
    seed = estimator.random_state
    if seed is not None and type(seed) is not int:
        raise ValueError("random_state should be a whole number, or nothing.")
    if not re.fullmatch(r"[a-z]{1,20}(:[0-9]{1,4})?", estimator.device):
        raise ValueError(f"device should be like 'cpu' or 'cuda:0', but is {estimator.device!r}.")


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
