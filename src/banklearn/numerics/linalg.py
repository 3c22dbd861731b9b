"""Cholesky factors with a reported ladder of jitter, and the products that need them."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from banklearn.numerics.blas import cholesky_lower, solve_lower, solve_lower_transposed

__all__ = [
    "JitterCount",
    "NumericalError",
    "cholesky",
    "log_det_from_cholesky",
    "solve_lower",
    "solve_lower_transposed",
]

Array = NDArray[np.float64]

_JITTERS = (1e-15, 1e-13, 1e-11, 1e-9)


class NumericalError(ArithmeticError):
    """A matrix that the model says is positive definite could not be factored."""


class JitterCount:
    """How often, and how strongly, a Cholesky factorisation had to be helped."""

    def __init__(self) -> None:
        self.times = 0
        self.largest = 0.0

    def record(self, jitter: float) -> None:
        """One more time."""
        self.times += 1
        self.largest = max(self.largest, jitter)


def cholesky(A: Array, count: JitterCount | None = None, added: float = 0.0) -> Array:
    """Lower L with L L' = A + added I; where that fails with jitter, which is reported.

    Jitter is relative to the mean diagonal.
    """
    with suppress(np.linalg.LinAlgError):
        return cholesky_lower(A, added)
    mean_diagonal = float(np.mean(np.diag(A) + added))
    for jitter in _JITTERS if np.isfinite(mean_diagonal) else ():
        try:
            L = cholesky_lower(A, added + jitter * mean_diagonal)
        except np.linalg.LinAlgError:
            continue
        if count is not None:
            count.record(jitter)
        return L
    raise NumericalError(
        f"A {A.shape[0]} x {A.shape[1]} matrix that should be positive definite could not be "
        f"factored, not even with {_JITTERS[-1]:g} of its mean diagonal ({mean_diagonal:.3g}) "
        "added. Usual causes: inputs or sample weights of extreme size, or non-finite values "
        "that slipped in."
    )


def log_det_from_cholesky(L: Array) -> float:
    """log |L L'|."""
    return 2.0 * float(np.sum(np.log(np.diag(L))))
