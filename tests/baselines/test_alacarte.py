"""A la Carte: contract, likelihood against the N x N form, gradients, kernel recovery."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.utils.estimator_checks import parametrize_with_checks

from banklearn.baselines import AlaCarteRegressor
from banklearn.baselines.chunks import gram, weighted_features
from banklearn.baselines.climb import climb
from banklearn.baselines.fastfood import make_fastfood_start
from banklearn.baselines.first_mixtures import (
    energy_mixture,
    random_mixture,
    stratified_normals,
)
from banklearn.baselines.marginal_likelihood import marginal_likelihood
from banklearn.baselines.ridge import ridge_posterior
from banklearn.baselines.spectral_mixture import Mixture, unpack
from banklearn.baselines.starts import MixtureStart, make_mixture_start
from banklearn.datasets import make_synthetic, synthetic_kernel

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
    [
        AlaCarteRegressor(**SMALL),
        AlaCarteRegressor(**SMALL, select="evidence", covariance="full"),
        AlaCarteRegressor(**SMALL, covariance="fastfood"),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def small_start(covariance, seed=0, Q=2, M=5, d=3):
    rng = np.random.default_rng(seed)
    if covariance == "fastfood":
        return make_fastfood_start(M, Q, d, 1.5, rng)
    mixture = random_mixture(Q, d, 1.5, rng)
    if covariance == "full":
        mixture = Mixture(
            mixture.log_v,
            mixture.mu,
            mixture.L + np.tril(0.3 * rng.standard_normal((Q, d, d)), -1),
            mixture.log_noise,
        )
    w = rng.standard_normal((M, d))
    return MixtureStart(mixture.pack(covariance), np.arange(M) * Q // M, w, covariance)


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


@pytest.mark.parametrize("covariance", ["diagonal", "full", "fastfood"])
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
    mixture = start.parameters(start.theta)
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
    mixture = start.parameters(start.theta)
    W, amplitude, _ = start.features(start.theta)
    T = rng.standard_normal((20, 3))
    zero = np.zeros((1, 3))
    Phi, at_zero = weighted_features(T, W, amplitude), weighted_features(zero, W, amplitude)
    np.testing.assert_allclose(Phi @ at_zero[0], mixture.kernel(T), atol=0.04)
    np.testing.assert_allclose(mixture.kernel(zero), 1.0)


def test_a_restart_recovers_the_synthetic_kernel(seed):
    """Section 4.1's kernel, to within half the error of the best RBF kernel in hindsight.

    The spectrum of a single function is far from its law, because its weights are random; so the
    likelihood is that of forty functions, each seen at 120 points.
    """
    problems = [
        make_synthetic(120, scale_x=8.0, noise=0.3, random_state=1000 * seed + i) for i in range(40)
    ]

    def objective(start, theta):
        parts = [start.objective(p.X, p.y, 200, theta) for p in problems]
        return sum(value for value, _ in parts), sum(gradient for _, gradient in parts)

    W = 2.0 * np.random.default_rng(seed).standard_normal((60, 1))
    ridges = [ridge_posterior(gram(p.X, p.y[:, None], W), 0.01, 0.01, 1e-6) for p in problems]
    energy = np.sum([r.mu_n[0::2] ** 2 + r.mu_n[1::2] ** 2 for r in ridges], axis=0)
    t = np.linspace(0.0, 6.0, 61)
    truth = synthetic_kernel(t)
    errors = []
    for restart in range(4):
        rng = np.random.default_rng(restart)
        start = make_mixture_start(60, energy_mixture(2, W, energy, rng), "diagonal", rng)
        found = climb(partial(objective, start), start.theta, 120, None, start.limits())
        kernel = start.parameters(found.theta).kernel(t[:, None])
        errors.append(np.sqrt(np.mean((kernel / kernel[0] - truth) ** 2)))
    scales = np.linspace(0.2, 4.0, 77)[:, None]
    of_rbf = np.sqrt(np.mean((np.exp(-0.5 * (t / scales) ** 2) - truth) ** 2, axis=1)).min()
    assert min(errors) < 0.5 * of_rbf


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


def test_fastfood_frequencies_look_normal_at_the_start():
    """Rows of S H G P H B have the lengths and directions of N(0, I / scale^2)."""
    start = make_fastfood_start(4000, 1, 5, 2.0, np.random.default_rng(0))
    W, amplitude, _ = start.features(start.theta)
    np.testing.assert_allclose(2.0 * W.std(axis=0), 1.0, atol=0.1)
    np.testing.assert_allclose(W.mean(axis=0), 0.0, atol=0.1)
    np.testing.assert_allclose(amplitude, 1.0)
    assert start.theta.size < 4000 * 5
    with pytest.raises(ValueError, match="too few for 3 components"):
        make_fastfood_start(16, 3, 8, 1.0, np.random.default_rng(0))


def test_every_other_start_lies_where_the_energy_is():
    rng = np.random.default_rng(0)
    W = np.concatenate([rng.normal(0.0, 0.1, (30, 2)), rng.normal(5.0, 0.1, (30, 2))])
    energy = np.repeat([0.0, 1.0], 30)
    model = AlaCarteRegressor(n_frequencies=60, n_components=(1,))
    model.scale_ = 1.0
    starts = [model._start(r, W, energy, np.random.default_rng(1)) for r in range(4)]
    centres = [np.abs(s.features(s.theta)[0].mean(axis=0)).min() for s in starts]
    assert all(centre < 1.0 for centre in centres[0::2])
    assert all(centre > 4.0 for centre in centres[1::2])


def test_impossible_components_are_explained():
    X, y = small_data()
    with pytest.raises(ValueError, match="can have 1 to 10 components"):
        AlaCarteRegressor(n_frequencies=10, n_components=(11,)).fit(X, y)
