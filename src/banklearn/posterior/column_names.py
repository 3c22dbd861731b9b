"""Whether a table has the columns that a model was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def refuse_other_columns(X: Any, names: Sequence[str] | None) -> None:
    """Refuse a data frame whose columns are others, or stand in another order.

    Rows without names, and models that were trained on such, are taken as they are.
    """
    found = list(getattr(X, "columns", ()))
    if names is None or not found or not all(isinstance(name, str) for name in found):
        return
    if found != list(names):
        raise ValueError(
            f"X has the columns {', '.join(found)}, but the model was trained on "
            f"{', '.join(names)}. Give the same columns in the same order."
        )
