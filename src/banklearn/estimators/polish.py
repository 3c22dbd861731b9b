"""One point instead of many draws: the authors' "MCMC, then MAP", as an option of its own."""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from banklearn.engines.choose import device_of, make_engine, to_memory
from banklearn.estimators import parameters as check
from banklearn.estimators.base import BankBase
from banklearn.estimators.class_weights import weigh_classes
from banklearn.estimators.classifier import BankClassifier
from banklearn.estimators.data import check_weight, numeric_target, validate_data
from banklearn.estimators.regressor import BankRegressor
from banklearn.likelihoods.bound import log_bound
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.likelihoods.logistic import Logistic
from banklearn.model import niw
from banklearn.model.evidence import posterior_rate
from banklearn.model.joint import State
from banklearn.numerics.duplicates import merge_rows
from banklearn.posterior.draws import Draw, covariance_root, weight_draws
from banklearn.posterior.kernel import learned_kernel
from banklearn.sampler.ascent import Summit, Weights, climb, measure, working_of
from banklearn.sampler.sweep import Model

Array = NDArray[np.float64]
E = TypeVar("E", bound=BankBase)

#: Turns between frequencies and lam (and, in classification, the bound of the likelihood).
ROUNDS = 3
#: Draws of a classifier whose evidence is looked at; that of a regression is known.
CANDIDATES = 8
#: Columns that stand for the covariance of the weights: one draw must do for all.
COLUMNS = 128


def polish(estimator: E, X: Any, y: Any, sample_weight: Any = None, *, max_iter: int = 60) -> E:
    """A fitted estimator reduced to one draw, climbed to the nearest mode of the posterior.

    The draw of the highest evidence is taken, its frequencies climb log p(Y | X, W, lam) +
    log p(W | components) by L-BFGS, in turn with lam, and the weights are those of the ridge there.
    In classification a lower bound stands for the evidence (:mod:`banklearn.likelihoods.bound`).

    What comes back predicts and saves like any other estimator, and is as small and quick as one
    draw. It has forgotten that the kernel is uncertain: its intervals are too narrow, and its log
    predictive density is worse than that of the average over draws.

    Parameters
    ----------
    estimator : fitted BankRegressor or BankClassifier; it is left as it is.
    X, y, sample_weight : the training rows, as arrays in memory.
    max_iter : steps of L-BFGS, rounded up to a multiple of three; one is about as dear as a sweep
        and a half.
    """
    if not isinstance(estimator, BankRegressor | BankClassifier):
        raise TypeError(
            f"polish takes a BankRegressor or a BankClassifier, not {type(estimator).__name__}."
        )
    check_is_fitted(estimator)
    check.whole("max_iter", max_iter, 1)
    begin = time.monotonic()
    device = device_of(X) or estimator.device
    rows, target, weight = _training_rows(estimator, to_memory(X), to_memory(y), sample_weight)
    engine = make_engine(device, estimator.input_scaling_(rows), target, weight)
    likelihood = (
        Logistic(estimator.tree_)
        if isinstance(estimator, BankClassifier)
        else Gaussian(float(estimator.a0), float(estimator.b0))
    )
    model = Model(estimator.prior_, likelihood, estimator.trend_)
    best = _best_draw(estimator.draws_, engine, model)
    each = -(-max_iter // ROUNDS)
    summit = climb(engine, model, _state(best, model), _weights(best), ROUNDS, each)
    out = copy.copy(estimator)
    out.draws_ = [_draw(best, summit, model)]
    out.kernel_ = learned_kernel(out)
    if isinstance(out, BankRegressor):
        out.error_law_ = None  # one draw cannot say what it would be without a row
    out._memory = None
    out.settling_ = None  # what the chains did is not what one draw did
    seconds = estimator.provenance_["seconds"] + time.monotonic() - begin
    out.provenance_ = {**estimator.provenance_, "seconds": round(seconds, 3), "polished": True}
    out.provenance_["settling"] = None
    out.provenance_["prior_share"] = out._prior_share_known(estimator.input_scaling_(rows))
    return out


def _training_rows(
    estimator: BankBase, X: Any, y: Any, sample_weight: Any
) -> tuple[Array, Array, Array | None]:
    """X, the target in model units and weights, as the fit saw them."""
    X, y = validate_data(estimator, X, y, dtype=np.float64, reset=False)
    weight = check_weight(sample_weight, X)
    if isinstance(estimator, BankClassifier):
        place = {label: i for i, label in enumerate(estimator.classes_.tolist())}
        known = np.array([place.get(label, -1) for label in y.tolist()])
        if (known < 0).any():
            raise ValueError(
                f"y holds the label {y[known < 0].tolist()[0]!r}, which the fit has not seen. Give "
                "the rows on which the estimator was fitted."
            )
        if estimator.class_weight is not None:
            weight = weigh_classes(estimator.class_weight, y, weight)
        target = np.argsort(estimator.stick_)[known].astype(np.float64)
    else:
        scaling = estimator.target_scaling_
        target = (numeric_target(y) - scaling.shift) / scaling.scale
    if weight is not None and not weight.all():
        X, target, weight = X[weight > 0], target[weight > 0], weight[weight > 0]
    return merge_rows(X, target, weight) if estimator.merge_duplicates else (X, target, weight)


def _state(draw: Draw, model: Model) -> State:
    """A state with the draw's components, each frequency in the likeliest of them."""
    log_p = np.stack(
        [
            np.log(np.maximum(pi, 1e-300)) + niw.log_normal(draw.W, mu, Sigma)
            for pi, mu, Sigma in zip(draw.pi, draw.mu, draw.Sigma, strict=True)
        ]
    )
    Z = log_p.argmax(axis=0).astype(np.int64)
    psi = model.prior.psi_mean
    return State(draw.W, Z, draw.mu, draw.Sigma, draw.alpha, draw.lam, psi)


def _weights(draw: Draw) -> Weights:
    return Weights(draw.mu_n, list(draw.root))


def _best_draw(draws: list[Draw], engine: Any, model: Model) -> Draw:
    """The draw of the highest evidence; of a classifier, among some that are evenly spaced."""
    if model.likelihood.fixed_weights:
        return max(draws, key=lambda draw: draw.log_evidence)
    places = np.linspace(0, len(draws) - 1, min(CANDIDATES, len(draws))).round().astype(int)

    def evidence(draw: Draw) -> float:
        state = _state(draw, model)
        working = working_of(engine, model, state, _weights(draw))
        gram, solved = measure(engine, model, state, working)
        return log_bound(model.likelihood, gram, solved.log_evidence)

    return max((draws[i] for i in places), key=evidence)


def _draw(best: Draw, summit: Summit, model: Model) -> Draw:
    """The summit as a draw."""
    solutions, gram = summit.solved.solutions, summit.gram
    rng = np.random.default_rng(0)  # of a sketch: no reason to differ from call to call
    if model.likelihood.fixed_weights:
        a_n = model.prior.a0 + 0.5 * float(gram.n[0])
        b_n = posterior_rate(solutions[0], float(gram.tt[0]), model.prior.b0)
        noise, dof = b_n / a_n, 2.0 * a_n
        roots = covariance_root(solutions[0].L, rng, COLUMNS)[None]
    else:
        noise, dof = 1.0, np.inf
        roots = weight_draws(solutions, rng, COLUMNS)
    return replace(
        best,
        W=summit.state.W,
        mu_n=np.stack([s.mu_n for s in solutions]),
        root=roots,
        noise=noise,
        dof=dof,
        lam=summit.state.lam,
        log_evidence=log_bound(model.likelihood, gram, summit.solved.log_evidence),
    )
