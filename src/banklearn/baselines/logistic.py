"""Penalised logistic regression by damped Newton steps over blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from banklearn.numerics.linalg import NumericalError
from banklearn.warned import warn_caller

from .chunks import Array

Blocks = Callable[[], Iterable[tuple[Array, Array]]]


def in_memory(Phi: Array, t: Array) -> list[tuple[Array, Array]]:
    """One block that holds all rows; ``partial(in_memory, Phi, t)`` is a ``Blocks``."""
    return [(Phi, t)]


@dataclass(frozen=True)
class LogisticFit:
    """The mode of the penalised likelihood; ``log_evidence`` is its Laplace approximation."""

    beta: Array
    log_evidence: float
    converged: bool


@dataclass(frozen=True)
class _Local:
    objective: float
    gradient: Array
    hessian: Array


def _local(blocks: Blocks, beta: Array, penalty: Array) -> _Local:
    """Value, gradient and Hessian of the objective at beta, summed over blocks."""
    value = 0.5 * float(penalty @ beta**2)
    gradient = penalty * beta
    hessian = np.diag(penalty)
    for Phi, t in blocks():
        f = Phi @ beta
        value += float(np.sum(np.logaddexp(0.0, f) - t * f))
        p = expit(f)
        gradient += Phi.T @ (p - t)
        weighted = np.sqrt(p * (1.0 - p))[:, None] * Phi
        hessian += weighted.T @ weighted
    return _Local(value, gradient, hessian)


def _factor(hessian: Array) -> tuple[Array, bool]:
    try:
        return cho_factor(hessian, lower=True, check_finite=False)
    except np.linalg.LinAlgError as error:
        raise NumericalError(
            f"The {len(hessian)} x {len(hessian)} Hessian of a logistic regression could not be "
            "factored: the ridge is too small for these rows. Give a larger lam, or larger lams."
        ) from error


def fit_logistic(
    blocks: Blocks,
    penalty: Array,
    beta: Array,
    tol: float = 1e-5,
    max_iter: int = 60,
    warn: bool = True,
) -> LogisticFit:
    """Minimise sum_i log(1 + exp(f_i)) - t_i f_i + 1/2 sum_p penalty_p beta_p^2, f = Phi beta.

    ``blocks()`` yields (Phi (n, P), t (n,)) with t in {0, 1}; penalty (P,) > 0, beta (P,) start.
    Stops when the Newton decrement falls below ``tol`` nats.
    """
    here = _local(blocks, beta, penalty)
    converged = False
    factor = _factor(here.hessian)
    for _ in range(max_iter):
        step = cho_solve(factor, here.gradient, check_finite=False)
        decrement = 0.5 * float(here.gradient @ step)
        if decrement < tol:
            converged = True
            break
        size = 1.0
        there = _local(blocks, beta - step, penalty)
        while there.objective > here.objective - 1e-4 * size * decrement and size > 1e-6:
            size *= 0.5
            there = _local(blocks, beta - size * step, penalty)
        beta, here = beta - size * step, there
        factor = _factor(here.hessian)
    if warn and not converged:
        warn_caller(
            f"Newton's method stopped after {max_iter} steps with decrement {decrement:.2g} "
            f"(wanted {tol:.2g}); the classes may be separable, a larger ridge helps.",
            ConvergenceWarning,
        )
    log_det_ratio = float(np.log(penalty).sum() - 2.0 * np.log(np.diag(factor[0])).sum())
    return LogisticFit(beta, -here.objective + 0.5 * log_det_ratio, converged)
