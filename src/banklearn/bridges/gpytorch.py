"""The learned kernel to GPyTorch, as an initialised kernel whose parameters can be trained on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.bridges.needed import needed
from banklearn.posterior.kernel import LearnedKernel

Array = NDArray[np.float64]


def to_gpytorch(kernel: LearnedKernel, draw: int | None = None) -> Any:
    """A GPyTorch kernel with the values of the learned one, k(0) = 1, in the user's units.

    With one varying input it is a ``SpectralMixtureKernel``. With several it is a kernel of the
    same family that keeps correlations between inputs: GPyTorch's own takes a product of cosines
    over the inputs, cos(a) cos(b), where a mixture of Gaussians in d dimensions has cos(a + b).

    Parameters
    ----------
    kernel : LearnedKernel
        For instance ``model.kernel_``, learned on inputs that were not transformed
        (``input_scaling="standard"``).
    draw : int or None
        One draw; None means the posterior mean, a mixture of the mixtures of up to
        ``kernel.max_draws`` draws.
    """
    with needed("gpytorch", "to_gpytorch"):
        import torch
        from gpytorch.kernels import SpectralMixtureKernel

    if not kernel.scaling.linear:
        raise ValueError(
            "This kernel was learned on transformed inputs (arcsinh or quantile), so it is not "
            "stationary in your units. Fit with input_scaling='standard' to get one that is."
        )
    pi, mu, Sigma = _mixture(kernel, draw)
    scale = kernel.scaling.scale
    mu, Sigma = mu / scale, Sigma / np.outer(scale, scale)
    active = np.flatnonzero(kernel.scaling.used).tolist()
    if mu.shape[1] > 1:
        from banklearn.bridges.gpytorch_mixture import GaussianMixtureKernel

        return GaussianMixtureKernel(
            *(torch.as_tensor(a) for a in (pi, mu, np.linalg.cholesky(Sigma))), active_dims=active
        )
    out = SpectralMixtureKernel(num_mixtures=len(pi), active_dims=active).double()
    # GPyTorch counts cycles, not radians, and takes only positive means: cos is even.
    tiny = torch.finfo(torch.float64).tiny
    means = np.maximum(np.abs(mu) / (2.0 * math.pi), tiny)
    out.mixture_weights = torch.as_tensor(np.maximum(pi, tiny))
    out.mixture_means = torch.as_tensor(means[:, None, :])
    out.mixture_scales = torch.as_tensor(np.sqrt(Sigma) / (2.0 * math.pi))
    return out


def _mixture(kernel: LearnedKernel, draw: int | None) -> tuple[Array, Array, Array]:
    """(pi, mu, Sigma) of a draw, or of the mean over draws."""
    if draw is not None:
        return kernel.mixture(draw)
    chosen = kernel.chosen()
    return (
        np.concatenate([d.pi for d in chosen]) / len(chosen),
        np.concatenate([d.mu for d in chosen]),
        np.concatenate([d.Sigma for d in chosen]),
    )
