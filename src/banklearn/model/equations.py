"""Which function implements which equation of the paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])

#: Labels of the paper's source (or its section, where an equation has no label), in its order.
PAPER = (
    "rksfeats",
    "mixkern",
    "approxmix",
    "generative model, steps 1-5",
    "sampling Z_j",
    "sampling mu_k and Sigma_k",
    "sampleW",
    "modev_int",
    "rreg",
    "rj",
    "lapclassaprrox",
    "class_sample",
    "laplacej",
)

EQUATIONS: dict[str, list[str]] = {}


def equation(label: str) -> Callable[[F], F]:
    """Mark a function as the implementation of one labelled equation of the paper."""
    if label not in PAPER:
        raise ValueError(f"The paper has no equation {label!r}; known labels: {', '.join(PAPER)}.")

    def mark(function: F) -> F:
        name = f"{function.__module__}.{function.__qualname__}"
        claims = EQUATIONS.setdefault(label, [])
        if name not in claims:
            claims.append(name)
        return function

    return mark
