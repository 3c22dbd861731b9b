"""Evidence of the targets, weights (and noise) integrated out, from the Gram statistic alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from banklearn.model.equations import equation
from banklearn.numerics.linalg import (
    JitterCount,
    cholesky,
    log_det_from_cholesky,
    solve_lower,
    solve_lower_transposed,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Ridge:
    """The factored normal equations A = G + lam I, and what follows from them.

    L is the lower Cholesky factor of A, v = L^-1 r, so that r'A^-1 r = v'v.
    """

    L: Array
    v: Array
    lam: float

    @property
    def mu_n(self) -> Array:
        """Posterior mean of the weights, A^-1 r."""
        return solve_lower_transposed(self.L, self.v[:, None]).ravel()

    @property
    def quadratic(self) -> float:
        """r' A^-1 r."""
        return float(self.v @ self.v)

    @property
    def log_det_ratio(self) -> float:
        """log |Lambda_0| - log |Lambda_n|."""
        return len(self.v) * float(np.log(self.lam)) - log_det_from_cholesky(self.L)


def ridge(G: Array, r: Array, lam: float, count: JitterCount | None = None) -> Ridge:
    """Factor A = G + lam I; G (P, P), r (P,)."""
    L = cholesky(G, count, lam)
    return Ridge(L, solve_lower(L, r[:, None]).ravel(), lam)


@equation("modev_int")
def gaussian_log_evidence(solution: Ridge, tt: float, n: float, a0: float, b0: float) -> float:
    """log p(Y | X, W, lam) with beta and noise integrated out.

    (2 pi)^(-n/2) Gamma(a_n)/Gamma(a_0) b_0^a_0 / b_n^a_n sqrt(|Lambda_0| / |Lambda_n|) with
    a_n = a_0 + n/2 and b_n = b_0 + (Y'Y - mu_n' Lambda_n mu_n) / 2.
    """
    a_n = a0 + 0.5 * n
    b_n = posterior_rate(solution, tt, b0)
    return float(
        -0.5 * n * np.log(2 * np.pi)
        + gammaln(a_n)
        - gammaln(a0)
        + a0 * np.log(b0)
        - a_n * np.log(b_n)
        + 0.5 * solution.log_det_ratio
    )


def posterior_rate(solution: Ridge, tt: float, b0: float) -> float:
    """b_n = b_0 + (Y'Y - mu_n' Lambda_n mu_n) / 2, never below b_0 (rounding could)."""
    return b0 + max(0.5 * (tt - solution.quadratic), 0.0)


def augmented_log_evidence(solution: Ridge) -> float:
    """log of the integral over beta of exp(r'beta - beta'G beta / 2) N(beta | 0, I / lam).

    What is left of a logistic likelihood, up to a factor without W and lam, once Polya-Gamma
    variables are given: G = Phi' diag(w) Phi, r = Phi' (Y - 1/2).
    """
    return 0.5 * (solution.log_det_ratio + solution.quadratic)
