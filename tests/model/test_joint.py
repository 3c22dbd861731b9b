"""The log joint density is the product of its factors, and the generative model draws from it."""

import numpy as np
import pytest
from scipy.stats import gamma, invgamma, invwishart, kstest, multivariate_normal, norm

from banklearn.model.dirichlet_process import log_crp
from banklearn.model.generative import draw_state, draw_weights, simulate_regression
from banklearn.model.joint import log_frequencies, log_joint, log_prior
from banklearn.model.priors import Prior
from helpers import FALSE_ALARM, HUNDRED, close, make_prior, make_problem, plain_features


def test_it_is_the_product_of_its_factors():
    for seed in HUNDRED:
        problem = make_problem(seed)
        state, prior = problem.state, problem.prior
        expected = log_crp(state.Z, state.alpha)
        expected += gamma.logpdf(state.alpha, prior.alpha_shape, scale=1 / prior.alpha_rate)
        for mu, Sigma in zip(state.mu, state.Sigma, strict=True):
            expected += invwishart.logpdf(Sigma, prior.nu0, np.diag(state.psi))
            expected += multivariate_normal.logpdf(mu, prior.mu0, Sigma / prior.kappa0)
        for w, k in zip(state.W, state.Z, strict=True):
            expected += multivariate_normal.logpdf(w, state.mu[k], state.Sigma[k])
        expected += norm.logpdf(np.log(state.lam), prior.lam_log_mean, prior.lam_log_sd)
        expected += gamma.logpdf(
            state.psi, prior.psi_shape, scale=prior.psi_mean / prior.psi_shape
        ).sum()
        close(log_prior(state, prior), expected, 1e-9, 1e-9)
        close(log_joint(state, prior, -3.25), expected - 3.25, 1e-9, 1e-9)


def test_relabelling_changes_nothing():
    problem = make_problem(11, M=12)
    state = problem.state
    assert state.K > 1
    order = np.random.default_rng(0).permutation(state.K)
    other = state.with_(Z=np.argsort(order)[state.Z], mu=state.mu[order], Sigma=state.Sigma[order])
    close(log_prior(other, problem.prior), log_prior(state, problem.prior), 1e-12)
    close(log_frequencies(other), log_frequencies(state), 1e-12)


def test_fixed_scales_have_no_density():
    prior = make_prior(2, psi_shape=None)
    assert prior.log_psi(prior.psi_mean) == 0.0
    state = draw_state(prior, 5, np.random.default_rng(0))
    np.testing.assert_array_equal(state.psi, prior.psi_mean)


@pytest.fixture(scope="module")
def forward():
    prior = make_prior(2)
    rng = np.random.default_rng(5)
    return prior, [draw_state(prior, 8, rng) for _ in range(3000)]


def test_drawn_states_follow_the_prior(forward):
    prior, states = forward
    laws = {
        "alpha": ([s.alpha for s in states], gamma(prior.alpha_shape, scale=1 / prior.alpha_rate)),
        "log lam": (
            [np.log(s.lam) for s in states],
            norm(prior.lam_log_mean, prior.lam_log_sd),
        ),
        "psi": (
            [s.psi[1] for s in states],
            gamma(prior.psi_shape, scale=prior.psi_mean[1] / prior.psi_shape),
        ),
        "W": (
            # One coordinate, standardised by its own component.
            [(s.W[3, 0] - s.mu[s.Z[3], 0]) / np.sqrt(s.Sigma[s.Z[3], 0, 0]) for s in states],
            norm(),
        ),
    }
    for name, (sample, law) in laws.items():
        assert kstest(sample, law.cdf).pvalue > FALSE_ALARM, name
    for state in states:
        assert np.array_equal(np.unique(state.Z), np.arange(state.K))


def test_frequencies_have_the_covariance_of_their_component(forward):
    _, states = forward
    white = np.stack(
        [
            np.linalg.solve(np.linalg.cholesky(s.Sigma[s.Z[0]]), s.W[0] - s.mu[s.Z[0]])
            for s in states
        ]
    )
    assert kstest(white.ravel(), norm.cdf).pvalue > FALSE_ALARM
    product = white[:, 0] * white[:, 1]
    assert abs(product.mean()) < norm.isf(FALSE_ALARM / 2) / np.sqrt(len(white))


def test_simulated_targets_follow_the_model():
    problem = make_problem(2, N=40)
    prior, rng = problem.prior, np.random.default_rng(3)
    noises, residuals, weights = [], [], []
    Phi = plain_features(problem.X, problem.state.W, "constant")
    for _ in range(1000):
        y, beta, noise = simulate_regression(problem.X, problem.state, prior, "constant", rng)
        noises.append(noise)
        residuals.append((y - Phi @ beta)[0] / np.sqrt(noise))
        weights.append(beta[2] * np.sqrt(problem.state.lam / noise))
    assert kstest(noises, invgamma(prior.a0, scale=prior.b0).cdf).pvalue > FALSE_ALARM
    assert kstest(residuals, norm.cdf).pvalue > FALSE_ALARM
    assert kstest(weights, norm.cdf).pvalue > FALSE_ALARM


def test_weights_scale_with_noise_over_precision():
    rng = np.random.default_rng(0)
    beta = draw_weights(4.0, 100_000, 9.0, rng)
    assert beta.std() == pytest.approx(1.5, rel=0.02)


def test_a_state_changes_by_copy():
    state = make_problem(0).state
    other = state.with_(lam=9.0)
    assert (other.lam, other.W is state.W) == (9.0, True)
    assert state.lam != 9.0


def test_what_a_prior_is_where_nothing_is_said():
    prior = Prior(np.zeros(3), 0.1, 5.0, np.ones(3))
    assert (prior.d, prior.psi_shape, prior.alpha_shape, prior.alpha_rate) == (3, 1.0, 4.0, 1.0)
    assert (prior.lam_log_mean, prior.lam_log_sd, prior.a0, prior.b0) == (0.0, 5.0, 1.0, 1e-6)
