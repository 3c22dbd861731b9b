"""The paper's joint logistic loss in weights and spectral parameters, with its gradient.

    f_i = sum_k nu_k^2 sum_j (beta^cos_kj cos zeta_ijk + beta^sin_kj sin zeta_ijk) + beta_0
    zeta_ijk = x_i' M_k w_kj + x_i' mu_k
    loss = sum_i log(1 + exp f_i) - Y_i f_i + lam / 2 (|beta^cos|^2 + |beta^sin|^2 + beta_0^2)

w_kj are standard normal, drawn once.  With more than two classes f, beta and beta_0 have one
column per class and the first term is the softmax loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp, softmax

from banklearn.model.features import fourier_features

from .chunks import Array, row_chunks
from .marginal_likelihood import frequency_gradient


@dataclass(frozen=True)
class RFOParameters:
    """nu (K,), M (K, d, d), mu (K, d), beta (2KD, C) rows cos_1, sin_1, ..., beta_0 (C,)."""

    nu: Array
    M: Array
    mu: Array
    beta: Array
    beta_0: Array

    def pack(self) -> Array:
        """All parameters in one vector."""
        parts = (self.nu, self.M, self.mu, self.beta, self.beta_0)
        return np.concatenate([part.ravel() for part in parts])

    def unpack(self, theta: Array) -> RFOParameters:
        """The parameters in ``theta``, in the shapes of these ones."""
        shapes = [part.shape for part in (self.nu, self.M, self.mu, self.beta, self.beta_0)]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
        parts = np.split(theta, ends)
        return RFOParameters(*(part.reshape(s) for part, s in zip(parts, shapes, strict=True)))

    def frequencies(self, w: Array, component: np.ndarray) -> Array:
        """W_kj = M_k w_kj + mu_k; w (KD, d), component (KD,) -> (KD, d)."""
        return np.einsum("jde,je->jd", self.M[component], w) + self.mu[component]


def loss_and_residual(F: Array, T: Array) -> tuple[float, Array]:
    """Logistic (one column) or softmax loss of logits F (n, C), and its derivative in F."""
    if F.shape[1] == 1:
        return float(np.sum(np.logaddexp(0.0, F) - T * F)), expit(F) - T
    value = float(np.sum(logsumexp(F, axis=1)) - np.sum(T * F))
    return value, np.asarray(softmax(F, axis=1) - T)


def rfo_loss(
    theta: Array,
    shapes: RFOParameters,
    X: Array,
    T: Array,
    w: Array,
    component: np.ndarray,
    lam: float,
    chunk_rows: int,
) -> tuple[float, Array]:
    """The loss and its gradient in the packed parameters; X (N, d), T (N, C) of 0/1."""
    now = shapes.unpack(theta)
    W = now.frequencies(w, component)
    share = np.repeat(now.nu[component] ** 2, 2)
    weighted_beta = share[:, None] * now.beta
    value = 0.5 * lam * float(np.sum(now.beta**2) + np.sum(now.beta_0**2))
    back, d_beta_0, d_W = np.zeros_like(now.beta), lam * now.beta_0, np.zeros_like(W)
    for rows in row_chunks(X.shape[0], chunk_rows):
        Phi = fourier_features(X[rows], W) * np.sqrt(W.shape[0])
        part, R = loss_and_residual(Phi @ weighted_beta + now.beta_0, T[rows])
        value += part
        back += Phi.T @ R
        d_beta_0 = d_beta_0 + R.sum(axis=0)
        d_W += frequency_gradient(X[rows], Phi, R @ weighted_beta.T)[0]
    per_feature = np.sum(back * now.beta, axis=1)
    K = now.nu.size
    d_nu = np.bincount(component, weights=per_feature[0::2] + per_feature[1::2], minlength=K)
    d_M, d_mu = np.zeros_like(now.M), np.zeros_like(now.mu)
    for k in range(K):
        of_k = component == k
        d_M[k] = d_W[of_k].T @ w[of_k]
        d_mu[k] = d_W[of_k].sum(axis=0)
    gradient = RFOParameters(
        2.0 * now.nu * d_nu, d_M, d_mu, share[:, None] * back + lam * now.beta, d_beta_0
    )
    return value, gradient.pack()
