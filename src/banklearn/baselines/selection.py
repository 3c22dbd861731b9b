"""Choose input scaling, bandwidth and ridge together, for least squares and for logistic loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit, xlogy

from .chunks import CHUNK_ROWS, Array, gram, row_chunks, weighted_features
from .logistic import fit_logistic, in_memory
from .ridge import ridge_path
from .scaling import Scaler, Split, median_distance
from .search import RIDGES, Search, scale_grid, search_scales

LOGISTIC_RIDGES = np.logspace(1, -8, 10)
EXTRA_SCALES = 8


def check_select(select: str) -> None:
    """Refuse a way of selecting that does not exist."""
    if select not in ("holdout", "evidence"):
        raise ValueError(f'select={select!r} is unknown; use "holdout" or "evidence".')


@dataclass(frozen=True)
class Scoring:
    """How candidates are scored: on which rows, by hold-out or evidence, with which noise prior."""

    select: str
    split: Split
    a0: float = 0.01
    b0: float = 1e-6
    chunk_rows: int = CHUNK_ROWS


@dataclass(frozen=True)
class Choice:
    """What was chosen, and every score that was seen (by name of the scaling)."""

    scaling: str
    scaler: Scaler
    scale: float
    lam: float
    searches: dict[str, Search]


def least_squares_scores(
    X: Array, Y: Array, W: Array, lams: Array, how: Scoring, amplitude: Array | None = None
) -> Array:
    """Score of ridge regression of Y (N, C) on features of the scaled X for every ridge, (L,).

    Minus the hold-out mean squared error, or the evidence summed over the targets.
    """
    if how.select == "evidence":
        both = how.split.all
        path = ridge_path(gram(X[both], Y[both], W, amplitude, how.chunk_rows))
        return path.log_evidence(lams, how.a0, how.b0).sum(axis=0)
    fit, out = how.split.fit, how.split.out
    beta = ridge_path(gram(X[fit], Y[fit], W, amplitude, how.chunk_rows)).weights(lams)
    error = np.zeros(lams.size)
    for rows in row_chunks(out.size, how.chunk_rows):
        Phi = weighted_features(X[out[rows]], W, amplitude)
        residual = Y[out[rows]][:, :, None] - np.tensordot(Phi, beta, axes=1)
        error += np.sum(residual**2, axis=(0, 1))
    return -error / out.size


def choose_least_squares(
    X: Array,
    Y: Array,
    W0: Array,
    scalers: dict[str, Scaler],
    scales: Array | None,
    lams: Array,
    how: Scoring,
    rng: np.random.Generator,
) -> Choice:
    """The scaling, bandwidth and ridge of W = W0 / scale with the best least-squares score.

    X (N, d) unscaled, Y (N, C).  Without ``scales`` the grid lies around the median distance.
    """
    searches = {}
    for name, scaler in scalers.items():
        scaled = scaler(X)

        def score(scale: float, scaled: Array = scaled) -> Array:
            return least_squares_scores(scaled, Y, W0 / scale, lams, how)

        grid = scale_grid(median_distance(scaled, rng)) if scales is None else scales
        extra = EXTRA_SCALES if scales is None else 0
        searches[name] = search_scales(score, grid, lams, extra)
    name = max(searches, key=lambda name: searches[name].best_score)
    scale, lam = searches[name].best
    return Choice(name, scalers[name], scale, lam, searches)


def with_intercept(Phi: Array) -> Array:
    """Append the constant feature."""
    return np.hstack([Phi, np.ones((Phi.shape[0], 1))])


def ridge_penalty(lam: float, n_features: int, n_rows: int) -> Array:
    """Penalty lam for every feature and next to nothing for the constant, (n_features + 1,)."""
    penalty = np.full(n_features + 1, lam)
    penalty[-1] = min(lam, 1e-6 * n_rows)
    return penalty


def class_probabilities(F: Array) -> Array:
    """Probabilities (N, n_classes) from the logits (N, C) of the one-against-rest problems."""
    p = expit(F)
    if F.shape[1] == 1:
        return np.hstack([1.0 - p, p])
    return np.asarray(p / np.maximum(p.sum(axis=1, keepdims=True), 1e-300))


def logistic_scores(
    X: Array, T: Array, W: Array, lams: Array, how: Scoring, amplitude: Array | None = None
) -> Array:
    """Score of logistic regression for every ridge, warm-started along the path, (L,).

    Minus the hold-out log loss, or the Laplace evidence summed over the 0/1 targets T (N, C).
    """
    rows = how.split.all if how.select == "evidence" else how.split.fit
    Phi, Phi_out = with_intercept(weighted_features(X[rows], W, amplitude)), None
    betas = np.zeros((T.shape[1], Phi.shape[1]))
    scores = np.zeros(lams.size)
    for i, lam in enumerate(lams):
        penalty = ridge_penalty(float(lam), Phi.shape[1] - 1, rows.size)
        for c, t in enumerate(T[rows].T):
            fit = fit_logistic(partial(in_memory, Phi, t), penalty, betas[c], 1e-3, warn=False)
            betas[c] = fit.beta
            scores[i] += fit.log_evidence
        if how.select == "holdout":
            out = how.split.out
            if Phi_out is None:
                Phi_out = weighted_features(X[out], W, amplitude)
            p = class_probabilities(Phi_out @ betas[:, :-1].T + betas[:, -1])
            truth = np.hstack([1.0 - T[out], T[out]]) if T.shape[1] == 1 else T[out]
            scores[i] = float(np.sum(xlogy(truth, np.maximum(p, 1e-300)))) / out.size
    return scores


def choose_logistic(
    X: Array,
    T: Array,
    W0: Array,
    scalers: dict[str, Scaler],
    scales: Array | None,
    lams: Array,
    n_shortlist: int,
    how: Scoring,
    rng: np.random.Generator,
) -> Choice:
    """As ``choose_least_squares``, for logistic regression on 0/1 targets T (N, C).

    Least squares ranks all scalings and bandwidths cheaply; the ``n_shortlist`` best are
    compared by logistic regression along the whole path of ridges (largest first).
    """
    Y = T - T[how.split.fit].mean(axis=0)
    ranked = choose_least_squares(X, Y, W0, scalers, scales, RIDGES, how, rng).searches
    candidates = [
        (float(row.max()), name, float(scale))
        for name, search in ranked.items()
        for scale, row in zip(search.scales, search.scores, strict=True)
    ]
    short: dict[str, list[float]] = {}
    for _, name, scale in sorted(candidates, reverse=True)[:n_shortlist]:
        short.setdefault(name, []).append(scale)
    searches = {}
    for name, some in short.items():
        scaled = scalers[name](X)
        scores = [logistic_scores(scaled, T, W0 / scale, lams, how) for scale in sorted(some)]
        searches[name] = Search(np.array(sorted(some)), lams, np.array(scores))
    name = max(searches, key=lambda name: searches[name].best_score)
    scale, lam = searches[name].best
    return Choice(name, scalers[name], scale, lam, searches)
