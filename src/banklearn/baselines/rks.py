"""Random kitchen sinks: a fixed RBF kernel's random features, then ridge or logistic regression.

omega_j ~ N(0, s^{-2} I) approximates K(x, x') = exp(-|x - x'|^2 / (2 s^2)).  Input scaling,
bandwidth s and ridge lam are chosen together, on a hold-out of the training rows or by evidence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .chunks import CHUNK_ROWS, Array
from .estimator import FourierClassifier, FourierRegressor, one_hot
from .scaling import generator, make_scalers, split_rows
from .search import RIDGES
from .selection import (
    LOGISTIC_RIDGES,
    Scoring,
    check_select,
    choose_least_squares,
    choose_logistic,
)


def optional_array(values: ArrayLike | None) -> Array | None:
    """None stays None, everything else becomes a float array."""
    return None if values is None else np.asarray(values, dtype=float)


class RKSRegressor(FourierRegressor):
    """Ridge regression on the random Fourier features of one RBF kernel.

    Parameters
    ----------
    n_frequencies : M; there are 2M features.
    scaling : "standard", "robust", "common" or "arcsinh" (see ``make_scaler``), or "auto": the
        one with the best score.
    scales : bandwidths to try on scaled inputs; None takes octaves around the median distance,
        goes on while the best lies at the edge, then halves the gaps around it.
    lams : ridges to try; None takes three per decade from 1e-9 to 100.
    select : "holdout" (mean squared error on a share of the training rows) or "evidence".
    holdout : share of the training rows held out during the search; the last fit uses all.
    max_search_rows : the search looks at no more (random) rows than this; None looks at all.
    a0, b0 : inverse gamma prior of the noise variance of the standardised target.
    chunk_rows : rows worked on at a time; bounds the memory.
    random_state : int, RandomState or None; seed of the frequencies, the hold-out and the rows
        of the search. The same number gives the same fit.

    Attributes
    ----------
    scale_, lam_, W_, noise_, posterior_, choice_
        What was chosen and fitted; choice_ has all scores that were seen.
    """

    def __init__(
        self,
        n_frequencies: int = 384,
        scaling: str = "auto",
        scales: ArrayLike | None = None,
        lams: ArrayLike | None = None,
        select: str = "holdout",
        holdout: float = 0.2,
        max_search_rows: int | None = 20_000,
        a0: float = 0.01,
        b0: float = 1e-6,
        chunk_rows: int = CHUNK_ROWS,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_frequencies = n_frequencies
        self.scaling = scaling
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
        """Choose scaling, bandwidth and ridge, then fit on all rows; X (N, d), y (N,)."""
        check_select(self.select)
        X, y = self._prepare(X, y)
        rng = generator(self.random_state)
        W0 = rng.standard_normal((self.n_frequencies, X.shape[1]))
        split = split_rows(X.shape[0], self.holdout, rng, self.max_search_rows)
        self.choice_ = choose_least_squares(
            X,
            y[:, None],
            W0,
            make_scalers(X, self.scaling),
            optional_array(self.scales),
            RIDGES if self.lams is None else np.asarray(self.lams, dtype=float),
            Scoring(self.select, split, self.a0, self.b0, self.chunk_rows),
            rng,
        )
        self.scaler_, self.scale_ = self.choice_.scaler, self.choice_.scale
        self._finish(self.scaler_(X), y, W0 / self.scale_, None, self.choice_.lam)
        return self


class RKSClassifier(FourierClassifier):
    """Logistic regression on the random Fourier features of one RBF kernel.

    Parameters
    ----------
    n_frequencies, scaling, scales, holdout, chunk_rows : as in ``RKSRegressor``.
    lams : ridges (prior precisions of the weights) to try, largest first; None takes one per
        decade from 10 to 1e-8.
    select : "holdout" (log loss on a share of the training rows) or "evidence" (Laplace).
    n_shortlist : how many pairs of scaling and bandwidth are compared by logistic regression,
        after least squares has ranked all of them.
    max_search_rows : the search looks at no more (random) rows than this; None looks at all.
    random_state : int, RandomState or None; seed of the frequencies, the hold-out and the rows
        of the search. The same number gives the same fit.

    Attributes
    ----------
    scale_, lam_, W_, beta_, choice_, classes_
        What was chosen and fitted; W_ (M, d), beta_ (2M + 1, C) with the intercept last.
    """

    def __init__(
        self,
        n_frequencies: int = 384,
        scaling: str = "auto",
        scales: ArrayLike | None = None,
        lams: ArrayLike | None = None,
        select: str = "holdout",
        holdout: float = 0.2,
        n_shortlist: int = 4,
        max_search_rows: int | None = 10_000,
        chunk_rows: int = CHUNK_ROWS,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_frequencies = n_frequencies
        self.scaling = scaling
        self.scales = scales
        self.lams = lams
        self.select = select
        self.holdout = holdout
        self.n_shortlist = n_shortlist
        self.max_search_rows = max_search_rows
        self.chunk_rows = chunk_rows
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> RKSClassifier:
        """Choose scaling, bandwidth and ridge, then fit on all rows; X (N, d), y (N,) labels."""
        check_select(self.select)
        X, codes = self._prepare(X, y)
        T = one_hot(codes, self.classes_.size)
        rng = generator(self.random_state)
        W0 = rng.standard_normal((self.n_frequencies, X.shape[1]))
        split = split_rows(X.shape[0], self.holdout, rng, self.max_search_rows)
        self.choice_ = choose_logistic(
            X,
            T,
            W0,
            make_scalers(X, self.scaling),
            optional_array(self.scales),
            LOGISTIC_RIDGES if self.lams is None else np.asarray(self.lams, dtype=float),
            self.n_shortlist,
            Scoring(self.select, split, chunk_rows=self.chunk_rows),
            rng,
        )
        self.scaler_, self.scale_ = self.choice_.scaler, self.choice_.scale
        self._finish(self.scaler_(X), T, W0 / self.scale_, None, self.choice_.lam)
        return self
