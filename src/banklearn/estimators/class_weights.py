"""Weights of classes, which multiply those of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight

from banklearn.estimators.data import refuse_too_many_rows
from banklearn.estimators.starting import part_of
from banklearn.numerics.moments import ROWS
from banklearn.posterior.predict import row_blocks

Array = NDArray[np.float64]


def class_factors(by_class: Any, classes: NDArray[Any], mass: Array) -> Array:
    """The weight of each class; "balanced" counts a row of weight w as w rows."""
    if isinstance(by_class, str) and by_class == "balanced":
        share = mass * (np.count_nonzero(mass) / mass.sum())
        return np.divide(1.0, share, out=np.zeros_like(share), where=share > 0)
    try:
        factor = np.asarray(compute_sample_weight(by_class, classes), dtype=np.float64)
    except OverflowError:
        factor = np.array([np.inf])
    except (TypeError, ValueError) as error:
        _refuse_strange_labels(by_class, classes)
        raise ValueError(
            "class_weight must be None, 'balanced' or a dictionary with a number for each "
            f"class, but is {by_class!r}: {error}"
        ) from error
    if not (np.isfinite(factor).all() and (factor >= 0).all()):
        raise ValueError(
            f"class_weight must hold finite weights of at least zero, but is {by_class!r}."
        )
    return factor


def _refuse_strange_labels(by_class: Any, classes: NDArray[Any]) -> None:
    """Say which label of class_weight no row has, and which class is left out.

    One without the other is allowed, as in scikit-learn: a part of the rows may lack a class.
    """
    if not isinstance(by_class, dict):
        return
    known = set(classes.tolist())
    strange = [label for label in by_class if label not in known]
    missing = [label for label in classes.tolist() if label not in by_class]
    if strange and missing:
        raise ValueError(
            f"class_weight has a weight for {strange[0]!r}, a label that no row has, and none "
            f"for the class {missing[0]!r}. Spell labels as in y; a class may be left out, "
            "with weight 1, if every label given is in y."
        )


def weigh_classes(by_class: Any, y: Any, weight: Array | None) -> Array:
    """Sample weights times class weights; "balanced" counts a row of weight w as w rows."""
    classes, codes = np.unique(y, return_inverse=True)
    kept = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
    mass = np.zeros(len(classes))
    for part in row_blocks(kept, ROWS):  # rounds as the same rows in blocks do
        rows = kept[part]
        mass += np.bincount(codes[rows], part_of(weight, rows), len(classes))
    factor = class_factors(by_class, classes, mass)[codes]
    with np.errstate(over="ignore"):  # infinitely many rows, which are refused
        product = factor if weight is None else np.where(weight > 0, weight * factor, 0.0)
    if not product.any():
        raise ValueError("class_weight and sample_weight leave no row with a weight above zero.")
    refuse_too_many_rows("class_weight times sample_weight", product)
    return product
