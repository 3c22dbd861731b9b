"""What a fitted model says of every test row, kept beside a cell so that it can be scored again.

The files are NumPy archives. Both tasks: ``test`` (the rows' numbers in the whole set) and ``y``.
Regression: ``mean`` and, where the model gives a law, ``std``; BaNK also ``scale`` and ``dof`` (of
the Student t law with the same mean and standard deviation and the draws' mean degrees of freedom),
``log_density`` at y and ``cdf`` at y, both of the predictive law itself, whatever its shape: an
interval of any coverage holds the rows whose cdf lies between its tails. Classification:
``classes`` and ``probabilities`` (n, C).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.posterior.predict import row_blocks
from banklearn.storage.atomic import replacing

ENDING = ".npz"
Arrays = dict[str, NDArray[Any]]


def class_rows(p: NDArray[Any], classes: NDArray[Any]) -> Arrays:
    """Probabilities (n, C) of the classes, in single precision: half the file."""
    return {"classes": classes, "probabilities": p.astype(np.float32)}


def regression_rows(model: Any, X: Any, y: NDArray[Any]) -> Arrays:
    """What a regressor says of the rows of X and, with a law, of their targets."""
    if hasattr(model, "draws_"):
        return bank_law(model, X, y)
    if "return_std" in inspect.signature(model.predict).parameters:
        mean, std = model.predict(X, return_std=True)
        return {"mean": np.asarray(mean), "std": np.asarray(std)}
    return {"mean": np.asarray(model.predict(X))}


def bank_law(model: Any, X: Any, y: NDArray[np.float64]) -> Arrays:
    """The predictive law of a fitted BankRegressor at rows X and targets y, in their units."""
    scaling = model.target_scaling_
    rows, scaled = model._rows(X), (y - scaling.shift) / scaling.scale
    parts = []
    for part in row_blocks(rows):
        law = model._law(rows[part])
        here = scaled[part]
        parts.append((law.mean(), law.std(), law.log_density(here), law.cdf(here)))
    mean, std, log_density, cdf = (np.concatenate(column) for column in zip(*parts, strict=True))
    dof = float(np.mean([draw.dof for draw in model.draws_]))
    std = scaling.spread(std)
    return {
        "mean": scaling.value(mean),
        "std": std,
        "scale": std * np.sqrt(max(1.0 - 2.0 / dof, 1e-3)),
        "dof": np.array(dof),
        "log_density": log_density - np.log(scaling.scale),
        "cdf": cdf,
    }


def writer(arrays: Arrays) -> Callable[[Path], None]:
    """A function that writes the arrays to a path, all or nothing."""

    def write(path: Path) -> None:
        named: dict[str, Any] = dict(arrays)
        with replacing(path) as file:
            np.savez_compressed(file, **named)

    return write


def read_predictions(path: Path) -> Arrays:
    """The arrays of a file."""
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}
