"""Labels of rows that pandas writes into files beside the columns."""

from __future__ import annotations

import re

#: In Parquet and Feather files; in CSV files they have no name at all.
_UNNAMED = re.compile(r"(__index_level_\d+__)?")


def is_row_label(name: str) -> bool:
    """Whether a column holds the labels of a frame's rows, which had no name: no data."""
    return _UNNAMED.fullmatch(name) is not None
