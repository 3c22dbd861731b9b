"""The Fastfood form of A la Carte for many inputs.

A block of D = 2^ceil(log2 d) frequencies is W = mu_q + S H G P H B with diagonal S, G, B, a fixed
permutation P and the normalised Hadamard matrix H (columns beyond d are dropped).  3 D numbers
give D d entries, where a full covariance needs d (d + 1) / 2 for each component.

The product with the inputs is formed densely: next to the Gram matrix, which costs N (2M)^2, the
N M d of a dense product do not count unless d exceeds 4M, so the fast transform would not show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import hadamard

from .chunks import Array
from .marginal_likelihood import LikelihoodGradient
from .spectral_mixture import Limits, noise_limits, variance_limits
from .starts import Start


@dataclass(frozen=True)
class Fastfood:
    """log_v (Q,), mu (Q, d), the diagonals S, G, B (n_blocks, D), log_noise."""

    log_v: Array
    mu: Array
    S: Array
    G: Array
    B: Array
    log_noise: float

    def pack(self) -> Array:
        """All parameters in one vector."""
        parts = (self.log_v, self.mu, self.S, self.G, self.B, np.array([self.log_noise]))
        return np.concatenate([part.ravel() for part in parts])


@dataclass(frozen=True)
class FastfoodStart(Start):
    """Blocks of Fastfood frequencies; ``permutation`` (n_blocks, D), inputs d."""

    permutation: np.ndarray
    d: int

    def parameters(self, theta: Array) -> Fastfood:
        """The parameters in a vector, by name."""
        Q, blocks = self.n_components, self.permutation.shape
        size = self.permutation.size
        ends = np.cumsum([Q, Q * self.d, size, size, size])
        log_v, mu, S, G, B, log_noise = np.split(theta, ends)
        S, G, B = S.reshape(blocks), G.reshape(blocks), B.reshape(blocks)
        return Fastfood(log_v, mu.reshape(Q, self.d), S, G, B, float(log_noise[0]))

    def _core(self, G: Array) -> Array:
        """H G P H of every block, (n_blocks, D, D)."""
        H = normalised_hadamard(G.shape[1])
        return np.einsum("ik,bk,bkj->bij", H, G, H[self.permutation])

    def features(self, theta: Array) -> tuple[Array, Array, float]:
        """W (M, d), amplitudes (M,) and noise of a parameter vector."""
        now = self.parameters(theta)
        blocks = now.S[:, :, None] * self._core(now.G) * now.B[:, None, :]
        W = blocks.reshape(-1, blocks.shape[2])[: self.component.size, : self.d]
        counts = np.bincount(self.component)
        a = np.exp(now.log_v) * np.sqrt(self.component.size / counts)
        return W + now.mu[self.component], a[self.component], float(np.exp(now.log_noise))

    def gradient(self, found: LikelihoodGradient, theta: Array) -> Array:
        """Chain rule to weights, means, the three diagonals and noise."""
        now = self.parameters(theta)
        n_blocks, D = self.permutation.shape
        E = np.zeros((n_blocks * D, D))
        E[: self.component.size, : self.d] = found.W
        E = E.reshape(n_blocks, D, D)
        core, H = self._core(now.G), normalised_hadamard(D)
        S, B = now.S[:, :, None], now.B[:, None, :]
        d_core = S * E * B
        Q = self.n_components
        d_mu = np.array([found.W[self.component == q].sum(axis=0) for q in range(Q)])
        of_G = np.einsum("bkj,bkj->bk", np.einsum("ik,bij->bkj", H, d_core), H[self.permutation])
        return Fastfood(
            np.bincount(self.component, weights=found.log_amplitude).astype(np.float64),
            d_mu,
            np.sum(E * core * B, axis=2),
            of_G,
            np.sum(E * core * S, axis=1),
            found.log_noise,
        ).pack()

    def limits(self) -> Limits:
        """Bounds of the parameters."""
        free: Limits = [(None, None)] * (self.theta.size - self.n_components - 1)
        return [*variance_limits(self.n_components), *free, noise_limits()]


def normalised_hadamard(D: int) -> Array:
    """The orthogonal Hadamard matrix, (D, D)."""
    return np.asarray(hadamard(D) / np.sqrt(D))


def make_fastfood_start(
    n_frequencies: int, n_components: int, d: int, scale: float, rng: np.random.Generator
) -> FastfoodStart:
    """A random start whose rows look like N(0, I / scale^2): B = +-1, G ~ N(0, 1), chi rows."""
    D = 2 ** int(np.ceil(np.log2(max(d, 2))))
    n_blocks = -(-n_frequencies // D)
    if n_components > n_blocks:
        raise ValueError(
            f"{n_frequencies} frequencies of {d} inputs make {n_blocks} Fastfood blocks of {D}, "
            f"too few for {n_components} components; raise n_frequencies or ask for fewer."
        )
    owner = np.arange(n_blocks) * n_components // n_blocks
    component = np.repeat(owner, D)[:n_frequencies]
    G = rng.standard_normal((n_blocks, D))
    spread = rng.uniform(-1.0, 1.0, n_components) if n_components > 1 else np.zeros(1)
    width = np.exp(spread) / scale
    length = np.sqrt(rng.chisquare(D, (n_blocks, D)) * D)
    S = width[owner, None] * length / np.linalg.norm(G, axis=1, keepdims=True)
    B = rng.choice([-1.0, 1.0], (n_blocks, D))
    mu = rng.standard_normal((n_components, d)) * width[:, None]
    mu[0] = 0.0
    log_v = np.full(n_components, -0.5 * np.log(n_components))
    first = Fastfood(log_v, mu, S, G, B, float(np.log(0.1)))
    permutation = np.argsort(rng.random((n_blocks, D)), axis=1)
    return FastfoodStart(first.pack(), component, permutation, d)
