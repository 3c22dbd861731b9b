"""The evidence from the Gram statistic is the density of the targets."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from banklearn.model.evidence import (
    augmented_log_evidence,
    gaussian_log_evidence,
    posterior_rate,
    ridge,
)
from banklearn.model.features import TRENDS
from helpers import (
    HUNDRED,
    close,
    dense_log_evidence,
    fresh_gram,
    make_problem,
    plain_features,
    problem_log_evidence,
)


def evidence_of(gram, problem):
    solution = ridge(gram.G[0], gram.r[0], problem.state.lam)
    return gaussian_log_evidence(
        solution, gram.tt[0], gram.n[0], problem.prior.a0, problem.prior.b0
    )


@pytest.mark.parametrize("trend", TRENDS)
@pytest.mark.parametrize(("N", "M"), [(15, 6), (5, 12), (1, 1)])
def test_it_is_the_multivariate_t_density(trend, N, M):
    for seed in HUNDRED:
        problem = make_problem(seed, N=N, M=M, trend=trend)
        expected = problem_log_evidence(problem)
        # One where cancellation leaves little to be relative to.
        close(evidence_of(fresh_gram(problem), problem), expected, 1e-9, 1e-9)


def test_a_wrong_constant_would_be_seen():
    problem = make_problem(0)
    gram = fresh_gram(problem)
    wrong = replace(problem, prior=replace(problem.prior, a0=problem.prior.a0 + 1e-6))
    assert abs(evidence_of(gram, wrong) - problem_log_evidence(problem)) > 1e-7


@pytest.mark.parametrize("trend", TRENDS)
def test_a_row_of_weight_two_is_the_row_given_twice(trend):
    for seed in HUNDRED:
        problem = make_problem(seed, trend=trend)
        counts = np.random.default_rng(seed).integers(1, 4, len(problem.y))
        weighted = replace(problem, weight=counts.astype(float))
        repeated = replace(problem, X=problem.X.repeat(counts, axis=0), y=problem.y.repeat(counts))
        value = evidence_of(fresh_gram(weighted), weighted)
        close(value, problem_log_evidence(repeated), 1e-9, 1e-9)


def test_weights_of_the_ridge_solution():
    problem = make_problem(3, N=30, M=5, trend="linear")
    gram = fresh_gram(problem)
    solution = ridge(gram.G[0], gram.r[0], problem.state.lam)
    Phi = plain_features(problem.X, problem.state.W, "linear")
    A = Phi.T @ Phi + problem.state.lam * np.eye(Phi.shape[1])
    mu_n = np.linalg.solve(A, Phi.T @ problem.y)
    close(solution.mu_n, mu_n, 1e-9)
    close(solution.quadratic, mu_n @ A @ mu_n, 1e-10)
    b_n = problem.prior.b0 + 0.5 * (problem.y @ problem.y - mu_n @ A @ mu_n)
    close(posterior_rate(solution, gram.tt[0], problem.prior.b0), b_n, 1e-9)
    sign, log_det = np.linalg.slogdet(A)
    assert sign == 1
    close(solution.log_det_ratio, len(A) * np.log(problem.state.lam) - log_det, 1e-10)


def test_the_posterior_rate_never_falls_below_its_prior():
    solution = ridge(np.array([[1.0]]), np.array([3.0]), 1e-3)
    assert posterior_rate(solution, 0.0, 0.25) == 0.25


def test_augmented_evidence_is_its_integral():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        G, r, lam = rng.uniform(0.1, 3), rng.normal(), rng.uniform(0.3, 3)
        value, _ = quad(
            lambda b, G=G, r=r, lam=lam: (
                np.exp(r * b - 0.5 * G * b * b) * norm.pdf(b, scale=lam**-0.5)
            ),
            -np.inf,
            np.inf,
            epsabs=0,
            epsrel=1e-11,
        )
        close(
            augmented_log_evidence(ridge(np.array([[G]]), np.array([r]), lam)), np.log(value), 1e-8
        )


def test_augmented_evidence_is_a_ratio_of_densities_in_many_dimensions():
    # With A = I and known noise 1, it is N(y | 0, I + Phi Phi'/lam) / N(y | 0, I).
    problem = make_problem(5, N=9, M=4)
    gram = fresh_gram(problem)
    Phi = plain_features(problem.X, problem.state.W)
    C = np.eye(9) + Phi @ Phi.T / problem.state.lam
    y = problem.y
    expected = 0.5 * (y @ y - y @ np.linalg.solve(C, y) - np.linalg.slogdet(C)[1])
    close(augmented_log_evidence(ridge(gram.G[0], gram.r[0], problem.state.lam)), expected, 1e-9)


def test_the_dense_reference_integrates_to_one():
    Phi, lam, a0, b0 = np.array([[0.7, -0.4]]), 0.8, 1.3, 0.6
    total, _ = quad(
        lambda y: np.exp(dense_log_evidence(Phi, np.array([y]), lam, a0, b0)), -np.inf, np.inf
    )
    close(total, 1.0, 1e-7)
