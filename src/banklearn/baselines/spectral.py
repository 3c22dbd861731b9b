"""Three stationary kernels, their spectral densities, and banks of them.

| name    | k(t)                        | omega_i (independent over inputs) |
|---------|-----------------------------|-----------------------------------|
| rbf     | exp(-|t|_2^2 / (2 s^2))     | N(0, 1/s^2)                       |
| laplace | exp(-|t|_1 / s)             | Cauchy(0, 1/s)                    |
| cauchy  | prod_i 1 / (1 + t_i^2/s^2)  | Laplace(0, 1/s)                   |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .chunks import Array

KERNELS = ("rbf", "laplace", "cauchy")


def _check_kernel(kernel: str) -> None:
    if kernel not in KERNELS:
        raise ValueError(f"kernel {kernel!r} is unknown; the bank holds {', '.join(KERNELS)}.")


def draw_frequencies(kernel: str, n_frequencies: int, d: int, rng: np.random.Generator) -> Array:
    """Draws from the spectral density of a kernel with s = 1, (n_frequencies, d).

    Divide by s for another bandwidth.
    """
    _check_kernel(kernel)
    size = (n_frequencies, d)
    if kernel == "rbf":
        return rng.standard_normal(size)
    if kernel == "laplace":
        return rng.standard_cauchy(size)
    return rng.laplace(size=size)


def kernel_values(kernel: str, T: Array, s: float = 1.0) -> Array:
    """The kernel k(t) at lags T (..., d), exactly."""
    _check_kernel(kernel)
    T = np.asarray(T) / s
    if kernel == "rbf":
        return np.asarray(np.exp(-0.5 * np.sum(T**2, axis=-1)))
    if kernel == "laplace":
        return np.asarray(np.exp(-np.sum(np.abs(T), axis=-1)))
    return np.asarray(np.prod(1.0 / (1.0 + T**2), axis=-1))


@dataclass(frozen=True)
class Bank:
    """Kernels side by side: name and bandwidth of each, as multiples of one common scale."""

    kernels: tuple[str, ...]
    scales: Array

    def __len__(self) -> int:
        return len(self.kernels)

    def draw(
        self, counts: np.ndarray, d: int, rng: np.random.Generator
    ) -> tuple[Array, np.ndarray]:
        """Frequencies (M, d), ``counts[m]`` of kernel m, and the kernel of each (M,)."""
        parts = [
            draw_frequencies(kernel, int(count), d, rng) / s
            for kernel, s, count in zip(self.kernels, self.scales, counts, strict=True)
        ]
        return np.vstack(parts), np.repeat(np.arange(len(self)), counts)

    def values(self, T: Array, alpha: Array, scale: float = 1.0) -> Array:
        """The mixture sum_m alpha_m k_m(t) at lags T (..., d)."""
        terms = [
            a * kernel_values(kernel, T, s * scale)
            for kernel, s, a in zip(self.kernels, self.scales, alpha, strict=True)
        ]
        return np.asarray(np.sum(terms, axis=0))


def make_bank(kernels: Sequence[str], multiples: Sequence[float], d: int) -> Bank:
    """All kernels at all multiples of the common scale.

    The scale is an l2 distance.  The Laplace kernel measures l1 distances, which are about
    sqrt(2 d / pi) times as long for Gaussian differences, so its bandwidths are too.
    """
    for kernel in kernels:
        _check_kernel(kernel)
    unit = {"laplace": np.sqrt(2.0 * d / np.pi)}
    names = tuple(kernel for kernel in kernels for _ in multiples)
    scales = [unit.get(kernel, 1.0) * s for kernel in kernels for s in multiples]
    return Bank(names, np.array(scales, dtype=float))


def even_counts(total: int, n_parts: int) -> np.ndarray:
    """``total`` frequencies dealt out to ``n_parts`` kernels as evenly as possible."""
    if total < n_parts:
        raise ValueError(
            f"n_frequencies={total} is fewer than the {n_parts} kernels of the bank; raise it or "
            "name fewer kernels or multiples."
        )
    return np.full(n_parts, total // n_parts) + (np.arange(n_parts) < total % n_parts)
