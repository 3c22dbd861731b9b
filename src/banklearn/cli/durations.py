"""Spans of time as people write them: 90s, 5m, 1h30m."""

from __future__ import annotations

import re

import typer

from banklearn.limits import MOST_SECONDS

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d)")


def seconds(text: str | None, option: str | None = None) -> float | None:
    """Seconds; "none" and no text mean no limit, a bare number means seconds.

    option is named where the text cannot be read.
    """
    if text is None or text.strip().lower() == "none":
        return None
    word = text.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", word):
        word += "s"
    parts = _PATTERN.findall(word)
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if _PATTERN.sub("", word).strip() or total <= 0:
        raise typer.BadParameter(
            f"{text!r} is not a span of time above zero; write 90s, 5m or 1h30m, or none for no "
            "limit.",
            param_hint=option,
        )
    if total > MOST_SECONDS:
        raise typer.BadParameter(
            f"{text[:40]!r} is longer than {MOST_SECONDS:g} seconds; write none for no limit.",
            param_hint=option,
        )
    return total
