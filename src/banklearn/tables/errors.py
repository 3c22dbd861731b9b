"""What is wrong with a table, and where."""

from __future__ import annotations

from collections.abc import Sequence


class TableError(ValueError):
    """A table that cannot be used; the message names file, line and column where there is one."""


def listed(items: Sequence[object], most: int = 8) -> str:
    """The first items separated by commas, and how many more there are."""
    shown = ", ".join(str(item) for item in items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def counted(number: int, word: str) -> str:
    """A number with its noun: "1 row", "3 rows"."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
