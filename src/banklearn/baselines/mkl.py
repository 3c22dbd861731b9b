"""Multiple kernel learning on random features: K = sum_m alpha_m K_m, alpha_m >= 0.

A bank of RBF, Laplace and Cauchy kernels at several bandwidths shares the frequencies; the
features of all kernels stand side by side, phi = [sqrt(alpha_1) phi_1, sqrt(alpha_2) phi_2, ...].
``weights="uniform"`` is ridge or logistic regression on the plain concatenation, as the paper
does; ``weights="learned"`` maximises the evidence over alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .chunks import CHUNK_ROWS, Array, gram, weighted_features
from .estimator import FourierClassifier, FourierRegressor, one_hot
from .kernel_weights import (
    NoisePrior,
    feature_variances,
    learn_logistic_weights,
    learn_weights,
)
from .rks import optional_array
from .scaling import generator, make_scalers, split_rows
from .search import RIDGES
from .selection import (
    LOGISTIC_RIDGES,
    Scoring,
    check_select,
    choose_least_squares,
    choose_logistic,
    least_squares_scores,
    logistic_scores,
)
from .spectral import KERNELS, Bank, even_counts, make_bank

MULTIPLES = (0.5, 1.0, 2.0, 4.0)
TEMPERS = (0.0, 0.25, 0.5, 0.75, 1.0)


def check_weights(weights: str) -> None:
    """Refuse a way of weighting kernels that does not exist."""
    if weights not in ("learned", "uniform"):
        raise ValueError(f'weights={weights!r} is unknown; use "learned" or "uniform".')


def draw_bank(
    kernels: Sequence[str], multiples: Sequence[float], total: int, d: int, rng: np.random.Generator
) -> tuple[Bank, Array, np.ndarray]:
    """The bank, its frequencies at common scale 1 (M, d), and the kernel of each (M,)."""
    bank = make_bank(kernels, multiples, d)
    W0, kernel_of = bank.draw(even_counts(total, len(bank)), d, rng)
    return bank, W0, kernel_of


def temper(alpha: Array, t: float, uniform: Array) -> Array:
    """Weights between uniform (t = 0) and learned (t = 1), geometrically, summing to one."""
    alpha = alpha / alpha.sum()
    if t == 1.0:
        return alpha
    between = np.maximum(alpha, 1e-8) ** t * uniform ** (1.0 - t)
    return np.asarray(between / between.sum())


def choose_temper(
    alpha: Array, kernel_of: np.ndarray, lams: Array, score: Callable[[Array], Array]
) -> tuple[Array, float]:
    """The tempered weights and the ridge with the best hold-out score.

    ``score`` maps the amplitudes of the frequencies (M,) to the scores of all ridges (L,).
    """
    uniform = np.bincount(kernel_of) / kernel_of.size
    best = (-np.inf, uniform, 1.0)
    for t in TEMPERS:
        weights = temper(alpha, t, uniform)
        scores = score(amplitudes(weights, kernel_of))
        j = int(np.argmax(scores))
        if scores[j] > best[0]:
            best = (float(scores[j]), weights, float(lams[j]))
    return best[1], best[2]


def amplitudes(alpha: Array, kernel_of: np.ndarray) -> Array:
    """sqrt(alpha_m M / M_m) for each frequency, (M,)."""
    return np.sqrt(feature_variances(alpha, kernel_of)[0::2])


class MKLRegressor(FourierRegressor):
    """Ridge regression on the random features of a weighted bank of kernels.

    Parameters
    ----------
    n_frequencies : M, shared evenly by the kernels of the bank; there are 2M features.
    kernels, multiples : the bank is every kernel at every multiple of one common bandwidth.
    weights : "learned" maximises the evidence over alpha_m >= 0; "uniform" leaves them equal.
    select : "holdout" chooses scaling, common bandwidth and ridge by hold-out error, and how far
        to go from uniform to learned weights as well; "evidence" chooses everything by evidence.
    scaling, scales, lams, holdout, max_search_rows, a0, b0, chunk_rows : as in ``RKSRegressor``.
    random_state : int, RandomState or None; seed of the frequencies, the hold-out and the rows
        of the search. The same number gives the same fit.

    Attributes
    ----------
    alpha_, bank_, scale_, lam_, W_, noise_
        What was chosen and fitted; alpha_ (K,) sums to one.
    """

    def __init__(
        self,
        n_frequencies: int = 384,
        kernels: Sequence[str] = KERNELS,
        multiples: Sequence[float] = MULTIPLES,
        weights: str = "learned",
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
        self.kernels = kernels
        self.multiples = multiples
        self.weights = weights
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

    def fit(self, X: Any, y: Any) -> MKLRegressor:
        """Choose scaling, bandwidth, weights and ridge, then fit on all rows; X (N, d), y (N,)."""
        check_select(self.select)
        check_weights(self.weights)
        X, y = self._prepare(X, y)
        rng = generator(self.random_state)
        self.bank_, W0, kernel_of = draw_bank(
            self.kernels, self.multiples, self.n_frequencies, X.shape[1], rng
        )
        split = split_rows(X.shape[0], self.holdout, rng, self.max_search_rows)
        how = Scoring(self.select, split, self.a0, self.b0, self.chunk_rows)
        lams = RIDGES if self.lams is None else np.asarray(self.lams, dtype=float)
        self.choice_ = choose_least_squares(
            X,
            y[:, None],
            W0,
            make_scalers(X, self.scaling),
            optional_array(self.scales),
            lams,
            how,
            rng,
        )
        self.scaler_, self.scale_ = self.choice_.scaler, self.choice_.scale
        X, W, lam = self.scaler_(X), W0 / self.scale_, self.choice_.lam
        self.alpha_ = np.bincount(kernel_of) / kernel_of.size
        if self.weights == "learned":
            self.alpha_, lam = self._learn(X, y, W, kernel_of, lam, lams, how)
        self._finish(X, y, W, amplitudes(self.alpha_, kernel_of), lam)
        return self

    def _learn(
        self,
        X: Array,
        y: Array,
        W: Array,
        kernel_of: np.ndarray,
        lam: float,
        lams: Array,
        how: Scoring,
    ) -> tuple[Array, float]:
        """Weights that sum to one, and the ridge that goes with them."""
        rows = how.split.fit if self.select == "holdout" else np.arange(X.shape[0])
        stats = gram(X[rows], y[rows, None], W, None, self.chunk_rows)
        prior = NoisePrior(self.a0, self.b0)
        alpha = learn_weights(self.alpha_ / lam, [stats], kernel_of, prior)
        if self.select == "evidence":
            return alpha / alpha.sum(), 1.0 / float(alpha.sum())

        def score(amplitude: Array) -> Array:
            return least_squares_scores(X, y[:, None], W, lams, how, amplitude)

        return choose_temper(alpha, kernel_of, lams, score)


class MKLClassifier(FourierClassifier):
    """Logistic regression on the random features of a weighted bank of kernels.

    The weights alternate with the mode of the logistic model: given the mode, the likelihood is
    replaced by its quadratic expansion, whose evidence is maximised over alpha_m >= 0.  More than
    two classes share one alpha.

    Parameters
    ----------
    n_frequencies, kernels, multiples, weights : as in ``MKLRegressor``.
    scaling, scales, lams, select, holdout, n_shortlist, max_search_rows, chunk_rows : as in
        ``RKSClassifier``; the weights are learned on the rows of the search.
    random_state : int, RandomState or None; seed of the frequencies, the hold-out and the rows
        of the search. The same number gives the same fit.

    Attributes
    ----------
    alpha_, bank_, scale_, lam_, W_, beta_
        What was chosen and fitted; alpha_ (K,) sums to one.
    """

    def __init__(
        self,
        n_frequencies: int = 384,
        kernels: Sequence[str] = KERNELS,
        multiples: Sequence[float] = MULTIPLES,
        weights: str = "learned",
        scaling: str = "auto",
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
        self.kernels = kernels
        self.multiples = multiples
        self.weights = weights
        self.scaling = scaling
        self.scales = scales
        self.lams = lams
        self.select = select
        self.holdout = holdout
        self.n_shortlist = n_shortlist
        self.max_search_rows = max_search_rows
        self.chunk_rows = chunk_rows
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> MKLClassifier:
        """Choose scaling, bandwidth, weights and ridge, then fit on all rows; y (N,) labels."""
        check_select(self.select)
        check_weights(self.weights)
        X, codes = self._prepare(X, y)
        T = one_hot(codes, self.classes_.size)
        rng = generator(self.random_state)
        self.bank_, W0, kernel_of = draw_bank(
            self.kernels, self.multiples, self.n_frequencies, X.shape[1], rng
        )
        split = split_rows(X.shape[0], self.holdout, rng, self.max_search_rows)
        how = Scoring(self.select, split, chunk_rows=self.chunk_rows)
        lams = LOGISTIC_RIDGES if self.lams is None else np.asarray(self.lams, dtype=float)
        self.choice_ = choose_logistic(
            X,
            T,
            W0,
            make_scalers(X, self.scaling),
            optional_array(self.scales),
            lams,
            self.n_shortlist,
            how,
            rng,
        )
        self.scaler_, self.scale_ = self.choice_.scaler, self.choice_.scale
        X, W, lam = self.scaler_(X), W0 / self.scale_, self.choice_.lam
        self.alpha_ = np.bincount(kernel_of) / kernel_of.size
        if self.weights == "learned":
            self.alpha_, lam = self._learn(X, T, W, kernel_of, lam, lams, how)
        self._finish(X, T, W, amplitudes(self.alpha_, kernel_of), lam)
        return self

    def _learn(
        self,
        X: Array,
        T: Array,
        W: Array,
        kernel_of: np.ndarray,
        lam: float,
        lams: Array,
        how: Scoring,
    ) -> tuple[Array, float]:
        """Weights that sum to one, and the ridge that goes with them."""
        rows = how.split.fit if self.select == "holdout" else how.split.all
        Phi = weighted_features(X[rows], W)
        alpha = learn_logistic_weights(self.alpha_ / lam, Phi, T[rows], kernel_of)
        if self.select == "evidence":
            return alpha / alpha.sum(), 1.0 / float(alpha.sum())

        def score(amplitude: Array) -> Array:
            return logistic_scores(X, T, W, lams, how, amplitude)

        return choose_temper(alpha, kernel_of, lams, score)
