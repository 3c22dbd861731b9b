"""The stationary kernel of a Gaussian mixture spectral density, exactly and by features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from banklearn.model.equations import equation
from banklearn.model.features import fourier_features

Array = NDArray[np.float64]


@equation("mixkern")
def mixture_kernel(t: Array, pi: Array, mu: Array, Sigma: Array) -> Array:
    """k(t) = sum_l pi_l exp(-t' Sigma_l t / 2) cos(mu_l' t) for lags t (..., d).

    pi (L,), mu (L, d), Sigma (L, d, d).
    """
    t = np.asarray(t, dtype=np.float64)
    quad = np.einsum("...i,lij,...j->...l", t, Sigma, t, optimize=True)
    return np.asarray((np.exp(-0.5 * quad) * np.cos(t @ np.asarray(mu).T)) @ pi)


@equation("approxmix")
def feature_kernel(X: Array, Y: Array, W: Array) -> Array:
    """K(x, y) ~ phi(x)' phi(y), the random feature estimate, (n, m)."""
    return fourier_features(X, W) @ fourier_features(Y, W).T


def empirical_kernel(t: Array, W: Array) -> Array:
    """k(t) = mean_j cos(W_j' t): the feature estimate as a function of lags t (..., d)."""
    return np.asarray(np.cos(np.asarray(t, dtype=np.float64) @ W.T).mean(axis=-1))


def mixture_spectral_density(omega: Array, pi: Array, mu: Array, Sigma: Array) -> Array:
    """rho(omega) = sum_l pi_l N(omega | mu_l, Sigma_l), made symmetric, for omega (..., d).

    A real kernel cannot tell omega from -omega, so the mean of both is returned.
    """
    omega = np.asarray(omega, dtype=np.float64)
    L = np.linalg.cholesky(Sigma)
    log_norm = -np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1) - 0.5 * mu.shape[1] * np.log(
        2 * np.pi
    )
    density = np.zeros(omega.shape[:-1])
    for k in range(len(pi)):
        for sign in (1.0, -1.0):
            white = np.linalg.solve(L[k], (sign * omega - mu[k])[..., None]).squeeze(-1)
            density += 0.5 * pi[k] * np.exp(log_norm[k] - 0.5 * (white**2).sum(axis=-1))
    return density
