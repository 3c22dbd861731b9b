"""Validation of X, y and weights: scikit-learn's, with a sentence instead of NumPy's words."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight
from sklearn.utils.validation import validate_data as _validate_data

from banklearn.limits import ADVICE, LARGEST
from banklearn.posterior.calibration import is_no_label
from banklearn.sources.values import are_dates, column_names, refuse_masked
from banklearn.warned import warn_caller

Array = NDArray[np.float64]

#: Beyond this many rows (counted with their weights) the prior is lost to rounding.
MOST_ROWS = 1e15

#: Weights that add up to less are hardly meant as counts of rows.
FEWEST_ROWS = 2.0

#: Parts of NumPy's and pandas' messages about values that are not numbers.
_NOT_NUMBERS = (
    "could not convert",
    "Cannot cast",
    "could not be promoted",
    "inhomogeneous",
    "float() argument must be",
    "setting an array element",
)


def validate_data(estimator: Any, X: Any, *args: Any, **options: Any) -> Any:
    """As scikit-learn's function; what is not a number is refused in a sentence."""
    if isinstance(X, str | bytes):
        raise ValueError(
            f"X must be a table of numbers, but is the text {X!r}. Only fit of BankRegressor and "
            "BankClassifier reads files, with the column to predict named instead of given as y: "
            "fit(path, target='y')."
        )
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, whose rows are not there yet. Pass X.collect().")
    for name, values in (("X", X), *(("y", y) for y in args)):
        refuse_masked(name, values)
    refuse_twins(X)
    _refuse_dates(X)
    try:
        # Sums of extreme numbers overflow in the check for finite ones, which then looks at each.
        with np.errstate(over="ignore", invalid="ignore"):
            return _validate_data(estimator, X, *args, **options)
    except OverflowError as error:
        raise ValueError(_too_large("X")) from error
    except (ValueError, TypeError) as error:
        if str(error).rstrip(".") in ("Input y contains NaN", "Input contains NaN"):
            raise ValueError(_missing("y")) from error
        if "value of NA is ambiguous" in str(error):
            raise ValueError(_missing("y")) from error
        if not any(words in str(error) for words in _NOT_NUMBERS):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(_not_numbers(X)) from error


def rows_and_numbers(estimator: Any, X: Any, y: Any, **options: Any) -> tuple[Array, Array]:
    """Training rows X (N, d) and the numbers y (N,) to predict, or a sentence."""
    X, y = validate_data(estimator, X, y, dtype=np.float64, multi_output=False, **options)
    refuse_extreme(X, getattr(estimator, "feature_names_in_", None))
    return X, numeric_target(y)


def rows_and_labels(estimator: Any, X: Any, y: Any, **options: Any) -> tuple[Array, NDArray[Any]]:
    """Training rows X (N, d) and their labels y (N,), or a sentence."""
    refuse_unsorted_labels(y)
    X, y = validate_data(estimator, X, y, dtype=np.float64, **options)
    refuse_extreme(X, getattr(estimator, "feature_names_in_", None))
    refuse_continuous(y)
    return X, y


def refuse_extreme(X: Array, names: Any = None) -> None:
    """Refuse training inputs so large that their differences are no numbers."""
    if max(X.max(), -X.min()) > LARGEST:
        i, j = (int(k) for k in np.argwhere(np.abs(X) > LARGEST)[0])
        label = f"Column {j if names is None else names[j]!r} of X"
        raise ValueError(_extreme(label, X[i, j], i))


def _extreme(label: str, value: float, row: int) -> str:
    return f"{label} holds {value:.3g} in row {row}. {ADVICE}"


def target_values(y: Any) -> Array:
    """y in float64, missing values as NaN; text, dates and masked values are refused."""
    refuse_masked("y", y)
    try:
        given = np.asarray(y)
    except ValueError as error:
        raise ValueError("y must be one number for each row, but holds lists.") from error
    if are_dates(given):
        raise ValueError("y holds dates or times; give it as numbers, such as days since a start.")
    if given.dtype.kind == "c":
        raise ValueError("y holds complex numbers, but real ones are needed.")
    try:
        with np.errstate(over="ignore"):  # a long double becomes infinity
            return np.asarray(given, dtype=np.float64)
    except OverflowError as error:
        raise ValueError(_too_large("y")) from error
    except (ValueError, TypeError) as error:
        raise ValueError("y holds text, but numbers are needed.") from error


def numeric_target(y: Any) -> Array:
    """y as finite numbers; missing values, text, dates and extreme numbers are refused."""
    values = target_values(y)
    if not np.isfinite(values).all():
        where = int(np.flatnonzero(~np.isfinite(values.ravel()))[0])
        raise ValueError(
            f"y contains NaN, infinity or missing values (the first in row {where}). Remove those "
            "rows or fill them in."
        )
    if (extreme := np.abs(values) > LARGEST).any():
        row = int(np.flatnonzero(extreme)[0])
        raise ValueError(_extreme("y", float(values.ravel()[row]), row))
    return values


def refuse_continuous(y: Any) -> None:
    """Labels as scikit-learn wants them: no fractions, and one for each row."""
    with np.errstate(over="ignore", invalid="ignore"):  # it adds them up, and makes them integers
        check_classification_targets(y)


def refuse_unsorted_labels(y: Any) -> None:
    """Objects as labels: missing ones, and text among other labels, are refused by their row."""
    # NumPy would turn a missing value in a list of text into the text "nan".
    labels = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    if labels.dtype.kind != "O" or labels.ndim != 1:
        return
    for row, label in enumerate(labels):
        if is_no_label(label):
            raise ValueError(
                f"y has no label in row {row} (it holds {label!r}). Remove such rows, or give "
                "them a label of their own."
            )
        if isinstance(label, str) != isinstance(labels[0], str):
            raise ValueError(
                f"y mixes text and other labels: {labels[0]!r} in row 0, {label!r} in row {row}. "
                "Make them all text, or all numbers."
            )


def are_text(labels: NDArray[Any]) -> bool:
    """Whether labels are text, by their kind or by the first of them."""
    return labels.dtype.kind in "UST" or (
        labels.dtype.kind == "O" and len(labels) > 0 and isinstance(labels.flat[0], str)
    )


def refuse_strange_labels(classes: NDArray[Any]) -> None:
    """Refuse labels that no model file could hold: dates, and whole numbers beyond 64 bits."""
    if are_dates(classes):
        raise ValueError(
            f"y holds dates, such as {classes[0]!s}, which are no labels of classes. Write the "
            "classes as text or as numbers."
        )
    if classes.dtype.kind == "u" and classes.max() > np.iinfo(np.int64).max:
        raise ValueError(
            f"y holds the label {classes.max()}; whole numbers as labels may be at most 2**63 - 1. "
            "Write such labels as text."
        )


def refuse_one_class(classes: Any, where: str = "y") -> None:
    """Refuse labels among which there is nothing to tell apart."""
    if len(classes) < 2:
        raise ValueError(
            f"Classification needs at least two classes, but {where} holds only one class: "
            f"{np.asarray(classes)[:1].tolist()[0]!r}."
        )


def check_weight(sample_weight: Any, X: Array) -> Array | None:
    """Weights as an array, None where none are given; negative and all-zero are refused."""
    if sample_weight is None:
        return None
    refuse_masked("sample_weight", sample_weight)
    if are_dates(_as_array(sample_weight)):
        raise ValueError("sample_weight holds dates or times, but numbers are needed.")
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # as in validate_data
            weight: Array = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
    except OverflowError as error:
        raise ValueError(_too_large("sample_weight")) from error
    except (ValueError, TypeError) as error:
        if str(error) == "Input sample_weight contains NaN.":
            raise ValueError(_missing("sample_weight")) from error
        if not any(words in str(error) for words in _NOT_NUMBERS):
            raise
        raise ValueError("sample_weight holds text, but numbers are needed.") from error
    if not (weight > 0).any():
        raise ValueError("sample_weight is zero for every row: there is nothing to fit.")
    refuse_too_many_rows("sample_weight", weight)
    if (total := float(weight.sum())) < FEWEST_ROWS <= np.count_nonzero(weight):
        warn_caller(
            f"sample_weight adds up to {total:.3g}: a row of weight w counts as w rows, so that "
            f"all {len(weight)} rows together count as less than {FEWEST_ROWS:g}, and next to "
            "nothing is learned from them. Divide the weights by their mean if they are relative.",
            UserWarning,
        )
    return weight


def refuse_too_many_rows(name: str, weight: Array) -> None:
    """Refuse weights that stand for more rows than 64-bit numbers can tell apart."""
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if total > MOST_ROWS:
        raise ValueError(
            f"{name} adds up to {total:.3g}; a row of weight w counts as w rows, so such weights "
            "mean nothing. Divide them by their mean."
        )


def _too_large(name: str) -> str:
    return (
        f"{name} holds an integer or a fraction beyond {LARGEST:g}, the largest number that can be "
        "used: give it in a larger unit, or remove such rows."
    )


def _missing(name: str) -> str:
    return f"{name} contains NaN or missing values. Remove those rows or fill them in."


def _columns(X: Any) -> list[tuple[str, Any]]:
    if names := _names(X):
        return [(f"Column {name!r} of X", X[name]) for name in names]
    try:
        table = np.asarray(X, dtype=object)
    except ValueError:
        return []
    return [(f"Column {i} of X", c) for i, c in enumerate(table.T)] if table.ndim == 2 else []


def _names(X: Any) -> list[Any]:
    """The names of the columns; none where X is no table with named columns."""
    return column_names(X) or list(getattr(X, "columns", ()))


def refuse_twins(X: Any) -> None:
    """Refuse columns of the same name, which nothing can tell apart."""
    counts = Counter(name for name in _names(X) if isinstance(name, str | int))
    if twins := [repr(name) for name, times in counts.items() if times > 1]:
        raise ValueError(
            f"X has several columns of the same name: {', '.join(twins)}. Rename or remove them."
        )


def _as_array(values: Any) -> NDArray[Any]:
    """As NumPy sees the values; an empty array where it cannot, which others refuse."""
    try:
        return np.asarray(values)
    except (ValueError, TypeError):
        return np.empty(0)


def _refuse_dates(X: Any) -> None:
    """NumPy would count dates in days, or whatever their unit is."""
    if not hasattr(X, "columns"):
        if are_dates(_as_array(X)):
            raise ValueError(
                "X holds dates or times. Turn them into numbers first, such as days since a start, "
                "or hour and weekday."
            )
        return
    for label, column in _columns(X):
        kind = getattr(column, "dtype", getattr(column, "type", ""))  # of Arrow
        objects = getattr(kind, "kind", "") == "O" and are_dates(np.asarray(column, dtype=object))
        # Of NumPy, pandas, polars and Arrow: datetime64, timedelta64, period, Date, duration, ...
        if objects or str(kind).lower().startswith(("date", "time", "duration", "period")):
            raise ValueError(
                f"{label} holds dates or times. Turn it into numbers first, such as days since a "
                "start, or hour and weekday."
            )


def _not_numbers(X: Any) -> str:
    for label, column in _columns(X):
        for value in np.asarray(column, dtype=object):
            if isinstance(value, str) and not _is_number(value):
                return (
                    f"{label} holds text ({value!r}), but numbers are needed. Encode it first, for "
                    "example with sklearn.preprocessing.OneHotEncoder."
                )
            if not _is_number(value):
                return (
                    f"{label} holds {value!r}, but every argument must be a number, or a string "
                    "that is a number. Remove rows with missing values or fill them in."
                )
    if not _columns(X):
        return "X must be a table: rows of the same number of numbers."
    return "y holds text, but numbers are needed."


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except OverflowError:
        return True
    except (TypeError, ValueError):
        return False
    return True
