"""The mixture of Gaussians over frequencies as a vector to optimise.

omega_j = mu_q + L_q w_j with w_j ~ N(0, I) drawn once, j in component q; the kernel is
k(t) = sum_q v_q^2 exp(-t' L_q L_q' t / 2) cos(mu_q't), so a_j = v_q sqrt(M / M_q).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .chunks import Array
from .marginal_likelihood import LikelihoodGradient

MAX_LOG = 20.0

Limits = list[tuple[float | None, float | None]]


@dataclass(frozen=True)
class Mixture:
    """Parameters of Q components and the noise.

    log_v (Q,), mu (Q, d), L (Q, d, d) lower triangular with log of its diagonal stored on the
    diagonal, log_noise.  A diagonal covariance keeps everything below the diagonal at zero.
    """

    log_v: Array
    mu: Array
    L: Array
    log_noise: float

    def pack(self, covariance: str) -> Array:
        """All free parameters in one vector."""
        rows, columns = free_entries(self.mu.shape[1], covariance)
        entries = self.L[:, rows, columns].ravel()
        return np.concatenate([self.log_v, self.mu.ravel(), entries, [self.log_noise]])

    def factors(self) -> Array:
        """L_q with the exponential of the stored diagonal, (Q, d, d)."""
        out = self.L.copy()
        i = np.arange(out.shape[1])
        out[:, i, i] = np.exp(np.minimum(out[:, i, i], MAX_LOG))
        return out

    def covariances(self) -> Array:
        """Sigma_q = L_q L_q', (Q, d, d)."""
        L = self.factors()
        return L @ L.transpose(0, 2, 1)

    def kernel(self, T: Array) -> Array:
        """k(t) at lags T (n, d), (n,)."""
        spread = np.einsum("nd,qde->qne", T, self.factors())
        decay = np.exp(-0.5 * np.sum(spread**2, axis=2))
        return np.asarray(np.exp(2.0 * self.log_v) @ (decay * np.cos(self.mu @ T.T)))


def free_entries(d: int, covariance: str) -> tuple[np.ndarray, np.ndarray]:
    """Row and column numbers of the entries of L_q that are optimised."""
    if covariance == "diagonal":
        return np.arange(d), np.arange(d)
    if covariance == "full":
        return np.tril_indices(d)
    raise ValueError(f'covariance={covariance!r} is unknown; use "diagonal" or "full".')


def unpack(theta: Array, n_components: int, d: int, covariance: str) -> Mixture:
    """The inverse of ``Mixture.pack``."""
    rows, columns = free_entries(d, covariance)
    log_v, mu, entries, log_noise = np.split(
        theta, np.cumsum([n_components, n_components * d, n_components * rows.size])
    )
    L = np.zeros((n_components, d, d))
    L[:, rows, columns] = entries.reshape(n_components, -1)
    return Mixture(log_v, mu.reshape(n_components, d), L, float(log_noise[0]))


def frequencies(mixture: Mixture, w: Array, component: np.ndarray) -> tuple[Array, Array]:
    """W (M, d) and amplitudes (M,) from fixed normals w (M, d) and their components (M,)."""
    W = mixture.mu[component] + np.einsum("jde,je->jd", mixture.factors()[component], w)
    counts = np.bincount(component, minlength=mixture.log_v.size)
    a = np.exp(mixture.log_v) * np.sqrt(component.size / np.maximum(counts, 1))
    return W, a[component]


def mixture_gradient(
    gradient: LikelihoodGradient, mixture: Mixture, w: Array, component: np.ndarray, covariance: str
) -> Array:
    """Chain rule from frequencies, amplitudes and noise to the packed parameters."""
    Q, d = mixture.mu.shape
    d_log_v = np.bincount(component, weights=gradient.log_amplitude, minlength=Q)
    d_mu, d_L = np.zeros((Q, d)), np.zeros((Q, d, d))
    for q in range(Q):
        of_q = component == q
        d_mu[q] = gradient.W[of_q].sum(axis=0)
        d_L[q] = gradient.W[of_q].T @ w[of_q]
    i = np.arange(d)
    d_L[:, i, i] *= np.exp(np.minimum(mixture.L[:, i, i], MAX_LOG))
    rows, columns = free_entries(d, covariance)
    return np.concatenate(
        [d_log_v, d_mu.ravel(), d_L[:, rows, columns].ravel(), [gradient.log_noise]]
    )


def variance_limits(n_components: int) -> Limits:
    """Bounds of log v: beyond them the Gram matrix leaves double precision."""
    return [(-10.0, 5.0)] * n_components


def noise_limits() -> tuple[float | None, float | None]:
    """Bounds of the log noise of a standardised target."""
    return float(np.log(1e-9)), float(np.log(10.0))


def bounds(n_components: int, d: int, covariance: str) -> Limits:
    """Bounds of the packed parameters."""
    rows, columns = free_entries(d, covariance)
    of_L: Limits = [
        (-MAX_LOG, MAX_LOG) if i == j else (None, None) for i, j in zip(rows, columns, strict=True)
    ]
    free: Limits = [(None, None)] * (n_components * d)
    return [*variance_limits(n_components), *free, *(of_L * n_components), noise_limits()]
