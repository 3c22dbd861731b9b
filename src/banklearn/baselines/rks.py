"""Random kitchen sinks: a fixed RBF kernel's random features, then ridge or logistic regression.

omega_j ~ N(0, s^{-2} I) approximates K(x, x') = exp(-|x - x'|^2 / (2 s^2)).  Bandwidth s and
ridge lam are chosen together, on a hold-out of the training rows or by evidence.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from .chunks import CHUNK_ROWS, Array, gram, row_chunks, weighted_features
from .estimator import (
    FourierClassifier,
    FourierRegressor,
    class_probabilities,
    one_hot,
    ridge_penalty,
    with_intercept,
)
from .logistic import fit_logistic, in_memory
from .ridge import ridge_path
from .scaling import generator, holdout_rows, median_distance
from .search import RIDGES, Search, scale_grid, search_scales

LOGISTIC_RIDGES = np.logspace(1, -6, 8)
EXTRA_SCALES = 8


def check_select(select: str) -> None:
    """Refuse a way of selecting that does not exist."""
    if select not in ("holdout", "evidence"):
        raise ValueError(f'select={select!r} is unknown; use "holdout" or "evidence".')


def ridge_holdout_score(
    X: Array,
    Y: Array,
    fit: np.ndarray,
    out: np.ndarray,
    W: Array,
    lams: Array,
    chunk_rows: int,
) -> Array:
    """Minus the hold-out mean squared error of ridge regression for every ridge, (L,)."""
    path = ridge_path(gram(X[fit], Y[fit], W, chunk_rows=chunk_rows))
    beta = path.weights(lams)
    error = np.zeros(lams.size)
    for rows in row_chunks(out.size, chunk_rows):
        Phi = weighted_features(X[out[rows]], W)
        residual = Y[out[rows]][:, :, None] - np.tensordot(Phi, beta, axes=1)
        error += np.sum(residual**2, axis=(0, 1))
    return -error / out.size


class RKSRegressor(FourierRegressor):
    """Ridge regression on the random Fourier features of one RBF kernel.

    Parameters
    ----------
    n_frequencies : M; there are 2M features.
    scales : bandwidths to try on standardised inputs; None takes half octaves around the median
        distance and goes on while the best lies at the edge.
    lams : ridges to try; None takes three per decade from 1e-9 to 100.
    select : "holdout" (mean squared error on a share of the training rows) or "evidence".
    holdout : share of the training rows held out during the search; the last fit uses all.
    max_search_rows : the search looks at no more (random) rows than this; None looks at all.
    a0, b0 : inverse gamma prior of the noise variance of the standardised target.
    """

    def __init__(
        self,
        n_frequencies: int = 384,
        scales: ArrayLike | None = None,
        lams: ArrayLike | None = None,
        select: str = "holdout",
        holdout: float = 0.2,
        max_search_rows: int | None = 100_000,
        a0: float = 0.01,
        b0: float = 1e-6,
        chunk_rows: int = CHUNK_ROWS,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_frequencies = n_frequencies
        self.scales = scales
        self.lams = lams
        self.select = select
        self.holdout = holdout
        self.max_search_rows = max_search_rows
        self.a0 = a0
        self.b0 = b0
        self.chunk_rows = chunk_rows
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> RKSRegressor:
        """Choose bandwidth and ridge, then fit on all rows; X (N, d), y (N,)."""
        check_select(self.select)
        X, y = self._prepare(X, y)
        rng = generator(self.random_state)
        W0 = rng.standard_normal((self.n_frequencies, X.shape[1]))
        self.search_ = self._search(X, y[:, None], W0, rng)
        self.scale_, lam = self.search_.best
        self._finish(X, y, W0 / self.scale_, None, lam)
        return self

    def _search(self, X: Array, Y: Array, W0: Array, rng: np.random.Generator) -> Search:
        lams = RIDGES if self.lams is None else np.asarray(self.lams, dtype=float)
        scales = scale_grid(median_distance(X, rng)) if self.scales is None else self.scales
        fit, out = holdout_rows(X.shape[0], self.holdout, rng, self.max_search_rows)
        both = np.sort(np.concatenate([fit, out]))

        def score(scale: float) -> Array:
            if self.select == "evidence":
                stats = gram(X[both], Y[both], W0 / scale, chunk_rows=self.chunk_rows)
                return ridge_path(stats).log_evidence(lams, self.a0, self.b0)[0]
            return ridge_holdout_score(X, Y, fit, out, W0 / scale, lams, self.chunk_rows)

        extra = EXTRA_SCALES if self.scales is None else 0
        return search_scales(score, np.asarray(scales, dtype=float), lams, extra)


class RKSClassifier(FourierClassifier):
    """Logistic regression on the random Fourier features of one RBF kernel.

    A least-squares fit to the 0/1 targets ranks all bandwidths cheaply; the ``n_shortlist`` best
    are compared by logistic regression along the whole path of ridges.

    Parameters
    ----------
    n_frequencies, scales, holdout, chunk_rows, random_state : as in RKSRegressor.
    lams : ridges (prior precisions of the weights) to try, largest first.
    select : "holdout" (log loss on a share of the training rows) or "evidence" (Laplace).
    max_search_rows : the search looks at no more (random) rows than this; None looks at all.
    """

    def __init__(
        self,
        n_frequencies: int = 384,
        scales: ArrayLike | None = None,
        lams: ArrayLike | None = None,
        select: str = "holdout",
        holdout: float = 0.2,
        n_shortlist: int = 3,
        max_search_rows: int | None = 10_000,
        chunk_rows: int = CHUNK_ROWS,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_frequencies = n_frequencies
        self.scales = scales
        self.lams = lams
        self.select = select
        self.holdout = holdout
        self.n_shortlist = n_shortlist
        self.max_search_rows = max_search_rows
        self.chunk_rows = chunk_rows
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> RKSClassifier:
        """Choose bandwidth and ridge, then fit on all rows; X (N, d), y (N,) labels."""
        check_select(self.select)
        X, codes = self._prepare(X, y)
        rng = generator(self.random_state)
        W0 = rng.standard_normal((self.n_frequencies, X.shape[1]))
        self.search_ = self._search(X, one_hot(codes, self.classes_.size), W0, rng)
        self.scale_, lam = self.search_.best
        self._finish(X, codes, W0 / self.scale_, None, lam)
        return self

    def _search(self, X: Array, T: Array, W0: Array, rng: np.random.Generator) -> Search:
        scales = scale_grid(median_distance(X, rng)) if self.scales is None else self.scales
        fit, out = holdout_rows(X.shape[0], self.holdout, rng, self.max_search_rows)
        if self.select == "evidence":
            fit = np.sort(np.concatenate([fit, out]))
        Y = T - T[fit].mean(axis=0)

        def least_squares(scale: float) -> Array:
            W = W0 / scale
            if self.select == "evidence":
                path = ridge_path(gram(X[fit], Y[fit], W, chunk_rows=self.chunk_rows))
                return path.log_evidence(RIDGES, 0.01, 1e-6).sum(axis=0)
            return ridge_holdout_score(X, Y, fit, out, W, RIDGES, self.chunk_rows)

        extra = EXTRA_SCALES if self.scales is None else 0
        ranked = search_scales(least_squares, np.asarray(scales, dtype=float), RIDGES, extra)
        order = np.argsort(-ranked.scores.max(axis=1))[: self.n_shortlist]
        lams = LOGISTIC_RIDGES if self.lams is None else np.asarray(self.lams, dtype=float)

        def logistic(scale: float) -> Array:
            return logistic_scores(
                X[fit], T[fit], X[out], T[out], W0 / scale, lams, self.select == "evidence"
            )

        return search_scales(logistic, ranked.scales[np.sort(order)], lams)


def logistic_scores(
    X: Array, T: Array, X_out: Array, T_out: Array, W: Array, lams: Array, evidence: bool
) -> Array:
    """Score of logistic regression on (X, T) for every ridge, warm-started along the path, (L,).

    Minus the hold-out log loss, or the Laplace evidence summed over the 0/1 targets.
    """
    Phi, Phi_out = with_intercept(weighted_features(X, W)), weighted_features(X_out, W)
    betas = np.zeros((T.shape[1], Phi.shape[1]))
    scores = np.zeros(lams.size)
    for i, lam in enumerate(lams):
        penalty = ridge_penalty(float(lam), Phi_out.shape[1], X.shape[0])
        for c, t in enumerate(T.T):
            fit = fit_logistic(partial(in_memory, Phi, t), penalty, betas[c], tol=1e-3, warn=False)
            betas[c] = fit.beta
            scores[i] += fit.log_evidence
        if not evidence:
            p = class_probabilities(Phi_out @ betas[:, :-1].T + betas[:, -1])
            truth = np.hstack([1.0 - T_out, T_out]) if T.shape[1] == 1 else T_out
            scores[i] = float(np.sum(xlogy(truth, np.maximum(p, 1e-300)))) / X_out.shape[0]
    return scores
