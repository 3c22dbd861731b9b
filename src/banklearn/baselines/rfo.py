"""RFO, random frequency optimisation: logistic loss minimised jointly in weights and frequencies.

The loss is the paper's (``rfo_loss``).  It starts from the best RKS model, whose weights are
split evenly over the components, so the first step is never worse than a fixed kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from .chunks import CHUNK_ROWS, Array, row_chunks, weighted_features
from .climb import Climb, climb
from .estimator import FourierClassifier, one_hot
from .rfo_loss import RFOParameters, loss_and_residual, rfo_loss
from .rks import optional_array
from .scaling import Split, generator, make_scalers, split_rows
from .selection import (
    LOGISTIC_RIDGES,
    Scoring,
    choose_logistic,
    class_probabilities,
)


@dataclass(frozen=True)
class RFOStart:
    """One start: fixed normals w (KD, d), the component of each (KD,), first parameters."""

    w: Array
    component: np.ndarray
    first: RFOParameters

    def objective(
        self, X: Array, T: Array, lam: float, chunk_rows: int, theta: Array
    ) -> tuple[float, Array]:
        """The paper's loss and its gradient."""
        return rfo_loss(theta, self.first, X, T, self.w, self.component, lam, chunk_rows)

    def features(self, theta: Array) -> tuple[Array, Array, Array]:
        """W (KD, d), amplitudes (KD,) and weights with beta_0 last (2KD + 1, C)."""
        now = self.first.unpack(theta)
        amplitude = now.nu[self.component] ** 2 * np.sqrt(self.w.shape[0])
        return (
            now.frequencies(self.w, self.component),
            amplitude,
            np.vstack([now.beta, now.beta_0]),
        )

    def minus_log_loss(self, X: Array, T: Array, chunk_rows: int, theta: Array) -> float:
        """Minus the mean loss on rows that were not fitted."""
        W, amplitude, beta = self.features(theta)
        total = 0.0
        for rows in row_chunks(X.shape[0], chunk_rows):
            F = weighted_features(X[rows], W, amplitude) @ beta[:-1] + beta[-1]
            total += loss_and_residual(F, T[rows])[0]
        return -total / X.shape[0]


class RFOClassifier(FourierClassifier):
    """Logistic regression whose weights and spectral parameters are optimised together.

    Parameters
    ----------
    n_frequencies : K D, shared evenly by the components; there are twice as many features.
    n_components : number of components K, or several to try; every restart takes the next.
    lam : penalty of the weights; None takes the ridge that RKS would choose.
    n_restarts, restart_rows, restart_iter : starts, the rows each sees and its L-BFGS steps.
    max_iter : the most steps of the best start; how many is decided by the loss on held-out
        rows, then as many are taken on all rows.
    scaling, scales, holdout, max_search_rows, chunk_rows : as in ``RKSClassifier``.
    random_state : int, RandomState or None; seed of the frequencies, the hold-out and the restarts.
        The same number gives the same fit.

    Attributes
    ----------
    parameters_, W_, lam_, n_iter_, scores_
        What was fitted: nu, M, mu, beta, beta_0 on scaled inputs, the steps of L-BFGS from the
        best start, and the scores of all restarts.
    """

    def __init__(
        self,
        n_frequencies: int = 384,
        n_components: int | Sequence[int] = (1, 2, 4),
        lam: float | None = None,
        n_restarts: int = 3,
        restart_rows: int = 2000,
        restart_iter: int = 50,
        max_iter: int = 200,
        scaling: str = "auto",
        scales: ArrayLike | None = None,
        holdout: float = 0.2,
        max_search_rows: int | None = 10_000,
        chunk_rows: int = CHUNK_ROWS,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_frequencies = n_frequencies
        self.n_components = n_components
        self.lam = lam
        self.n_restarts = n_restarts
        self.restart_rows = restart_rows
        self.restart_iter = restart_iter
        self.max_iter = max_iter
        self.scaling = scaling
        self.scales = scales
        self.holdout = holdout
        self.max_search_rows = max_search_rows
        self.chunk_rows = chunk_rows
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> RFOClassifier:
        """Choose a start by hold-out loss, then optimise on all rows; X (N, d), y (N,) labels."""
        X, codes = self._prepare(X, y)
        T = one_hot(codes, self.classes_.size)
        rng = generator(self.random_state)
        split = split_rows(X.shape[0], self.holdout, rng, self.max_search_rows)
        W0 = rng.standard_normal((self.n_frequencies, X.shape[1]))
        self.choice_ = choose_logistic(
            X,
            T,
            W0,
            make_scalers(X, self.scaling),
            optional_array(self.scales),
            LOGISTIC_RIDGES,
            3,
            Scoring("holdout", split, chunk_rows=self.chunk_rows),
            rng,
        )
        self.scaler_, self.scale_ = self.choice_.scaler, self.choice_.scale
        self.lam_ = self.choice_.lam if self.lam is None else self.lam
        X = self.scaler_(X)
        start, best = self._optimise(X, T, split, rng)
        self.parameters_ = start.first.unpack(best.theta)
        self.W_, self.amplitude_, self.beta_ = start.features(best.theta)
        return self

    def _optimise(
        self, X: Array, T: Array, split: Split, rng: np.random.Generator
    ) -> tuple[RFOStart, Climb]:
        few = rng.permutation(split.fit)[: self.restart_rows]
        starts = [self._start(X, T, few, r, rng) for r in range(self.n_restarts)]
        climbs = [
            self._climb(start, start.first.pack(), X, T, few, split.out, self.restart_iter)
            for start in starts
        ]
        self.scores_ = np.array([one.score for one in climbs])
        best = int(np.argmax(self.scores_))
        start, theta = starts[best], climbs[best].theta
        fitted = self._fit_weights(start, theta, X[split.fit], T[split.fit])
        steps = self._climb(start, fitted, X, T, split.fit, split.out, self.max_iter).steps
        objective = partial(start.objective, X, T, self.lam_, self.chunk_rows)
        self.n_iter_ = max(climbs[best].steps + steps, 1)
        return start, climb(objective, self._fit_weights(start, theta, X, T), steps)

    def _start(
        self, X: Array, T: Array, rows: np.ndarray, r: int, rng: np.random.Generator
    ) -> RFOStart:
        """Start r: RKS at the chosen bandwidth, cut into K components."""
        numbers = np.atleast_1d(np.asarray(self.n_components))
        K, n = int(numbers[r % numbers.size]), self.n_frequencies
        if not 1 <= K <= n:
            raise ValueError(
                f"n_components holds {K}, but {n} frequencies can have 1 to {n} components."
            )
        d, C = X.shape[1], T.shape[1]
        w = rng.standard_normal((n, d))
        M = np.tile(np.eye(d) / self.scale_, (K, 1, 1))
        nu, mu = np.full(K, n**-0.25), np.zeros((K, d))
        first = RFOParameters(nu, M, mu, np.zeros((2 * n, C)), np.zeros(C))
        start = RFOStart(w, np.arange(n) * K // n, first)
        return replace(
            start, first=first.unpack(self._fit_weights(start, first.pack(), X[rows], T[rows]))
        )

    def _fit_weights(self, start: RFOStart, theta: Array, X: Array, T: Array) -> Array:
        """The same spectral parameters with the best weights for (X, T), by Newton steps."""
        self.W_, self.amplitude_, _ = start.features(theta)
        beta = self._mode(X, T, self.lam_)
        return replace(start.first.unpack(theta), beta=beta[:-1], beta_0=beta[-1]).pack()

    def _climb(
        self,
        start: RFOStart,
        theta: Array,
        X: Array,
        T: Array,
        rows: np.ndarray,
        out: np.ndarray,
        steps: int,
    ) -> Climb:
        """Climb on ``rows``, watched by the loss on the rows ``out``."""
        objective = partial(start.objective, X[rows], T[rows], self.lam_, self.chunk_rows)
        watch = partial(start.minus_log_loss, X[out], T[out], self.chunk_rows)
        return climb(objective, theta, steps, watch)

    def _probabilities(self, F: Array) -> Array:
        return class_probabilities(F) if F.shape[1] == 1 else np.asarray(softmax(F, axis=1))
