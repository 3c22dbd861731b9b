"""True and false: a type of its own in some formats, words in others, one spelling here.

Text files hold the same table with the words True, true or TRUE, whoever wrote them. Columns of
booleans become levels in every format, and these are found again however they are spelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

#: Words of a column with a type of its own, as pandas writes them into a text file.
FALSE, TRUE = "False", "True"
_SPELLED = "^(?i:true|false)$"


def is_boolean(column: Any) -> bool:
    """Whether an Arrow array has the type of booleans."""
    return bool(pa.types.is_boolean(column.type))


def are_boolean_words(words: Sequence[str | None]) -> bool:
    """Whether there are words, and each of them is a spelling of true or false."""
    present = {word.lower() for word in words if word is not None}
    return bool(present) and present <= {"true", "false"}


def boolean_words(column: Any) -> list[str]:
    """Booleans as words, "" where one is missing."""
    return ["" if value is None else TRUE if value else FALSE for value in column.to_pylist()]


def boolean_cells(column: Any) -> Any:
    """Which cells of a column of strings are a spelling of true or false."""
    return pc.fill_null(pc.match_substring_regex(column, _SPELLED), False)


def spelled_alike(words: Sequence[str | None], levels: Sequence[str]) -> list[str | None]:
    """Words in the spelling of the levels, where these are true and false and nothing else."""
    spelling = {level.lower(): level for level in levels}
    if len(spelling) < len(levels) or not are_boolean_words(levels):
        return list(words)
    return [None if word is None else spelling.get(word.lower(), word) for word in words]
