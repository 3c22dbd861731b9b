"""Polishing climbs, and gives one draw that works like any other estimator."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from sklearn.exceptions import NotFittedError

from banklearn import BankClassifier, BankFeatures, BankRegressor, load_model, polish
from banklearn.engines import MemoryEngine
from banklearn.estimators import polish as module
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.features import feature_rows
from banklearn.numerics.linalg import JitterCount
from banklearn.sampler import ascent, precision
from banklearn.sampler.sweep import Model
from helpers import make_problem
from trees import rare_classes

SMALL = {"n_frequencies": 12, "n_warmup": 15, "n_draws": 6, "thin": 1, "random_state": 0}


def waves(seed, n=260):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (n, 2))
    f = np.sin(3.0 * X[:, 0]) + 0.5 * np.cos(2.0 * X[:, 1])
    return X, f, rng


@pytest.fixture(scope="module")
def regression():
    X, f, rng = waves(0)
    y = 40.0 + 10.0 * (f + 0.2 * rng.standard_normal(len(f)))
    return BankRegressor(**SMALL).fit(X[:200], y[:200]), X, y


@pytest.fixture(scope="module")
def labels():
    X, f, rng = waves(1)
    y = np.where(f + 0.3 * rng.standard_normal(len(f)) > 0, "up", "down")
    return BankClassifier(**SMALL).fit(X[:200], y[:200]), X, y


def test_a_regression_climbs_above_every_draw(regression):
    model, X, y = regression
    before = [draw.log_evidence for draw in model.draws_]
    point = polish(model, X[:200], y[:200])
    assert type(point) is BankRegressor
    assert len(point.draws_) == 1
    assert point.draws_[0].log_evidence > max(before) + 1.0
    assert len(model.draws_) == len(before)  # what was given is left as it was
    assert point.settling_ is None  # what the chains did is not what one draw did
    assert point.provenance_["settling"] is None
    assert model.provenance_["settling"] is model.settling_
    assert model.predict(X[:3]) != pytest.approx(point.predict(X[:3]))
    mean, std = point.predict(X[200:], return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()
    assert np.mean((mean - y[200:]) ** 2) < 0.5 * y.var()
    assert np.isfinite(point.log_predictive_density(X[200:], y[200:])).all()


def test_more_steps_climb_higher(regression):
    model, X, y = regression
    heights = [
        polish(model, X[:200], y[:200], max_iter=steps).draws_[0].log_evidence for steps in (1, 60)
    ]
    assert heights[1] > heights[0]


def test_the_weights_are_the_ridge_at_the_frequencies(regression):
    model, X, y = regression
    point = polish(model, X[:200], y[:200])
    (draw,) = point.draws_
    Phi = feature_rows(point.input_scaling_(X[:200]), draw.W, point.trend_)
    target = (y[:200] - point.target_scaling_.shift) / point.target_scaling_.scale
    ridge = np.linalg.solve(Phi @ Phi.T + draw.lam * np.eye(len(Phi)), Phi @ target)
    np.testing.assert_allclose(draw.mu_n[0], ridge, rtol=1e-5, atol=1e-7)


def test_two_classes(labels):
    model, X, y = labels
    point = polish(model, X[:200], y[:200])
    p = point.predict_proba(X[200:])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert ((p > 0) & (p < 1)).all()
    assert point.score(X[200:], y[200:]) > 0.7
    again = polish(model, X[:200], y[:200])
    np.testing.assert_array_equal(p, again.predict_proba(X[200:]))


@pytest.fixture(scope="module")
def regression_parts(regression):
    """Engine and model of a regression, with the state and the weights of its first draw."""
    fitted, X, y = regression
    target = (y[:200] - fitted.target_scaling_.shift) / fitted.target_scaling_.scale
    engine = MemoryEngine(fitted.input_scaling_(X[:200]), target)
    prior, draw = fitted.prior_, fitted.draws_[0]
    model = Model(prior, Gaussian(prior.a0, prior.b0), fitted.trend_)
    return engine, model, module._state(draw, model), module._weights(draw)


@pytest.fixture(scope="module")
def classification_parts(labels):
    """The same of a classification."""
    fitted, X, y = labels
    position = np.where(y[:200] == fitted.classes_[1], 0.0, 1.0)
    engine = MemoryEngine(fitted.input_scaling_(X[:200]), position)
    model, draw = Model(fitted.prior_, Logistic(2), fitted.trend_), fitted.draws_[0]
    return engine, model, module._state(draw, model), module._weights(draw)


def height_at(engine, model, state, working):
    gram, solved = ascent.measure(engine, model, state, working)
    return ascent.log_height(model, state, gram, solved, ascent.Whitening(state).done(state.W))


def slope_at(engine, model, state, working):
    """The log evidence of a state, and its gradient in whitened frequencies."""
    gram, solved = ascent.measure(engine, model, state, working)
    rest = (model.likelihood, model.trend, working, state.W, gram, solved)
    slope = ascent.evidence_slope(engine, *rest)
    roots = np.linalg.cholesky(state.Sigma)[state.Z]
    return solved.log_evidence, np.einsum("jab,ja->jb", roots, slope)


def test_whitening_is_undone():
    state = make_problem(3, M=8).state
    white = ascent.Whitening(state)
    V = white.done(state.W)
    for j, k in enumerate(state.Z):
        square = V[j] @ V[j]
        away = state.W[j] - state.mu[k]
        assert square == pytest.approx(away @ np.linalg.solve(state.Sigma[k], away), rel=1e-9)
    np.testing.assert_allclose(white.undone(V), state.W, rtol=1e-9, atol=1e-12)


def test_the_heights_of_a_classifier_rise_from_round_to_round(classification_parts):
    engine, model, state, weights = classification_parts
    working = ascent.working_of(engine, model, state, weights)
    heights = ascent.climb(engine, model, state, weights, 4, 10).heights
    assert heights[0] > height_at(engine, model, state, working) + 1.0
    assert (np.diff(heights) > -1e-8).all()


def test_each_round_ends_with_the_bound_that_touches_there(classification_parts):
    engine, model, state, weights = classification_parts
    first = ascent.working_of(engine, model, state, weights)
    summit = ascent.climb(engine, model, state, weights, 1, 10)
    assert summit.heights[0] > height_at(engine, model, summit.state, first) + 1e-3


def test_a_height_has_the_priors_of_frequencies_and_lam(regression_parts):
    engine, model, state, weights = regression_parts
    working = ascent.working_of(engine, model, state, weights)
    gram, solved = ascent.measure(engine, model, state, working)
    V = np.random.default_rng(0).standard_normal(state.W.shape)

    def height(V, lam):
        return ascent.log_height(model, state.with_(lam=lam), gram, solved, V)

    assert height(V, 2.0) - height(0 * V, 2.0) == pytest.approx(-0.5 * (V**2).sum())
    laws = model.prior.log_lam(2.0), model.prior.log_lam(0.5)
    assert height(V, 2.0) - height(V, 0.5) == pytest.approx(laws[0] - laws[1])


def test_frequencies_climb_to_where_evidence_and_prior_balance(regression_parts):
    engine, model, state, weights = regression_parts
    working = ascent.working_of(engine, model, state, weights)
    summit = ascent.climb(engine, model, state, weights, 1, 500)
    top = summit.state.with_(lam=state.lam)  # which changes last
    white = ascent.Whitening(top)
    V = white.done(top.W)
    pull = float((V**2).sum())  # of the prior, towards shorter V; the evidence pulls as much
    assert pull > 1.0
    slope = float((slope_at(engine, model, top, working)[1] * V).sum())
    assert slope == pytest.approx(pull, rel=0.02)


@pytest.mark.parametrize("away", [30.0, 1 / 30])
def test_no_lam_near_that_of_the_summit_is_better(regression_parts, away):
    engine, model, state, weights = regression_parts
    summit = ascent.climb(engine, model, state.with_(lam=away * state.lam), weights, 1, 5)

    def value(lam):
        solved = precision.solve(summit.gram, lam, model.likelihood, JitterCount())
        return precision.log_conditional(solved, model.prior)

    for factor in (0.8, 1.25):
        assert value(summit.state.lam) > value(factor * summit.state.lam)


@pytest.mark.parametrize("balance", ["balanced", None])
def test_several_classes_and_weights(labels, balance):
    _, X, y = labels
    y = np.where(X[:, 1] > 2.0, "far", y) if balance else rare_classes(X[:, 1])
    model = BankClassifier(**SMALL, class_weight=balance).fit(X, y, 1.0 + (X[:, 0] > 0))
    point = polish(model, X, y, 1.0 + (X[:, 0] > 0), max_iter=6)
    assert point.predict_proba(X).shape == (len(X), 3 if balance else 5)
    assert point.tree_ == model.tree_
    assert point.tree_.is_stick == (balance == "balanced")
    assert point.score(X, y) > 0.6


@pytest.mark.parametrize("kind", ["regression", "labels"])
def test_saved_and_loaded(kind, request, tmp_path):
    model, X, y = request.getfixturevalue(kind)
    point = polish(model, X[:200], y[:200], max_iter=6)
    point.save(tmp_path / "point.bank")
    loaded = load_model(tmp_path / "point.bank")
    assert loaded.provenance_["polished"] is True
    np.testing.assert_array_equal(loaded.predict(X), point.predict(X))
    assert (tmp_path / "point.bank").stat().st_size < 200_000


def test_what_cannot_be_polished_is_refused(regression, labels):
    model, X, y = regression
    with pytest.raises(TypeError, match="not BankFeatures"):
        polish(BankFeatures(), X, y)
    with pytest.raises(ValueError, match="max_iter"):
        polish(model, X, y, max_iter=0)
    with pytest.raises(ValueError, match="features"):
        polish(model, X[:, :1], y)
    classifier, X, labelled = labels
    with pytest.raises(ValueError, match="'sideways'"):
        polish(classifier, X, np.where(X[:, 0] > 0, labelled, "sideways"))
    with pytest.raises(ValueError, match="the label 1, which"):
        polish(classifier, X, (X[:, 0] > 0).astype(int))
    with pytest.raises(NotFittedError):
        polish(BankRegressor(), X, X[:, 0])


def depth_of(model, gram):
    """Minus the log posterior of log lam, given the frequencies."""

    def depth(log_lam):
        solved = precision.solve(gram, float(np.exp(log_lam)), model.likelihood, JitterCount())
        return -precision.log_conditional(solved, model.prior)

    return depth


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_lam_goes_no_farther_than_it_may_at_once(regression_parts, sign):
    engine, model, state, weights = regression_parts
    gram, _ = ascent.measure(engine, model, state, model.likelihood.newton(weights.mean))
    far = np.log(state.lam) + 12.0 * sign
    found = ascent.best_lam(model, state.with_(lam=float(np.exp(far))), gram)
    assert np.log(found.lam) == pytest.approx(far - 4.0 * sign, abs=0.01)


def test_the_best_lam_stays(regression_parts):
    """A search that ends beside it, by its own tolerance, changes nothing."""
    engine, model, state, weights = regression_parts
    gram, _ = ascent.measure(engine, model, state, model.likelihood.newton(weights.mean))
    depth = depth_of(model, gram)
    best = minimize_scalar(depth, bracket=(-3.0, 3.0), options={"xtol": 1e-12}).x
    again = ascent.best_lam(model, state.with_(lam=float(np.exp(best))), gram)
    assert depth(np.log(again.lam)) <= depth(best)
    assert again.lam == pytest.approx(np.exp(best), rel=1e-9)


def test_frequencies_climb_as_l_bfgs_with_twenty_steps_in_mind(regression_parts):
    engine, model, state, weights = regression_parts
    working = ascent.working_of(engine, model, state, weights)
    white = ascent.Whitening(state)

    def objective(v):
        V = v.reshape(state.W.shape)
        evidence, slope = slope_at(engine, model, state.with_(W=white.undone(V)), working)
        return 0.5 * (V**2).sum() - evidence, (V - slope).ravel()

    start, ends = white.done(state.W).ravel(), {}
    for memory in (19, 20, 21):
        options = {"maxiter": 40, "maxcor": memory}
        ends[memory] = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    _, V = ascent.climb_frequencies(engine, model, state, working, 40)
    error = {memory: np.abs(end - V.ravel()).max() for memory, end in ends.items()}
    assert error[20] < 1e-8
    assert min(error[19], error[21]) > 10 * error[20]
