"""Checks of constructor parameters: each failure is a sentence."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any


def _as_float(value: Any) -> float:
    """As a float; an integer that no float holds is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def whole(name: str, value: Any, least: int) -> None:
    """A whole number of at least `least`."""
    if name == "verbose" and isinstance(value, bool):
        return
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, not {value!r}.")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, but is {value}.")


def whole_or_auto(name: str, value: Any, least: int) -> None:
    """A whole number of at least `least`, or "auto"."""
    if not isinstance(value, str):
        whole(name, value, least)
    elif value != "auto":
        raise ValueError(f"{name} must be a whole number or 'auto', but is {value!r}.")


def positive_or_auto(name: str, value: Any) -> None:
    """A finite number above zero, or "auto"."""
    if not isinstance(value, str):
        positive(name, value)
    elif value != "auto":
        raise ValueError(f"{name} must be a number above zero or 'auto', but is {value!r}.")


def positive(name: str, value: Any, none: bool = False) -> None:
    """A finite number above zero (or None, where that has a meaning)."""
    if none and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number{' or None' if none else ''}, not {value!r}.")
    if not 0 < _as_float(value) < math.inf:
        raise ValueError(f"{name} must be finite and above zero, but is {_as_float(value):g}.")


def at_least_zero(name: str, value: Any) -> None:
    """A finite number of at least zero."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, not {value!r}.")
    if not 0 <= _as_float(value) < math.inf:
        raise ValueError(f"{name} must be finite and at least zero, but is {_as_float(value):g}.")


def share(name: str, value: Any) -> None:
    """A number between zero and one."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= _as_float(value) <= 1:
        raise ValueError(f"{name} must be a number between 0 and 1, but is {value!r}.")


def inside(name: str, value: Any) -> None:
    """A number strictly between zero and one."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < _as_float(value) < 1:
        raise ValueError(f"{name} must lie between 0 and 1, but is {value!r}.")


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{name} must be one of {listed}, but is {value!r}.")
