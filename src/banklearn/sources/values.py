"""Values of any container as 64-bit numbers, or a sentence that says why they are none."""

from __future__ import annotations

from datetime import date, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.limits import LARGEST
from banklearn.sources.base import SourceError

Array = NDArray[np.float64]

_DATES = (np.datetime64, np.timedelta64, date, time, timedelta)  # a datetime is a date


def as_numbers(values: Any, what: str) -> Array:
    """Values in float64; masked values, dates, text and integers that overflow are refused."""
    refuse_masked(what, values)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise SourceError(f"{what} holds rows of different lengths.") from error
    if array.dtype.kind == "c":
        raise SourceError(f"{what} holds complex numbers, but real ones are needed.")
    if are_dates(array):
        raise SourceError(
            f"{what} holds dates or times. Turn them into numbers first, such as days since a "
            "start."
        )
    try:
        with np.errstate(over="ignore"):  # a long double becomes infinity, which is refused later
            return np.asarray(array, dtype=np.float64)
    except OverflowError as error:
        raise SourceError(
            f"{what} holds an integer beyond {LARGEST:g}, the largest number that can be used."
        ) from error
    except (TypeError, ValueError) as error:
        raise SourceError(f"{what} holds values that are no numbers.") from error


def as_target(values: Any, what: str) -> NDArray[Any]:
    """A target of any type, one column as its values; masked values are refused."""
    refuse_masked(what, values)
    try:
        y = np.asarray(values)
        return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    except ValueError as error:
        raise SourceError(f"{what} holds rows of different lengths.") from error


def refuse_masked(what: str, values: Any) -> None:
    """A masked entry is a missing one; as an array it would be whatever lies under the mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        hidden = int(np.ma.getmaskarray(values).sum())
        raise SourceError(
            f"{what} is a masked array with {hidden} masked values, which are missing values. Fill "
            "them in, or remove those rows."
        )


def column_names(X: Any) -> list[str] | None:
    """The columns of a data frame or an Arrow table; None where they are not named by text."""
    arrow = type(X).__module__.partition(".")[0] == "pyarrow"  # calls its arrays columns
    found = list(getattr(X, "column_names" if arrow else "columns", ()))
    return found if found and all(isinstance(name, str) for name in found) else None


def are_dates(array: NDArray[Any]) -> bool:
    """Whether some values are dates or times, which NumPy would count in days or seconds."""
    if array.dtype.kind == "O":
        return any(isinstance(value, _DATES) or _is_period(value) for value in array.flat)
    return array.dtype.kind in "mM"


def _is_period(value: Any) -> bool:
    """Of pandas, which need not be there."""
    return type(value).__name__ == "Period"
