"""Random kitchen sinks: contract, selection and predictive density."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_t, norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from banklearn.baselines import RKSClassifier, RKSRegressor, rbf_evidence_search
from banklearn.baselines.chunks import gram, weighted_features
from banklearn.baselines.logistic import fit_logistic
from banklearn.baselines.ridge import ridge_path, ridge_posterior
from banklearn.baselines.scaling import make_scaler, split_rows
from banklearn.numerics.linalg import NumericalError

SMALL = {"n_frequencies": 25, "random_state": 0, "lams": np.array([1.0, 1e-2, 1e-4])}


@parametrize_with_checks([RKSRegressor(**SMALL), RKSClassifier(**SMALL)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def problem(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) * [1.0, 50.0]
    f = np.sin(3.0 * X[:, 0]) + np.cos(X[:, 1] / 25.0)
    return X, f, 5.0 + 2.0 * (f + 0.2 * rng.standard_normal(n))


@pytest.mark.parametrize("select", ["holdout", "evidence"])
def test_regression_finds_the_function_and_its_noise(select):
    X, _, y = problem()
    X_new, f_new, y_new = problem(seed=1)
    model = RKSRegressor(n_frequencies=100, select=select, random_state=0).fit(X, y)
    mean, std = model.predict(X_new, return_std=True)
    assert np.mean((mean - 5.0 - 2.0 * f_new) ** 2) < 0.2
    assert 0.5 < model.noise_ / 0.16 < 2.0
    assert 0.9 < np.mean(np.abs(y_new - mean) < 1.96 * std) <= 1.0
    assert -norm.logpdf(y_new, mean, std).mean() < 1.0
    np.testing.assert_allclose(model.predict(X_new), mean)


@pytest.mark.parametrize("select", ["holdout", "evidence"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classification_finds_the_regions(select, n_classes):
    def draw(seed):
        X, f, _ = problem(seed=seed)
        edges = [0.0] if n_classes == 2 else [-0.5, 0.5]
        return X, np.array(["low", "mid", "high"])[np.searchsorted(edges, f)]

    X, y = draw(0)
    model = RKSClassifier(n_frequencies=50, select=select, random_state=0).fit(X, y)
    X_new, y_new = draw(1)
    assert len(model.classes_) == n_classes
    assert np.mean(model.predict(X_new) != y_new) < 0.15
    np.testing.assert_allclose(model.predict_proba(X_new).sum(axis=1), 1.0)


def test_chunks_do_not_change_the_fit():
    X, _, y = problem()
    one = RKSRegressor(n_frequencies=20, random_state=0).fit(X, y)
    many = RKSRegressor(n_frequencies=20, random_state=0, chunk_rows=37).fit(X, y)
    np.testing.assert_allclose(one.predict(X), many.predict(X), rtol=1e-6)


def test_evidence_equals_the_n_by_n_form():
    """log p(y) is a Student t density with scale matrix (b0/a0)(I + Phi Phi'/lam)."""
    X, _, y = problem(40)
    W = np.random.default_rng(2).standard_normal((7, 2))
    a0, b0, lam = 1.3, 0.7, 0.2
    Phi = weighted_features(X, W)
    shape = b0 / a0 * (np.eye(40) + Phi @ Phi.T / lam)
    expected = multivariate_t.logpdf(y, shape=shape, df=2 * a0)
    path = ridge_path(gram(X, y[:, None], W, chunk_rows=13))
    np.testing.assert_allclose(path.log_evidence(np.array([lam]), a0, b0)[0, 0], expected)


def test_ridge_path_and_posterior_solve_the_normal_equations():
    X, _, y = problem(60)
    W = np.random.default_rng(2).standard_normal((5, 2))
    Phi, lam = weighted_features(X, W), 0.3
    A = Phi.T @ Phi + lam * np.eye(10)
    stats = gram(X, y[:, None], W)
    expected = np.linalg.solve(A, Phi.T @ y)
    np.testing.assert_allclose(ridge_path(stats).weights(np.array([lam]))[:, 0, 0], expected)
    posterior = ridge_posterior(stats, lam, 0.5, 0.1)
    np.testing.assert_allclose(posterior.mu_n, expected)
    np.testing.assert_allclose(posterior.root @ posterior.root.T, np.linalg.inv(A))
    b_n = 0.1 + 0.5 * (y @ y - expected @ A @ expected)
    np.testing.assert_allclose(posterior.b_n, b_n)


def test_rbf_evidence_search_prefers_the_true_scale():
    rng = np.random.default_rng(0)
    X = 3.0 * rng.standard_normal((800, 1))
    W = rng.standard_normal((100, 1)) / 0.7
    y = weighted_features(X, W) @ rng.standard_normal(200) + 0.3 * rng.standard_normal(800)
    scales = 0.7 * 2.0 ** np.arange(-3, 4)
    found = rbf_evidence_search(X, y, scales, n_frequencies=100, random_state=1)
    assert found.scale == pytest.approx(0.7)
    assert found.log_evidence == found.table.scores.max()
    assert found.W.shape == (100, 1)


def test_newton_reaches_a_stationary_point_and_the_laplace_evidence():
    rng = np.random.default_rng(0)
    Phi, t = rng.standard_normal((50, 3)), (rng.random(50) < 0.4).astype(float)
    penalty = np.array([0.5, 0.5, 2.0])
    fit = fit_logistic(lambda: [(Phi[:20], t[:20]), (Phi[20:], t[20:])], penalty, np.zeros(3))
    p = 1.0 / (1.0 + np.exp(-Phi @ fit.beta))
    np.testing.assert_allclose(Phi.T @ (t - p), penalty * fit.beta, atol=1e-2)
    hessian = Phi.T @ (Phi * (p * (1 - p))[:, None]) + np.diag(penalty)
    likelihood = np.sum(t * np.log(p) + (1 - t) * np.log(1 - p))
    prior = norm.logpdf(fit.beta, scale=penalty**-0.5).sum()
    laplace = likelihood + prior + 1.5 * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(hessian)[1]
    np.testing.assert_allclose(fit.log_evidence, laplace, rtol=1e-6)


def test_a_logistic_regression_that_does_not_end_says_so():
    Phi, t = np.array([[-1.0], [1.0]]), np.array([0.0, 1.0])  # separable
    with pytest.warns(ConvergenceWarning, match=r"stopped after 2 steps .* may be separable"):
        fit = fit_logistic(lambda: [(Phi, t)], np.array([1e-9]), np.zeros(1), max_iter=2)
    assert not fit.converged
    quiet = fit_logistic(lambda: [(Phi, t)], np.array([1e-9]), np.zeros(1), max_iter=2, warn=False)
    np.testing.assert_array_equal(quiet.beta, fit.beta)


def test_a_ridge_too_small_for_its_rows_is_named():
    Phi, t = np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([0.0, 1.0])
    with pytest.raises(NumericalError, match=r"2 x 2 Hessian .* the ridge is too small"):
        fit_logistic(lambda: [(Phi, t)], np.array([1.0, 0.0]), np.zeros(2))


def test_bad_arguments_are_explained():
    X, _, y = problem(30)
    for lams in ("1.0", [], 3.0):
        with pytest.raises(TypeError, match="lams must be a list or array of"):
            RKSRegressor(lams=lams).fit(X, y)
    with pytest.raises(ValueError, match="scaling='cubic' is unknown"):
        make_scaler(X, "cubic")
    with pytest.raises(ValueError, match=r"holdout=1.5 is not a fraction of the rows"):
        split_rows(10, 1.5, np.random.default_rng(0))
    infinite = np.where(np.arange(30) == 4, np.inf, y).astype(object)
    with pytest.raises(ValueError, match="y contains NaN, infinity or missing values"):
        RKSRegressor().fit(X, infinite)
    with pytest.raises(ValueError, match='use "holdout" or "evidence"'):
        RKSRegressor(select="magic").fit(X, y)
    with pytest.raises(ValueError, match="between 0 and 1"):
        RKSRegressor(holdout=2.0).fit(X, y)
