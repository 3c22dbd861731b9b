"""The hyper-parameters of the model in one place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from banklearn.model.niw import NIW

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """Everything the model takes as given.

    psi_shape = None fixes Psi0 = diag(psi_shape-free scale) as the paper does: psi then stays
    at psi_mean.
    """

    mu0: Array
    kappa0: float
    nu0: float
    psi_mean: Array
    psi_shape: float | None = 1.0
    alpha_shape: float = 4.0
    alpha_rate: float = 1.0
    lam_log_mean: float = 0.0
    lam_log_sd: float = 5.0
    a0: float = 1.0
    b0: float = 1e-6

    @property
    def d(self) -> int:
        """Number of inputs."""
        return len(self.mu0)

    def base(self, psi: Array) -> NIW:
        """The base measure of the components for a given diagonal of Psi0."""
        return NIW(self.mu0, self.kappa0, np.diag(psi), self.nu0)

    def log_lam(self, lam: float) -> float:
        """Log density of log lam (a normal law)."""
        z = (np.log(lam) - self.lam_log_mean) / self.lam_log_sd
        return float(-0.5 * z * z - np.log(self.lam_log_sd) - 0.5 * np.log(2 * np.pi))

    def log_psi(self, psi: Array) -> float:
        """Log density of psi (independent gamma laws with mean psi_mean), 0 when fixed."""
        if self.psi_shape is None:
            return 0.0
        a, rate = self.psi_shape, self.psi_shape / self.psi_mean
        return float(np.sum(a * np.log(rate) - gammaln(a) + (a - 1) * np.log(psi) - rate * psi))
