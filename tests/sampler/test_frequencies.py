"""Proposals leave the frequencies' prior invariant."""

import numpy as np
import pytest
from scipy.stats import chi2, kstest, multivariate_normal, norm

from banklearn.model import niw
from banklearn.sampler.frequencies import (
    Moves,
    accepted_frequencies,
    joint_acceptance,
    log_conditional,
    log_proposal,
    propose,
    select_all,
)
from helpers import FALSE_ALARM, HUNDRED, close, fresh_gram, make_problem


@pytest.mark.parametrize("rho", [1.0, 0.9, 0.3, 0.02])
def test_detailed_balance(rho):
    for seed in HUNDRED:
        problem = make_problem(seed)
        state, rng = problem.state, np.random.default_rng(seed)
        j = int(rng.integers(state.M))
        mu, Sigma = state.mu[state.Z[j]], state.Sigma[state.Z[j]]
        a, b = mu + rng.standard_normal((2, 2)) @ np.linalg.cholesky(Sigma).T

        def log_prior(w, mu=mu, Sigma=Sigma):
            return niw.log_normal(w[None], mu, Sigma)[0]

        forth = log_prior(a) + log_proposal(j, a, b, rho, state)
        back = log_prior(b) + log_proposal(j, b, a, rho, state)
        close(forth, back, 1e-10, 1e-8)


@pytest.mark.parametrize("rho", [1.0, 0.5, 0.05])
def test_proposals_follow_their_density(rho):
    problem = make_problem(6)
    state = problem.state
    rng = np.random.default_rng(0)
    n = 4000
    drawn = np.stack([propose(state, np.full(state.M, rho), rng) for _ in range(n)])
    limit = norm.isf(FALSE_ALARM / 2)
    for j in range(state.M):
        mu, Sigma = state.mu[state.Z[j]], state.Sigma[state.Z[j]]
        mean = mu + np.sqrt(1 - rho**2) * (state.W[j] - mu)
        white = np.linalg.solve(np.linalg.cholesky(rho**2 * Sigma), (drawn[:, j] - mean).T).T
        assert np.all(np.abs(white.mean(axis=0)) < limit / np.sqrt(n))
        assert abs((white[:, 0] * white[:, 1]).mean()) < limit / np.sqrt(n)
        assert kstest((white**2).sum(axis=1), chi2(2).cdf).pvalue > FALSE_ALARM


def test_proposals_from_the_prior_follow_the_prior():
    problem = make_problem(7)
    state, rng = problem.state, np.random.default_rng(1)
    lengths = []
    for _ in range(1500):
        L = np.linalg.cholesky(state.Sigma)[state.Z]
        W = state.mu[state.Z] + np.einsum("jab,jb->ja", L, rng.standard_normal(state.W.shape))
        new = propose(state.with_(W=W), np.full(state.M, 0.4), rng)
        white = np.linalg.solve(L, (new - state.mu[state.Z])[..., None])[..., 0]
        lengths.append((white**2).sum(axis=1)[0])
    assert kstest(lengths, chi2(2).cdf).pvalue > FALSE_ALARM


def test_each_frequency_has_its_own_step():
    problem = make_problem(8)
    state = problem.state
    rho = np.array([1e-9, 1.0, 1e-9, 1.0, 1e-9, 1.0])
    distance = np.abs(propose(state, rho, np.random.default_rng(0)) - state.W).max(axis=1)
    assert np.all(distance[::2] < 1e-7)
    assert np.all(distance[1::2] > 1e-4)


@pytest.mark.parametrize("jump", [0.0, 0.3, 1.0])
def test_steps_are_drawn_as_announced(jump):
    rho = Moves(jump=jump, rho_min=0.05).draw_rho(20_000, np.random.default_rng(0))
    assert (rho == 1.0).mean() == pytest.approx(jump, abs=0.02)
    local = rho[rho < 1.0]
    assert np.all(local >= 0.05)
    if len(local):
        share = np.log(local) / np.log(0.05)
        assert kstest(share, "uniform").pvalue > FALSE_ALARM


def test_steps_are_drawn_number_for_number():
    rho = Moves(jump=0.4, rho_min=0.05).draw_rho(500, np.random.default_rng(1))
    rng = np.random.default_rng(1)
    local, u = 0.05 ** rng.random(500), rng.random(500)
    close(rho, [1.0 if jumps else r for jumps, r in zip(u < 0.4, local, strict=True)], 1e-12)


def test_proposals_are_their_formula_number_for_number():
    problem = make_problem(3, M=12)
    state = problem.state
    assert state.K > 1
    rho = np.random.default_rng(2).uniform(0.05, 1.0, 12)
    proposed = propose(state, rho, np.random.default_rng(3))
    xi = np.random.default_rng(3).standard_normal((12, 2))
    for j in range(12):
        mu, L = state.mu[state.Z[j]], np.linalg.cholesky(state.Sigma[state.Z[j]])
        mean = mu + np.sqrt(1 - rho[j] ** 2) * (state.W[j] - mu)
        close(proposed[j], mean + rho[j] * L @ xi[j], 1e-12, 1e-13)


def test_densities_of_proposals_and_frequencies_are_normal_ones():
    for seed in range(10):
        state = make_problem(seed).state
        j, rho = 2, 0.6
        mu, Sigma = state.mu[state.Z[j]], state.Sigma[state.Z[j]]
        start, end = np.random.default_rng(seed).standard_normal((2, 2))
        mean = mu + 0.8 * (start - mu)
        density = log_proposal(j, start, end, rho, state)
        assert isinstance(density, float)
        close(density, multivariate_normal.logpdf(end, mean, 0.36 * Sigma), 1e-9, 1e-9)
        height = log_conditional(j, state, -7.0)
        close(height, multivariate_normal.logpdf(state.W[j], mu, Sigma) - 7.0, 1e-9, 1e-9)


def test_the_joint_ratio_is_that_of_evidences():
    assert joint_acceptance(-5.0, -3.0) == -2.0
    assert joint_acceptance(-3.0, -5.0) == 0.0


def test_accepted_rows_are_replaced():
    W, W_star = np.zeros((3, 2)), np.ones((3, 2))
    result = accepted_frequencies(W, W_star, np.array([True, False, True]))
    np.testing.assert_array_equal(result, [[1, 1], [0, 0], [1, 1]])


def test_selecting_all_takes_trend_and_proposals():
    problem = make_problem(9, d=4, M=3, trend="linear")
    stacked = np.random.default_rng(0).standard_normal((3, 4))
    gram = fresh_gram(problem, np.concatenate([problem.state.W, stacked]))
    # fresh_gram scales by six frequencies, the reference by three.
    chosen = select_all(gram, 5, 3).G[0]
    expected = fresh_gram(problem, stacked).G[0].copy()
    expected[5:] /= np.sqrt(2)
    expected[:, 5:] /= np.sqrt(2)
    close(chosen, expected, 1e-12, 1e-12)
