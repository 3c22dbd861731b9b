"""Checks of constructor parameters: each failure is a sentence."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from banklearn.limits import LARGEST_OPTION, MOST, MOST_SECONDS, MOST_SEED, SMALLEST_OPTION


def whole(name: str, value: Any, least: int, most: int = MOST, none: bool = False) -> None:
    """A whole number between `least` and `most` (or None, where that has a meaning)."""
    if none and value is None:
        return
    if name == "verbose" and isinstance(value, bool):
        return
    if isinstance(value, bool) or not isinstance(value, Integral):
        also = " or None" if none else ""
        raise TypeError(f"{name} must be a whole number{also}, not {shown(value)}.")
    if int(value) < least:
        raise ValueError(f"{name} must be at least {least}, but is {shown(value)}.")
    if int(value) > most:
        raise ValueError(f"{name} must be at most {most}, but is {shown(value)}.")


def whole_or_auto(name: str, value: Any, least: int) -> None:
    """A whole number of at least `least`, or "auto"."""
    if not isinstance(value, str):
        whole(name, value, least)
    elif value != "auto":
        raise ValueError(f"{name} must be a whole number or 'auto', but is {shown(value)}.")


def positive_or_auto(name: str, value: Any) -> None:
    """A number above zero, or "auto"."""
    if not isinstance(value, str):
        positive(name, value)
    elif value != "auto":
        raise ValueError(f"{name} must be a number above zero or 'auto', but is {shown(value)}.")


def positive(
    name: str,
    value: Any,
    none: bool = False,
    least: float = SMALLEST_OPTION,
    most: float = LARGEST_OPTION,
) -> None:
    """A number above zero, between `least` and `most` (or None, where that has a meaning)."""
    if none and value is None:
        return
    number = _real(name, value, none)
    if not 0 < number < math.inf:
        raise ValueError(f"{name} must be finite and above zero, but is {shown(value)}.")
    if not least <= number <= most:
        raise ValueError(
            f"{name} must lie between {least:g} and {most:g}, but is {shown(value)}: results "
            "beyond would not be numbers."
        )


def seconds(name: str, value: Any, none: bool = False, zero: bool = False) -> None:
    """A span of time above zero (or zero, or None, where that has a meaning)."""
    if none and value is None:
        return
    number = _real(name, value, none)
    if not (0 < number < math.inf or (zero and number == 0)):
        least = "at least" if zero else "above"
        raise ValueError(f"{name} must be finite and {least} zero, but is {shown(value)}.")
    if number > MOST_SECONDS:
        also = ", or None for no limit" if none else ""
        raise ValueError(
            f"{name} must be at most {MOST_SECONDS:g} seconds{also}, but is {shown(value)}."
        )


def share(name: str, value: Any) -> None:
    """A number between zero and one."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= _as_float(value) <= 1:
        raise ValueError(f"{name} must be a number between 0 and 1, but is {shown(value)}.")


def inside(name: str, value: Any) -> None:
    """A number strictly between zero and one."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < _as_float(value) < 1:
        raise ValueError(f"{name} must lie between 0 and 1, but is {shown(value)}.")


def seed(name: str, value: Any) -> None:
    """A whole number that seeds a generator, a RandomState (or NumPy's own), or None.

    A Generator is refused: scikit-learn takes none, so that searches and pipelines which hand it
    on would fail later; and a state that goes on with each use could not be written down with the
    parameters, by which a model file or a checkpoint knows its fit.
    """
    if value is None or value is np.random or isinstance(value, np.random.RandomState):
        return
    if isinstance(value, np.random.Generator):
        raise ValueError(
            f"{name} must be a whole number, a RandomState or None, but is a Generator, which "
            f"scikit-learn does not take. Draw a seed from it: {name}=int(rng.integers(2**32))."
        )
    whole_number = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole_number or not 0 <= int(value) <= MOST_SEED:
        raise ValueError(
            f"{name} must be a whole number from 0 to {MOST_SEED}, a RandomState or None, but is "
            f"{shown(value)}."
        )


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{name} must be one of {listed}, but is {shown(value)}.")


def shown(value: Any) -> str:
    """A value as an error shows it; integers of thousands of digits by their size alone."""
    if isinstance(value, Integral) and abs(int(value)) >= 10**18:
        sign = "-" if int(value) < 0 else ""
        return f"about {sign}1e{math.floor(math.log10(abs(int(value))))}"
    if isinstance(value, Real) and not isinstance(value, Integral):
        number = _as_float(value)
        return repr(number) if number.is_integer() and abs(number) < 1e15 else f"{number:g}"
    return repr(value)


def _real(name: str, value: Any, none: bool) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        also = " or None" if none else ""
        raise TypeError(f"{name} must be a number{also}, not {shown(value)}.")
    return _as_float(value)


def _as_float(value: Any) -> float:
    """As a float; an integer that no float holds is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
