"""The paper's synthetic problem (section 4.1): one function, a kernel with two bumps.

k(t) = exp(-t^2 / (2 * 2^2)) (1/2 + 1/2 cos(3/4 pi t)), that is
rho = 1/2 N(0, 1/2^2) + 1/2 N(3/4 pi, 1/2^2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banklearn.model.features import fourier_features

Array = NDArray[np.float64]

PI = np.array([0.5, 0.5])
MU = np.array([[0.0], [0.75 * np.pi]])
SIGMA = np.array([[[0.25]], [[0.25]]])


@dataclass(frozen=True)
class Synthetic:
    """The problem and what made it.

    X (N, 1), y (N,); the spectral mixture pi (2,), mu (2, 1), Sigma (2, 1, 1); the frequencies
    W (M, 1) and weights beta (2M,) that were drawn; f (N,) without noise.
    """

    X: Array
    y: Array
    f: Array
    pi: Array
    mu: Array
    Sigma: Array
    W: Array
    beta: Array

    @staticmethod
    def kernel(t: ArrayLike) -> Array:
        """The true kernel k(t) at lags t (any shape)."""
        return synthetic_kernel(t)


def synthetic_kernel(t: ArrayLike) -> Array:
    """k(t) = exp(-t^2 / 8) (1 + cos(3/4 pi t)) / 2 at lags t (any shape)."""
    t = np.asarray(t, dtype=np.float64)
    return np.asarray(np.exp(-(t**2) / 8.0) * (0.5 + 0.5 * np.cos(0.75 * np.pi * t)))


def make_synthetic(
    n_samples: int = 1000,
    n_frequencies: int = 250,
    scale_x: float = 4.0,
    noise: float = 1.0,
    random_state: int | np.random.Generator | None = None,
) -> Synthetic:
    """x ~ N(0, scale_x^2), omega_j ~ rho, beta ~ N(0, I), y ~ N(phi(x)'beta, noise^2).

    The defaults are the paper's.  With a wider ``scale_x`` and more samples one function shows
    more of its kernel.
    """
    rng = np.random.default_rng(random_state)
    X = scale_x * rng.standard_normal((n_samples, 1))
    component = rng.choice(PI.size, size=n_frequencies, p=PI)
    W = MU[component] + np.sqrt(SIGMA[component, 0]) * rng.standard_normal((n_frequencies, 1))
    beta = rng.standard_normal(2 * n_frequencies)
    f = fourier_features(X, W) @ beta
    y = f + noise * rng.standard_normal(n_samples)
    return Synthetic(X, y, f, PI.copy(), MU.copy(), SIGMA.copy(), W, beta)
