"""Warnings that point at the line of whoever called, not into this package or scikit-learn."""

from __future__ import annotations

import sys
import warnings

#: Frames of these packages stand between the user and a warning, and how many depends on versions.
BETWEEN = ("banklearn", "sklearn", "contextlib")


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the nearest frame outside of BETWEEN."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _inside(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _inside(module: str) -> bool:
    return module.split(".")[0] in BETWEEN
