"""Laplace approximations of the logistic likelihood: a frequency's two weights, or all weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from banklearn.model.equations import equation
from banklearn.numerics.linalg import cholesky, log_det_from_cholesky, solve_lower

Array = NDArray[np.float64]


def log_likelihood(f: Array, y: Array, weight: Array | None = None) -> float:
    """sum_i log P(y_i | f_i) for y in {0, 1}."""
    log_p = -np.logaddexp(0.0, np.where(y > 0, -f, f))
    return float(log_p.sum() if weight is None else weight @ log_p)


def mode(
    columns: Array,
    offset: Array,
    y: Array,
    lam: float,
    weight: Array | None = None,
    steps: int = 100,
) -> tuple[Array, Array]:
    """Newton's mode of log P(y | offset + columns' b) - lam b'b / 2, and minus the Hessian there.

    columns (k, n), offset and y (n,); the objective is strictly concave, and steps are halved
    until it rises.
    """
    k = len(columns)
    b = np.zeros(k)
    w = np.ones(len(y)) if weight is None else weight

    def value(b: Array) -> float:
        return log_likelihood(offset + b @ columns, y, weight) - 0.5 * lam * float(b @ b)

    now = value(b)
    H = lam * np.eye(k)
    for _ in range(steps):
        p = expit(offset + b @ columns)
        gradient = columns @ (w * (y - p)) - lam * b
        H = (columns * (w * p * (1.0 - p))) @ columns.T + lam * np.eye(k)
        direction = np.linalg.solve(H, gradient)
        if gradient @ direction < 1e-16 * (1.0 + abs(now)):
            break
        size = 1.0
        while value(b + size * direction) < now and size > 1e-10:
            size *= 0.5
        b = b + size * direction
        now = value(b)
    return b, H


@equation("laplacej")
def laplace_law(
    columns: Array, offset: Array, y: Array, lam: float, weight: Array | None = None
) -> tuple[Array, Array]:
    """Lap(beta_j | X, Y, W_j): mean (mode) and precision of the normal law, two columns.

    offset is the linear predictor without frequency j.
    """
    return mode(columns, offset, y, lam, weight)


def log_normal_precision(b: Array, mean: Array, H: Array) -> float:
    """log N(b | mean, H^-1)."""
    L = cholesky(H)
    white = L.T @ (b - mean)
    return float(
        0.5 * log_det_from_cholesky(L) - 0.5 * white @ white - 0.5 * len(b) * np.log(2 * np.pi)
    )


@equation("class_sample")
def log_joint_conditional(
    columns: Array, b: Array, offset: Array, y: Array, lam: float, weight: Array | None = None
) -> float:
    """log P(beta_j) + log P(Y | X, W_j, beta_j); the prior of W_j cancels against the proposal."""
    prior = 0.5 * len(b) * np.log(lam / (2 * np.pi)) - 0.5 * lam * float(b @ b)
    return float(prior + log_likelihood(offset + b @ columns, y, weight))


@equation("lapclassaprrox")
def laplace_log_evidence(Phi: Array, y: Array, lam: float, weight: Array | None = None) -> float:
    """log P(Y | X, W) with beta integrated out by Laplace's method; Phi (P, n) as rows.

    log P(Y | b) + log P(b) + P/2 log(2 pi) - 1/2 log|A| at b = the mode. (The paper prints N for
    the P of 2 pi.)
    """
    b, H = mode(Phi, np.zeros(len(y)), y, lam, weight)
    return (
        log_joint_conditional(Phi, b, np.zeros(len(y)), y, lam, weight)
        + 0.5 * len(b) * float(np.log(2 * np.pi))
        - 0.5 * log_det_from_cholesky(cholesky(H))
    )


def newton_decrement(columns: Array, b: Array, offset: Array, y: Array, lam: float) -> float:
    """How far b is from the mode, in standard deviations: zero at the mode."""
    p = expit(offset + b @ columns)
    gradient = columns @ (y - p) - lam * b
    H = (columns * (p * (1.0 - p))) @ columns.T + lam * np.eye(len(b))
    return float(np.linalg.norm(solve_lower(cholesky(H), gradient[:, None])))
