"""A la Carte: contract, likelihood against the N x N form, gradients, kernel recovery."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.utils.estimator_checks import parametrize_with_checks

from banklearn.baselines import AlaCarteRegressor
from banklearn.baselines.alacarte import Start
from banklearn.baselines.chunks import weighted_features
from banklearn.baselines.climb import climb
from banklearn.baselines.marginal_likelihood import marginal_likelihood
from banklearn.baselines.spectral_mixture import (
    Mixture,
    frequencies,
    start_mixture,
    stratified_normals,
    unpack,
)

SMALL = {
    "n_frequencies": 24,
    "n_components": (2,),
    "n_restarts": 1,
    "restart_iter": 5,
    "max_iter": 5,
    "scaling": "standard",
    "random_state": 0,
}


@parametrize_with_checks(
    [AlaCarteRegressor(**SMALL), AlaCarteRegressor(**SMALL, select="evidence", covariance="full")]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def small_start(covariance, seed=0, Q=2, M=5, d=3):
    rng = np.random.default_rng(seed)
    mixture = start_mixture(Q, d, 1.5, 0.2, 1.3, rng)
    if covariance == "full":
        mixture = Mixture(
            mixture.log_v,
            mixture.mu,
            mixture.L + np.tril(0.3 * rng.standard_normal((Q, d, d)), -1),
            mixture.log_noise,
        )
    w = rng.standard_normal((M, d))
    return Start(w, np.arange(M) * Q // M, covariance, mixture.pack(covariance))


def small_data(seed=1, n=30, d=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal(n)


def test_marginal_likelihood_equals_the_n_by_n_form():
    start = small_start("full")
    X, y = small_data()
    W, amplitude, noise = start.features(start.theta)
    Phi = weighted_features(X, W, amplitude)
    expected = multivariate_normal.logpdf(y, cov=Phi @ Phi.T + noise * np.eye(30))
    np.testing.assert_allclose(marginal_likelihood(X, y, W, amplitude, noise).value, expected)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("chunk_rows", [7, 100])
def test_gradient_in_all_parameters(covariance, chunk_rows):
    start = small_start(covariance)
    X, y = small_data()

    def value(theta):
        return start.objective(X, y, chunk_rows, theta)[0]

    gradient = start.objective(X, y, chunk_rows, start.theta)[1]
    expected = approx_fprime(start.theta, value, 1e-6)
    assert np.linalg.norm(expected) > 1.0
    np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_packing_loses_nothing(covariance):
    start = small_start(covariance)
    mixture = start.mixture(start.theta)
    np.testing.assert_array_equal(mixture.pack(covariance), start.theta)
    with pytest.raises(ValueError, match='use "diagonal" or "full"'):
        unpack(start.theta, 2, 3, "round")


def test_stratified_normals_are_normal_in_each_component():
    component = np.repeat([0, 1], [200, 50])
    w = stratified_normals(component, 3, np.random.default_rng(0))
    for q in (0, 1):
        np.testing.assert_allclose(w[component == q].mean(axis=0), 0.0, atol=0.03)
        np.testing.assert_allclose(w[component == q].std(axis=0), 1.0, atol=0.1)


def test_features_approximate_the_kernel_of_the_mixture():
    rng = np.random.default_rng(0)
    start = small_start("full", M=50_000)
    mixture = start.mixture(start.theta)
    W, amplitude = frequencies(mixture, start.w, start.component)
    T = rng.standard_normal((20, 3))
    zero = np.zeros((1, 3))
    Phi, at_zero = weighted_features(T, W, amplitude), weighted_features(zero, W, amplitude)
    np.testing.assert_allclose(Phi @ at_zero[0], mixture.kernel(T), atol=0.04)
    np.testing.assert_allclose(mixture.kernel(zero), 1.3)


def true_kernel(t):
    return np.exp(-(t**2) / 8.0) * (0.5 + 0.5 * np.cos(0.75 * np.pi * t))


def test_the_best_restart_recovers_the_synthetic_kernel():
    """Section 4.1's kernel on a domain long enough for one function to determine it."""
    rng = np.random.default_rng(0)
    n, M = 1500, 250
    W = np.where(rng.random((M, 1)) < 0.5, 0.0, 0.75 * np.pi) + 0.5 * rng.standard_normal((M, 1))
    X = rng.uniform(-60.0, 60.0, (n, 1))
    y = weighted_features(X, W) @ rng.standard_normal(2 * M) + rng.standard_normal(n)
    T = np.linspace(0.0, 6.0, 61)[:, None]
    scores, worst = [], []
    for seed in range(3):
        start_rng = np.random.default_rng(seed)
        mixture = start_mixture(2, 1, 1.0, 0.3, 1.0, start_rng)
        component = np.repeat([0, 1], 100)
        w = stratified_normals(component, 1, start_rng)
        start = Start(w, component, "diagonal", mixture.pack("diagonal"))
        objective = partial(start.objective, X, y, 2000)
        found = climb(objective, start.theta, 50, limits=start.limits())
        kernel = start.mixture(found.theta).kernel(T)
        scores.append(found.score)
        worst.append(np.max(np.abs(kernel / kernel[0] - true_kernel(T[:, 0]))))
    assert worst[int(np.argmax(scores))] < 0.25
    assert (
        min(
            np.max(np.abs(np.exp(-(T[:, 0] ** 2) / (2 * s**2)) - true_kernel(T[:, 0])))
            for s in np.linspace(0.3, 3.0, 28)
        )
        > 0.4
    )  # no RBF kernel comes close


def test_it_learns_what_one_bandwidth_cannot():
    """One input out of six matters, and fast; RKS leaves an error of 0.2 and more here."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (800, 6))
    y = np.sin(2.5 * X[:, 0]) + 0.1 * rng.standard_normal(800)
    model = AlaCarteRegressor(
        n_frequencies=60, n_restarts=2, restart_iter=60, max_iter=60, random_state=0
    ).fit(X[:600], y[:600])
    mean, std = model.predict(X[600:], return_std=True)
    assert np.mean((mean - y[600:]) ** 2) < 0.02
    assert np.mean(np.abs(mean - y[600:]) < 2.0 * std) > 0.85
    assert model.scores_.shape == (2,)
    assert model.mixture_.covariances().shape[1:] == (6, 6)


def test_an_early_stop_returns_the_best_watched_point():
    seen = []

    def watch(theta):
        seen.append(float(theta[0]))
        return -abs(theta[0] - 5.0)

    def valley(theta):
        return float(np.sum((theta - 7.0) ** 2)), 2.0 * (theta - 7.0)

    best = climb(valley, np.array([5.0]), 50, watch)
    assert best.steps == 0
    assert best.theta[0] == 5.0
    assert len(seen) >= 2
    assert climb(valley, np.array([5.0]), 0).score == -4.0


def test_impossible_components_are_explained():
    X, y = small_data()
    with pytest.raises(ValueError, match="can have 1 to 10 components"):
        AlaCarteRegressor(n_frequencies=10, n_components=(11,)).fit(X, y)
