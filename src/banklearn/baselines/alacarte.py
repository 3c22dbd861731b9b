"""A la Carte: a mixture spectral kernel optimised by marginal likelihood.

The mixture weights, means and covariances of the frequencies and the noise maximise the GP
marginal likelihood by L-BFGS with analytic gradients, from several starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from .chunks import CHUNK_ROWS, Array, gram, row_chunks, weighted_features
from .climb import Climb, climb
from .estimator import FourierRegressor
from .fastfood import make_fastfood_start
from .first_mixtures import energy_mixture, random_mixture
from .ridge import ridge_posterior
from .scaling import Split, generator, make_scalers, split_rows
from .search import RIDGES
from .selection import Scoring, check_select, choose_least_squares
from .starts import Start, make_mixture_start


class AlaCarteRegressor(FourierRegressor):
    """GP regression with a mixture spectral kernel whose parameters are optimised.

    Parameters
    ----------
    n_frequencies : M, shared evenly by the components; there are 2M features.
    n_components : number of mixture components, or several to try; every restart takes the next.
    covariance : "diagonal" or "full" covariances of the components, or "fastfood" (for many
        inputs: blocks S H G P H B with learned diagonals, see ``banklearn.baselines.fastfood``).
    n_restarts, restart_rows, restart_iter : starts, the rows each sees and its L-BFGS steps.
    max_iter : steps of the best start on (at most ``max_search_rows``) rows.
    select : "holdout" compares starts and stops the climb by the error on held-out rows;
        "evidence" goes by the marginal likelihood alone, as A la Carte was published.
    scaling, scales, holdout, max_search_rows, a0, b0, chunk_rows : as in ``RKSRegressor``, whose
        search also gives the bandwidth around which the starts lie.
    random_state : int, RandomState or None; seed of the frequencies, the hold-out and the restarts.
        The same number gives the same fit.

    Attributes
    ----------
    mixture_, W_, lam_, noise_, n_iter_, scores_
        What was fitted: a ``Mixture`` or ``Fastfood`` on scaled inputs, the steps of L-BFGS from
        the best start, and the scores of all restarts.
    """

    def __init__(
        self,
        n_frequencies: int = 384,
        n_components: int | Sequence[int] = (2, 4),
        covariance: str = "diagonal",
        n_restarts: int = 4,
        restart_rows: int = 2000,
        restart_iter: int = 40,
        max_iter: int = 100,
        scaling: str = "auto",
        scales: Any = None,
        select: str = "holdout",
        holdout: float = 0.2,
        max_search_rows: int | None = 20_000,
        a0: float = 0.01,
        b0: float = 1e-6,
        chunk_rows: int = CHUNK_ROWS,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_frequencies = n_frequencies
        self.n_components = n_components
        self.covariance = covariance
        self.n_restarts = n_restarts
        self.restart_rows = restart_rows
        self.restart_iter = restart_iter
        self.max_iter = max_iter
        self.scaling = scaling
        self.scales = scales
        self.select = select
        self.holdout = holdout
        self.max_search_rows = max_search_rows
        self.a0 = a0
        self.b0 = b0
        self.chunk_rows = chunk_rows
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> AlaCarteRegressor:
        """Optimise the mixture, then fit weights and noise on all rows; X (N, d), y (N,)."""
        check_select(self.select)
        X, y = self._prepare(X, y)
        rng = generator(self.random_state)
        split = split_rows(X.shape[0], self.holdout, rng, self.max_search_rows)
        W0 = rng.standard_normal((self.n_frequencies, X.shape[1]))
        how = Scoring(self.select, split, self.a0, self.b0, self.chunk_rows)
        self.choice_ = choose_least_squares(
            X, y[:, None], W0, make_scalers(X, self.scaling), self.scales, RIDGES, how, rng
        )
        self.scaler_, self.scale_ = self.choice_.scaler, self.choice_.scale
        X = self.scaler_(X)
        start, theta = self._optimise(X, y, W0, split, rng)
        self.mixture_ = start.parameters(theta)
        W, amplitude, noise = start.features(theta)
        self._finish(X, y, W, amplitude, noise)
        return self

    def _optimise(
        self, X: Array, y: Array, W0: Array, split: Split, rng: np.random.Generator
    ) -> tuple[Start, Array]:
        """The best start and its parameters after climbing.

        With a hold-out, the number of steps is found on the other rows, then taken on all.
        """
        rows = split.fit if self.select == "holdout" else split.all
        few = rng.permutation(rows)[: self.restart_rows]
        energy = self._energy(X[few], y[few], W0)
        starts = [self._start(r, W0 / self.scale_, energy, rng) for r in range(self.n_restarts)]
        climbs = [
            self._climb(start, start.theta, self.restart_iter, X, y, few, split.out)
            for start in starts
        ]
        self.scores_ = np.array([one.score for one in climbs])
        best = int(np.argmax(self.scores_))
        start, theta = starts[best], climbs[best].theta
        last = self._climb(start, theta, self.max_iter, X, y, rows, split.out)
        if self.select == "holdout":
            both = split.all
            objective = partial(start.objective, X[both], y[both], self.chunk_rows)
            last = climb(objective, theta, last.steps, None, start.limits())
        self.n_iter_ = max(climbs[best].steps + last.steps, 1)
        return start, last.theta

    def _energy(self, X: Array, y: Array, W0: Array) -> Array:
        """beta_cos^2 + beta_sin^2 of the RBF model that the search chose, (M,)."""
        stats = gram(X, y[:, None], W0 / self.scale_, None, self.chunk_rows)
        beta = ridge_posterior(stats, self.choice_.lam, self.a0, self.b0).mu_n
        return np.asarray(beta[0::2] ** 2 + beta[1::2] ** 2)

    def _start(self, r: int, W: Array, energy: Array, rng: np.random.Generator) -> Start:
        """Start r: random around the RBF kernel, or every other one at its strongest clusters."""
        numbers = np.atleast_1d(np.asarray(self.n_components))
        Q = int(numbers[r % numbers.size])
        M = self.n_frequencies
        if not 1 <= Q <= M:
            raise ValueError(
                f"n_components holds {Q}, but {M} frequencies can have 1 to {M} components."
            )
        if self.covariance == "fastfood":
            return make_fastfood_start(M, Q, W.shape[1], self.scale_, rng)
        if (r // numbers.size) % 2:
            mixture = energy_mixture(Q, W, energy, rng)
        else:
            mixture = random_mixture(Q, W.shape[1], self.scale_, rng)
        return make_mixture_start(M, mixture, self.covariance, rng)

    def _climb(
        self,
        start: Start,
        theta: Array,
        steps: int,
        X: Array,
        y: Array,
        rows: np.ndarray,
        out: np.ndarray,
    ) -> Climb:
        """Climb on ``rows``, watched by the error on the rows ``out`` if there is a hold-out."""
        X_fit, y_fit = X[rows], y[rows]

        def minus_holdout_error(theta: Array) -> float:
            W, amplitude, noise = start.features(theta)
            stats = gram(X_fit, y_fit[:, None], W, amplitude, self.chunk_rows)
            posterior = ridge_posterior(stats, noise, self.a0, self.b0)
            error = 0.0
            for part in row_chunks(out.size, self.chunk_rows):
                Phi = weighted_features(X[out[part]], W, amplitude)
                error += float(np.sum((y[out[part]] - posterior.mean(Phi)) ** 2))
            return -error / out.size

        watch = minus_holdout_error if self.select == "holdout" else None
        objective = partial(start.objective, X_fit, y_fit, self.chunk_rows)
        return climb(objective, theta, steps, watch, start.limits())
