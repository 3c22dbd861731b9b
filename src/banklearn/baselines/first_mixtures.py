"""Where A la Carte's climbs begin: random mixtures, and mixtures that a first fit suggests."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from sklearn.cluster import KMeans

from .chunks import Array
from .spectral_mixture import Mixture

NOISE = 0.1  # of a standardised target


def stratified_normals(component: np.ndarray, d: int, rng: np.random.Generator) -> Array:
    """Standard normals (M, d), a Latin hypercube within each component: no gaps, no clumps.

    The optimiser moves all frequencies of a component together, so a gap would stay a gap.
    """
    w = np.empty((component.size, d))
    for q in np.unique(component):
        of_q = np.flatnonzero(component == q)
        strata = np.argsort(rng.random((of_q.size, d)), axis=0)
        w[of_q] = ndtri((strata + rng.random((of_q.size, d))) / of_q.size)
    return w


def _mixture(log_v: Array, mu: Array, width: Array) -> Mixture:
    """Diagonal components with the given widths (Q, d)."""
    d = mu.shape[1]
    L = np.zeros((mu.shape[0], d, d))
    L[:, np.arange(d), np.arange(d)] = np.log(width)
    return Mixture(log_v, mu, L, float(np.log(NOISE)))


def random_mixture(n_components: int, d: int, scale: float, rng: np.random.Generator) -> Mixture:
    """A random start around the RBF kernel of bandwidth ``scale``.

    The first component has mean zero; bandwidths are spread over a factor of e either way and
    the other means over the width of their component.
    """
    spread = rng.uniform(-1.0, 1.0, n_components) if n_components > 1 else np.zeros(1)
    width = np.tile((np.exp(spread) / scale)[:, None], (1, d))
    mu = rng.standard_normal((n_components, d)) * width
    mu[0] = 0.0
    return _mixture(np.full(n_components, -0.5 * np.log(n_components)), mu, width)


def energy_mixture(n_components: int, W: Array, energy: Array, rng: np.random.Generator) -> Mixture:
    """A start at the clusters of frequencies that a first ridge regression uses most.

    W (M, d) frequencies, energy (M,) = beta_cos^2 + beta_sin^2.  The sign of a frequency means
    nothing, so all are turned to one side; k-means weighted by energy, widths jittered.
    """
    energy = energy / max(float(energy.max()), 1e-300) + 1e-6
    axis = np.linalg.eigh((W.T * energy) @ W)[1][:, -1]
    W = np.where((W @ axis)[:, None] < 0.0, -W, W)
    seed = int(rng.integers(2**31 - 1))
    clusters = KMeans(n_components, init="random", n_init=1, random_state=seed)
    label = clusters.fit(W, sample_weight=energy).labels_
    overall = np.sqrt(np.average(W**2, axis=0, weights=energy))
    mu, width = np.zeros((n_components, W.shape[1])), np.tile(overall, (n_components, 1))
    share = np.full(n_components, 1e-3)
    for q in np.unique(label):
        of_q = label == q
        mu[q] = np.average(W[of_q], axis=0, weights=energy[of_q])
        variance = np.average((W[of_q] - mu[q]) ** 2, axis=0, weights=energy[of_q])
        width[q] = np.maximum(np.sqrt(variance), 0.05 * overall)
        share[q] += energy[of_q].sum()
    width *= np.exp(rng.uniform(-0.5, 0.5, width.shape))
    return _mixture(0.5 * np.log(share / share.sum()), mu, np.maximum(width, 1e-8))
