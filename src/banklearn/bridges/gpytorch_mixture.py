"""A GPyTorch kernel with a Gaussian mixture as spectral density, in any number of inputs."""

from __future__ import annotations

from typing import Any

import torch
from gpytorch.kernels import Kernel


class GaussianMixtureKernel(Kernel):
    """k(t) = sum_l pi_l exp(-t' Sigma_l t / 2) cos(mu_l' t).

    Parameters pi (through log weights), mu and the Cholesky factors of Sigma can be trained.
    """

    is_stationary = True
    has_lengthscale = False

    def __init__(self, pi: Any, mu: Any, L: Any, **options: Any) -> None:
        super().__init__(**options)
        tiny = torch.finfo(pi.dtype).tiny
        self.register_parameter("log_weight", torch.nn.Parameter(pi.clamp(min=tiny).log()))
        self.register_parameter("mu", torch.nn.Parameter(mu.clone()))
        self.register_parameter("root", torch.nn.Parameter(L.clone()))

    def forward(
        self, x1: Any, x2: Any, diag: bool = False, last_dim_is_batch: bool = False, **_: Any
    ) -> Any:
        """Values at pairs of rows: (..., n, m), or (..., n) for pairs of equal number."""
        lag = x1 - x2 if diag else x1.unsqueeze(-2) - x2.unsqueeze(-3)
        # One component after another: memory stays that of the result times d.
        total: Any = 0.0
        for log_weight, mu, root in zip(self.log_weight, self.mu, self.root, strict=True):
            quad = (lag @ root.tril()).square().sum(-1)
            total = total + (log_weight - 0.5 * quad).exp() * torch.cos(lag @ mu)
        return total
