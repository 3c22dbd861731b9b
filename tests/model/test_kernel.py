"""The mixture kernel in closed form, and how fast the features approach it."""

import numpy as np
import pytest
from scipy.integrate import quad

from banklearn.model.features import TRENDS, feature_rows, fourier_features, trend_columns
from banklearn.model.generative import draw_frequencies
from banklearn.model.kernel import (
    empirical_kernel,
    feature_kernel,
    mixture_kernel,
    mixture_spectral_density,
)
from helpers import close, plain_features

PI = np.array([0.5, 0.3, 0.2])


def make_mixture(d, seed=0):
    rng = np.random.default_rng(seed)
    A = 0.5 * rng.standard_normal((3, d, d))
    return PI, rng.standard_normal((3, d)), A @ A.transpose(0, 2, 1) + 0.1 * np.eye(d)


def draw_from(mixture, M, rng):
    pi, mu, Sigma = mixture
    return draw_frequencies(rng.choice(len(pi), M, p=pi), mu, Sigma, rng)


@pytest.mark.parametrize("t", [0.0, 0.4, -1.7, 3.0])
def test_the_kernel_is_the_fourier_transform_of_the_density(t):
    mixture = make_mixture(1)
    value, _ = quad(
        lambda w: np.cos(w * t) * mixture_spectral_density(np.array([[w]]), *mixture)[0],
        -30,
        30,
        limit=400,
        epsabs=1e-12,
    )
    close(mixture_kernel(np.array([[t]]), *mixture)[0], value, 1e-8, 1e-10)


def test_the_density_is_symmetric_and_the_kernel_is_one_at_zero():
    mixture = make_mixture(3)
    omega = np.random.default_rng(1).standard_normal((5, 3))
    close(
        mixture_spectral_density(omega, *mixture), mixture_spectral_density(-omega, *mixture), 1e-12
    )
    close(mixture_kernel(np.zeros((1, 3)), *mixture), 1.0, 1e-14)


@pytest.mark.parametrize("trend", TRENDS)
@pytest.mark.parametrize("d", [1, 3])
def test_features_are_their_definition(trend, d):
    rng = np.random.default_rng(2)
    X, W = rng.standard_normal((17, d)), 3 * rng.standard_normal((5, d))
    Phi = feature_rows(X, W, trend)
    assert Phi.shape == (trend_columns(trend, d) + 10, 17)
    close(Phi.T, plain_features(X, W, trend), 0, 1e-14)
    close(feature_rows(X, W, trend, scale=1.0)[-10:], np.sqrt(5) * Phi[-10:], 1e-14)
    out = np.full_like(Phi, np.nan)
    assert feature_rows(X, W, trend, out) is out
    close(out, Phi, 0)


def test_products_of_features_are_the_feature_kernel():
    rng = np.random.default_rng(3)
    X, Y, W = rng.standard_normal((6, 2)), rng.standard_normal((4, 2)), rng.standard_normal((9, 2))
    lags = X[:, None] - Y[None]
    close(feature_kernel(X, Y, W), empirical_kernel(lags, W), 0, 1e-14)
    close(fourier_features(X, W) @ fourier_features(Y, W).T, feature_kernel(X, Y, W), 0, 1e-14)


def worst_errors(mixture, d, M, repeats, seed, half_width=2.0):
    """max |k - k_hat| over lags of a cube, for several draws of M frequencies."""
    rng = np.random.default_rng(seed)
    lags = rng.uniform(-half_width, half_width, (150, d))
    exact = mixture_kernel(lags, *mixture)
    return np.array(
        [
            np.abs(empirical_kernel(lags, draw_from(mixture, M, rng)) - exact).max()
            for _ in range(repeats)
        ]
    )


@pytest.mark.parametrize("d", [1, 3])
def test_the_error_falls_like_one_over_root_m(d):
    mixture = make_mixture(d)
    sizes = np.array([32, 128, 512, 2048])
    errors = [worst_errors(mixture, d, M, 60, M).mean() for M in sizes]
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.06)


def test_the_error_stays_when_the_kernel_is_another():
    mixture = make_mixture(1)
    other = (PI[::-1], *mixture[1:])
    lags = np.linspace(-2, 2, 50)[:, None]
    W = draw_from(other, 20_000, np.random.default_rng(0))
    assert np.abs(empirical_kernel(lags, W) - mixture_kernel(lags, *mixture)).max() > 0.05


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("M", [1000, 2000])
def test_the_bound_of_the_second_proposition_holds(d, M):
    # Rahimi and Recht's constant: P(sup >= eps) <= 2^8 (s diam / eps)^2 exp(-M eps^2 / (4 (d + 2)))
    # with s^2 = E |omega|^2. eps is where the bound is 5 %.
    mixture = make_mixture(d)
    pi, mu, Sigma = mixture
    s2 = pi @ ((mu**2).sum(axis=1) + np.trace(Sigma, axis1=1, axis2=2))
    diameter = 2.0 * np.sqrt(d)  # of the inputs, so that lags fill [-2, 2]^d
    eps = np.geomspace(1e-3, 50, 100_000)
    bound = 256 * s2 * diameter**2 / eps**2 * np.exp(-M * eps**2 / (4 * (d + 2)))
    eps_5 = eps[np.flatnonzero(bound <= 0.05)[0]]
    exceeded = (worst_errors(mixture, d, M, 100, 7) >= eps_5).mean()
    assert exceeded <= 0.05
    # Not because nothing could exceed it: fewer frequencies do.
    assert (worst_errors(mixture, d, 2, 200, 7) >= eps_5).mean() > 0.05


def test_kernel_and_density_take_points_in_any_arrangement():
    rng = np.random.default_rng(0)
    pi, mu = np.array([0.3, 0.7]), rng.standard_normal((2, 2))
    Sigma = np.array([[[1.0, 0.3], [0.3, 0.5]], [[0.4, -0.1], [-0.1, 2.0]]])
    points, W = rng.standard_normal((3, 4, 2)), rng.standard_normal((5, 2))
    flat = points.reshape(12, 2)
    for function in (
        lambda t: mixture_kernel(t, pi, mu, Sigma),
        lambda t: mixture_spectral_density(t, pi, mu, Sigma),
        lambda t: empirical_kernel(t, W),
    ):
        assert function(points).shape == (3, 4)
        np.testing.assert_allclose(function(points).ravel(), function(flat), rtol=1e-12)
        np.testing.assert_allclose(function(flat[0]), function(flat)[0], rtol=1e-12)
