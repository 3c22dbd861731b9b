"""Talking to people on the error stream, and to scripts on the output stream."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table


def console() -> Console:
    """Words for people go to the error stream, so that output can be piped."""
    return Console(stderr=True, highlight=False)


def result_console() -> Console:
    """A command's result, where it is asked for in words."""
    return Console(highlight=False)


def notes(sentences: Iterable[str], style: str = "dim") -> None:
    """One line for each sentence."""
    out = console()
    for sentence in sentences:
        out.print(f"[{style}]·[/] {escape(sentence)}", soft_wrap=True)


def warn(sentences: Iterable[str]) -> None:
    """Sentences that should not be missed."""
    notes(sentences, "bold yellow")


def as_json(value: dict[str, Any]) -> None:
    """One JSON object on the output stream; what is not a finite number becomes null."""
    sys.stdout.write(json.dumps(_finite(value), indent=2, ensure_ascii=False) + "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def grid(title: str, head: list[str], rows: Iterable[Iterable[str]], left: int = 1) -> Table:
    """A table; its first columns are words, the others numbers."""
    table = Table(title=escape(title), title_justify="left", title_style="bold")
    for i, name in enumerate(head):
        table.add_column(escape(name), justify="left" if i < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    return table
