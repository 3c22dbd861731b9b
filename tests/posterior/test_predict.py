"""Predictive laws against SciPy, brute force and dense Bayesian regression."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import chi2, norm
from scipy.stats import t as student_t

from banklearn.model.features import TRENDS
from banklearn.numerics.streams import Streams
from banklearn.posterior.draws import SKETCH, covariance_root, regression_draw, spectral_mixture
from banklearn.posterior.predict import Law, regression_law, regression_mean, row_blocks
from banklearn.sampler import sweep
from banklearn.sampler.sweep import Model
from helpers import FALSE_ALARM, close, make_problem, plain_features

LEVELS = (0.001, 0.025, 0.3, 0.5, 0.975)


def one_law(dof):
    return Law(np.array([[0.3, -2.0]]), np.array([[0.5, 3.0]]), np.array([dof]))


@pytest.mark.parametrize("dof", [2.5, 7.0, 300.0])
def test_a_single_component_is_a_student_t(dof):
    law = one_law(dof)
    exact = student_t(dof, law.location[0], law.scale[0])
    y = np.array([0.1, 4.0])
    close(law.mean(), exact.mean(), 1e-12)
    close(law.std(), exact.std(), 1e-10)
    close(law.cdf(y), exact.cdf(y), 1e-10)
    close(law.log_density(y), exact.logpdf(y), 1e-10)
    for q in LEVELS:
        close(law.quantile(q), exact.ppf(q), 1e-6, 1e-7)


@pytest.mark.parametrize("dof", [2000.5, 1e5, np.inf])
def test_many_degrees_of_freedom_are_a_normal_law(dof):
    law = one_law(dof)
    exact = norm(law.location[0], law.scale[0])
    close(law.std(), exact.std(), 1e-3)
    close(law.cdf(np.array([0.1, 4.0])), exact.cdf([0.1, 4.0]), 0, 1e-4)
    close(law.log_density(np.array([0.1, 4.0])), exact.logpdf([0.1, 4.0]), 0, 1e-2)
    for q in LEVELS:
        close(law.quantile(q), exact.ppf(q), 0, 6e-3 * law.scale[0].max())


def make_mixture(S=6, n=4, seed=0):
    rng = np.random.default_rng(seed)
    return Law(
        3 * rng.standard_normal((S, n)), rng.uniform(0.2, 2.0, (S, n)), rng.uniform(4, 60, S)
    )


def test_a_mixture_is_the_mean_of_its_components():
    law = make_mixture()
    for i in range(law.location.shape[1]):
        parts = [
            student_t(v, m, s)
            for m, s, v in zip(law.location[:, i], law.scale[:, i], law.dof, strict=True)
        ]

        def density(y, parts=parts):
            return np.mean([p.pdf(y) for p in parts])

        def cdf(y, parts=parts):
            return np.mean([p.cdf(y) for p in parts])

        points = sorted(law.location[:, i])
        mean = np.mean([p.mean() for p in parts])
        second, _ = quad(
            lambda y, f=density, m=mean: (y - m) ** 2 * f(y), -400, 400, points=points, limit=500
        )
        close(law.mean()[i], mean, 1e-12)
        close(law.std()[i], np.sqrt(second), 1e-3)
        grid = np.array([-3.0, 0.0, 0.7, 5.0])
        for y in grid:
            close(law.log_density(np.full(4, y))[i], np.log(density(y)), 1e-9)
            close(law.cdf(np.full(4, y))[i], cdf(y), 1e-9)
        for q in LEVELS:
            exact = brentq(lambda y, f=cdf, q=q: f(y) - q, -200, 200, xtol=1e-12)
            close(law.quantile(q)[i], exact, 0, 1e-6)


def test_quantiles_where_numbers_lie_further_apart_than_the_law_is_wide():
    law = Law(np.array([[1e10], [1e10 + 1e-4]]), np.full((2, 1), 1e-9), np.array([5.0, 5.0]))
    for q, place in ((0.25, 1e10), (0.75, 1e10 + 1e-4)):
        close(law.quantile(q), place, 1e-15)


def test_moments_of_a_mixture_are_those_of_a_sample():
    law = make_mixture(seed=3)
    rng = np.random.default_rng(0)
    s = rng.integers(6, size=200_000)
    sample = law.location[s, 0] + law.scale[s, 0] * rng.standard_t(law.dof[s])
    assert sample.mean() == pytest.approx(law.mean()[0], abs=0.05)
    assert sample.std() == pytest.approx(law.std()[0], rel=0.03)


def test_the_root_is_exact_where_it_can_be():
    A = np.random.default_rng(0).standard_normal((SKETCH, 40))
    A = A @ A.T
    root = covariance_root(np.linalg.cholesky(A), np.random.default_rng(1))
    close(root @ root.T, np.linalg.inv(A), 1e-8, 1e-10)


def test_the_sketch_is_right_on_average():
    P = SKETCH + 4
    rng = np.random.default_rng(0)
    A = rng.standard_normal((P, 60))
    L = np.linalg.cholesky(A @ A.T)
    phi = rng.standard_normal(P)
    exact = phi @ np.linalg.solve(L @ L.T, phi)
    roots = [covariance_root(L, rng) for _ in range(2000)]
    assert roots[0].shape == (P, SKETCH)
    # phi'root root'phi / exact is chi-square with SKETCH degrees of freedom, divided by them.
    spread = np.array([((root.T @ phi) ** 2).sum() for root in roots]) / exact
    total = SKETCH * spread.sum()
    low, high = chi2(SKETCH * len(roots)).ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2])
    assert low < total < high


def draw_of(problem, seed=0):
    model = Model(problem.prior, problem.gaussian, problem.trend)
    chain = sweep.init(problem.engine(), model, problem.state, Streams(0))
    return regression_draw(chain, problem.prior, 0, 1, np.random.default_rng(seed))


def dense_prediction(problem, X):
    """Posterior predictive location, squared scale and degrees of freedom by dense algebra."""
    Phi = plain_features(problem.X, problem.state.W, problem.trend)
    new = plain_features(X, problem.state.W, problem.trend)
    C = np.eye(len(problem.y)) + Phi @ Phi.T / problem.state.lam
    cross = new @ Phi.T / problem.state.lam
    a_n = problem.prior.a0 + 0.5 * len(problem.y)
    b_n = problem.prior.b0 + 0.5 * problem.y @ np.linalg.solve(C, problem.y)
    spread = (new**2).sum(axis=1) / problem.state.lam
    spread -= np.einsum("ij,ji->i", cross, np.linalg.solve(C, cross.T))
    return cross @ np.linalg.solve(C, problem.y), (b_n / a_n) * (1 + spread), 2 * a_n


@pytest.mark.parametrize("trend", TRENDS)
def test_one_draw_predicts_as_dense_regression_does(trend):
    for seed in range(20):
        problem = make_problem(seed, N=20, M=6, trend=trend)
        X = np.random.default_rng(seed).standard_normal((5, 2))
        law = regression_law([draw_of(problem)], X, trend)
        location, square, dof = dense_prediction(problem, X)
        close(law.location[0], location, 1e-8, 1e-9)
        close(law.scale[0] ** 2, square, 1e-8)  # P <= 16: no sketch
        close(law.dof, [dof], 1e-12)
        close(regression_mean([draw_of(problem)], X, trend), location, 1e-8, 1e-9)
        latent = regression_law([draw_of(problem)], X, trend, observed=False)
        noise = square - latent.scale[0] ** 2
        close(noise, noise[0], 1e-8)


def test_with_many_features_the_spread_is_right_on_average():
    problem = make_problem(3, N=20, M=12)
    X = np.random.default_rng(0).standard_normal((3, 2))
    _, square, _ = dense_prediction(problem, X)
    laws = [regression_law([draw_of(problem, seed)], X, "none") for seed in range(400)]
    mean = np.mean([law.scale[0] ** 2 for law in laws], axis=0)
    close(mean, square, 0.05)


def test_a_law_over_draws_keeps_them_apart():
    problems = [make_problem(seed, N=20, M=6) for seed in range(3)]
    draws = [draw_of(p) for p in problems]
    X = np.random.default_rng(0).standard_normal((4, 2))
    law = regression_law(draws, X, "none")
    for s, draw in enumerate(draws):
        close(law.location[s], regression_law([draw], X, "none").location[0], 0)
    close(regression_mean(draws, X, "none"), law.mean(), 1e-12, 1e-14)


def test_mixture_weights_are_a_dirichlet_draw():
    problem = make_problem(5, M=12)
    state, rng = problem.state.with_(alpha=0.4), np.random.default_rng(0)
    m = np.append(np.bincount(state.Z), state.alpha)
    drawn = np.stack([spectral_mixture(state, problem.prior, rng)[0] for _ in range(4000)])
    close(drawn.sum(axis=1), 1.0, 1e-12)
    mean = m / m.sum()
    error = np.sqrt(mean * (1 - mean) / (m.sum() + 1) / len(drawn))
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < norm.isf(FALSE_ALARM / 2) * error)
    _, mu, Sigma = spectral_mixture(state, problem.prior, rng)
    np.testing.assert_array_equal(mu[:-1], state.mu)
    np.testing.assert_array_equal(Sigma[:-1], state.Sigma)


@pytest.mark.parametrize("n", [1, 4, 5, 9])
def test_blocks_of_rows_cover_all(n):
    X = np.arange(n)[:, None]
    parts = [X[part] for part in row_blocks(X, 4)]
    np.testing.assert_array_equal(np.concatenate(parts), X)
    assert max(map(len, parts)) <= 4
