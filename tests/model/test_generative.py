"""Draws from the generative model follow the laws that it states."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2, chisquare, gamma, invgamma, kstest, norm

from banklearn.model.generative import (
    draw_frequencies,
    draw_state,
    draw_weights,
    simulate_classification,
    simulate_regression,
)
from helpers import FALSE_ALARM, make_prior, plain_features

#: alpha_rate differs from 1 and lam's spread too, so that neither can be dropped unseen.
PRIOR = make_prior(2, alpha_rate=1.7, psi_shape=3.0, lam_log_sd=0.6, a0=2.5)


@pytest.fixture(scope="module")
def states():
    rng = np.random.default_rng(0)
    return [draw_state(PRIOR, 4, rng) for _ in range(1500)]


def test_hyper_parameters_follow_their_priors(states):
    laws = {
        "alpha": gamma(PRIOR.alpha_shape, scale=1 / PRIOR.alpha_rate),
        "lam": norm(PRIOR.lam_log_mean, PRIOR.lam_log_sd),
        "psi": gamma(PRIOR.psi_shape, scale=PRIOR.psi_mean[1] / PRIOR.psi_shape),
    }
    values = {
        "alpha": [s.alpha for s in states],
        "lam": np.log([s.lam for s in states]),
        "psi": [s.psi[1] for s in states],
    }
    for name, law in laws.items():
        assert kstest(values[name], law.cdf).pvalue > FALSE_ALARM, name


def test_a_fixed_scale_is_taken_as_it_is():
    fixed = make_prior(2, psi_shape=None)
    state = draw_state(fixed, 3, np.random.default_rng(0))
    np.testing.assert_array_equal(state.psi, fixed.psi_mean)
    assert state.psi is not fixed.psi_mean


def test_every_component_has_its_own_draw(states):
    several = [s for s in states if s.K > 1]
    assert len(several) > 500
    assert all(s.mu.shape == (s.K, 2) and s.Sigma.shape == (s.K, 2, 2) for s in states)
    assert all(s.Z.max() + 1 == s.K for s in states)
    # Normal given Sigma, last components as well as first ones.
    for k in (0, -1):
        white = [
            np.linalg.solve(np.linalg.cholesky(s.Sigma[k] / PRIOR.kappa0), s.mu[k] - PRIOR.mu0)
            for s in several
        ]
        assert kstest(np.ravel(white), norm.cdf).pvalue > FALSE_ALARM


def test_frequencies_are_normal_given_their_component(states):
    distances = []
    for s in states:
        for w, k in zip(s.W, s.Z, strict=True):
            gap = w - s.mu[k]
            distances.append(gap @ np.linalg.solve(s.Sigma[k], gap))
    assert kstest(distances, chi2(2).cdf).pvalue > FALSE_ALARM


def test_correlated_components_give_correlated_frequencies():
    Sigma = np.array([[[2.0, 1.2], [1.2, 1.0]]])
    Z = np.zeros(20_000, dtype=np.int64)
    W = draw_frequencies(Z, np.array([[1.0, -3.0]]), Sigma, np.random.default_rng(0))
    np.testing.assert_allclose(W.mean(axis=0), [1.0, -3.0], atol=0.06)
    np.testing.assert_allclose(np.cov(W.T), Sigma[0], atol=0.12)


def test_weights_have_the_variance_of_the_model():
    beta = draw_weights(4.0, 20_000, 9.0, np.random.default_rng(0))
    assert kstest(beta / 1.5, norm.cdf).pvalue > FALSE_ALARM


def test_targets_are_function_and_noise(states):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((6, 2))
    noises, weights, errors = [], [], []
    for state in states[:600]:
        y, beta, noise = simulate_regression(X, state, PRIOR, "linear", rng)
        noises.append(noise)
        weights.append(beta * np.sqrt(state.lam / noise))
        errors.append((y - plain_features(X, state.W, "linear") @ beta) / np.sqrt(noise))
    assert kstest(noises, invgamma(PRIOR.a0, scale=PRIOR.b0).cdf).pvalue > FALSE_ALARM
    assert kstest(np.ravel(weights), norm.cdf).pvalue > FALSE_ALARM
    assert kstest(np.ravel(errors), norm.cdf).pvalue > FALSE_ALARM


def test_labels_have_logistic_probabilities(states):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 2))
    p, labels, weights = [], [], []
    for state in states[:300]:
        y, beta = simulate_classification(X, state, "constant", rng)
        p.append(expit(plain_features(X, state.W, "constant") @ beta))
        labels.append(y)
        weights.append(beta * np.sqrt(state.lam))
    p, labels = np.concatenate(p), np.concatenate(labels)
    assert set(labels) == {0.0, 1.0}
    assert kstest(np.ravel(weights), norm.cdf).pvalue > FALSE_ALARM
    bins = np.minimum((10 * p).astype(int), 9)
    for b in range(10):
        expected, seen = p[bins == b].sum(), labels[bins == b].sum()
        n = (bins == b).sum()
        assert chisquare([seen, n - seen], [expected, n - expected]).pvalue > FALSE_ALARM
