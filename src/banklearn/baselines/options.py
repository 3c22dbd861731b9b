"""Checks of the rivals' options: each failure is a sentence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from banklearn.estimators import parameters as check
from banklearn.limits import MOST_FREQUENCIES

from .spectral import KERNELS


def numbers(name: str, value: Any, none: bool = False) -> None:
    """A sequence of numbers above zero that is not empty (or None, where that has a meaning)."""
    if none and value is None:
        return
    found = _sequence(name, value, "numbers above zero")
    for number in found:
        check.positive(name, number)


def kernel_names(name: str, value: Any) -> None:
    """A sequence of names of kernels that is not empty."""
    known = ", ".join(repr(kernel) for kernel in KERNELS)
    for kernel in _sequence(name, value, f"names out of {known}"):
        if not isinstance(kernel, str) or kernel not in KERNELS:
            raise ValueError(
                f"{name} must hold names out of {known}, but holds {check.shown(kernel)}."
            )


def counts(name: str, value: Any) -> None:
    """A whole number of at least one, or a sequence of such."""
    for number in _sequence(name, value, "whole numbers") if np.ndim(value) else (value,):
        check.whole(name, number, 1)


#: How each option is checked; an estimator has some of them.
CHECKS: dict[str, Callable[[str, Any], None]] = {
    "n_frequencies": partial(check.whole, least=1, most=MOST_FREQUENCIES),
    "scales": partial(numbers, none=True),
    "lams": partial(numbers, none=True),
    "kernels": kernel_names,
    "multiples": numbers,
    "lam": partial(check.positive, none=True),
    "a0": check.positive,
    "b0": check.positive,
    "holdout": check.inside,
    "max_search_rows": partial(check.whole, least=2, none=True),
    "chunk_rows": partial(check.whole, least=1),
    "n_shortlist": partial(check.whole, least=1),
    "n_components": counts,
    "n_restarts": partial(check.whole, least=1),
    "restart_rows": partial(check.whole, least=1),
    "restart_iter": partial(check.whole, least=0),
    "max_iter": partial(check.whole, least=0),
    "random_state": check.seed,
}


def check_options(estimator: Any) -> None:
    """Refuse what no fit could use, before it begins."""
    for name, value in estimator.get_params(deep=False).items():
        if name in CHECKS:
            CHECKS[name](name, value)


def _sequence(name: str, value: Any, words: str) -> list[Any]:
    """The entries of a list, tuple or array."""
    entries = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(entries, str) or not isinstance(entries, list | tuple) or not entries:
        raise TypeError(f"{name} must be a list or array of {words}, not {check.shown(value)}.")
    return list(entries)
