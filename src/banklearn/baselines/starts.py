"""Starting points of A la Carte: parameters, the features they stand for, and the chain rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from .chunks import Array
from .first_mixtures import stratified_normals
from .marginal_likelihood import LikelihoodGradient, marginal_likelihood
from .spectral_mixture import (
    Limits,
    Mixture,
    bounds,
    frequencies,
    mixture_gradient,
    unpack,
)


@dataclass(frozen=True)
class Start(ABC):
    """One start: first parameters, and the component of each frequency (M,)."""

    theta: Array
    component: np.ndarray

    @property
    def n_components(self) -> int:
        """Q."""
        return int(self.component[-1]) + 1

    @abstractmethod
    def parameters(self, theta: Array) -> object:
        """What a parameter vector stands for, with names."""

    @abstractmethod
    def features(self, theta: Array) -> tuple[Array, Array, float]:
        """W (M, d), amplitudes (M,) and noise of a parameter vector."""

    @abstractmethod
    def gradient(self, found: LikelihoodGradient, theta: Array) -> Array:
        """Chain rule from W, amplitudes and noise to the parameter vector."""

    @abstractmethod
    def limits(self) -> Limits:
        """Bounds of the parameters."""

    def objective(self, X: Array, y: Array, chunk_rows: int, theta: Array) -> tuple[float, Array]:
        """Minus the log marginal likelihood and its gradient; huge where A is singular."""
        W, amplitude, noise = self.features(theta)
        try:
            found = marginal_likelihood(X, y, W, amplitude, noise, chunk_rows)
        except LinAlgError:
            return 1e25, np.zeros_like(theta)
        return -found.value, -self.gradient(found, theta)


@dataclass(frozen=True)
class MixtureStart(Start):
    """Frequencies mu_q + L_q w_j of a mixture of Gaussians, with fixed normals w (M, d)."""

    w: Array
    covariance: str

    def parameters(self, theta: Array) -> Mixture:
        """The mixture that a parameter vector stands for."""
        return unpack(theta, self.n_components, self.w.shape[1], self.covariance)

    def features(self, theta: Array) -> tuple[Array, Array, float]:
        """W (M, d), amplitudes (M,) and noise of a parameter vector."""
        mixture = self.parameters(theta)
        W, amplitude = frequencies(mixture, self.w, self.component)
        return W, amplitude, float(np.exp(mixture.log_noise))

    def gradient(self, found: LikelihoodGradient, theta: Array) -> Array:
        """Chain rule to weights, means, covariances and noise."""
        mixture = self.parameters(theta)
        return mixture_gradient(found, mixture, self.w, self.component, self.covariance)

    def limits(self) -> Limits:
        """Bounds of the parameters."""
        return bounds(self.n_components, self.w.shape[1], self.covariance)


def make_mixture_start(
    n_frequencies: int, mixture: Mixture, covariance: str, rng: np.random.Generator
) -> MixtureStart:
    """A start at a mixture, its frequencies dealt out evenly to the components."""
    Q, d = mixture.mu.shape
    component = np.arange(n_frequencies) * Q // n_frequencies
    w = stratified_normals(component, d, rng)
    return MixtureStart(mixture.pack(covariance), component, w, covariance)
