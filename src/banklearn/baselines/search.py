"""Search over bandwidths where each bandwidth is scored for all ridges at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .chunks import CHUNK_ROWS, Array, gram
from .ridge import ridge_path

RIDGES = np.logspace(-9, 2, 34)


@dataclass(frozen=True)
class Search:
    """Scores (S, L) of bandwidths (S,) and ridges (L,), higher is better."""

    scales: Array
    lams: Array
    scores: Array

    @property
    def best(self) -> tuple[float, float]:
        """The bandwidth and the ridge with the highest score."""
        s, j = np.unravel_index(int(np.argmax(self.scores)), self.scores.shape)
        return float(self.scales[s]), float(self.lams[j])

    @property
    def best_score(self) -> float:
        """The highest score."""
        return float(self.scores.max())


def scale_grid(centre: float, octaves: int = 3) -> Array:
    """Bandwidths ``centre`` times 2^-octaves, ..., 1/2, 1, 2, ..., 2^octaves."""
    return np.asarray(centre * 2.0 ** np.arange(-octaves, octaves + 1), dtype=np.float64)


def search_scales(
    score: Callable[[float], Array], scales: Array, lams: Array, max_extra: int = 0
) -> Search:
    """Score every bandwidth, then up to ``max_extra`` more where the best one lies.

    While the best is at an edge the grid goes on beyond it; after that the gaps on both sides
    of the best are halved once.
    """
    table = {float(s): score(float(s)) for s in scales}
    if max_extra and len(table) > 1:
        step = float(scales[1] / scales[0])
        for _ in range(max_extra):
            ordered = sorted(table)
            best = max(ordered, key=lambda s: float(table[s].max()))
            if best == ordered[-1]:
                beyond = best * step
            elif best == ordered[0]:
                beyond = best / step
            else:
                break
            table[beyond] = score(beyond)
        for near in (best / step**0.5, best * step**0.5):
            table[near] = score(near)
    ordered = sorted(table)
    return Search(np.array(ordered), lams, np.array([table[s] for s in ordered]))


@dataclass(frozen=True)
class RBFEvidence:
    """The RBF kernel exp(-|t|^2 / (2 scale^2)) with the highest evidence, and the whole table."""

    scale: float
    lam: float
    log_evidence: float
    W: Array
    table: Search


def rbf_evidence_search(
    X: Array,
    y: Array,
    scales: ArrayLike,
    lams: ArrayLike = RIDGES,
    n_frequencies: int = 384,
    random_state: int | None = None,
    a0: float = 0.01,
    b0: float = 1e-6,
    chunk_rows: int = CHUNK_ROWS,
) -> RBFEvidence:
    """The RBF random features with the highest evidence on (X, y), both used as they are.

    For each scale W = W0 / scale with the same W0 ~ N(0, I), so that scales compete on one draw;
    the evidence is the paper's, weights and noise integrated out.  X (N, d), y (N,).
    """
    W0 = np.random.default_rng(random_state).standard_normal((n_frequencies, X.shape[1]))
    lams = np.asarray(lams, dtype=float)

    def score(scale: float) -> Array:
        path = ridge_path(gram(X, y[:, None], W0 / scale, chunk_rows=chunk_rows))
        return path.log_evidence(lams, a0, b0)[0]

    table = search_scales(score, np.asarray(scales, dtype=float), lams)
    scale, lam = table.best
    return RBFEvidence(scale, lam, table.best_score, W0 / scale, table)
