"""Validation of X and y: scikit-learn's, with a sentence where it would pass on NumPy's words."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data as _validate_data


def validate_data(estimator: Any, X: Any, *args: Any, **options: Any) -> Any:
    """As scikit-learn's function; text is refused in a sentence that names its column."""
    try:
        return _validate_data(estimator, X, *args, **options)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(_text_found(X)) from error


def _text_found(X: Any) -> str:
    names = list(getattr(X, "columns", ()))
    columns = [X[name] for name in names] if names else np.asarray(X, dtype=object).T
    for i, column in enumerate(columns):
        for value in np.asarray(column, dtype=object):
            if isinstance(value, str) and not _is_number(value):
                return (f"Column {names[i]!r} of X" if names else f"Column {i} of X") + (
                    f" holds text ({value!r}), but numbers are needed. Encode it first, for "
                    "example with sklearn.preprocessing.OneHotEncoder."
                )
    return "y holds text, but numbers are needed."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
