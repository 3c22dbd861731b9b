"""The kernels of the bank against the draws of their spectral densities."""

from __future__ import annotations

import numpy as np
import pytest

from banklearn.baselines.chunks import weighted_features
from banklearn.baselines.spectral import (
    KERNELS,
    draw_frequencies,
    even_counts,
    kernel_values,
    make_bank,
)

N_DRAWS = 40_000
LAGS = np.random.default_rng(5).standard_normal((30, 3)) * np.linspace(0.05, 1.5, 30)[:, None]


def cosine_mean(W, T):
    return np.cos(T @ W.T).mean(axis=1)


@pytest.mark.parametrize("s", [0.7, 2.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_draws_have_the_exact_kernel_as_characteristic_function(kernel, s, seed):
    """30 means of 40 000 cosines, each within 5 standard errors: fails by chance 2e-5 of runs."""
    W = draw_frequencies(kernel, N_DRAWS, 3, np.random.default_rng(seed)) / s
    exact = kernel_values(kernel, LAGS, s)
    variance = 0.5 * (1.0 + kernel_values(kernel, 2.0 * LAGS, s)) - exact**2
    z = (cosine_mean(W, LAGS) - exact) / np.sqrt(variance / N_DRAWS)
    assert np.max(np.abs(z)) < 5.0


@pytest.mark.parametrize(("kernel", "other"), [("rbf", "cauchy"), ("laplace", "rbf")])
def test_the_check_above_rejects_another_kernel(kernel, other):
    W = draw_frequencies(other, N_DRAWS, 3, np.random.default_rng(0))
    exact = kernel_values(kernel, LAGS)
    assert np.max(np.abs(cosine_mean(W, LAGS) - exact)) > 5.0 / np.sqrt(N_DRAWS)


def test_bank_features_approximate_the_weighted_sum():
    rng = np.random.default_rng(0)
    bank = make_bank(("rbf", "cauchy"), (0.5, 2.0), d=2)
    alpha = np.array([0.5, 0.0, 1.5, 1.0])
    counts = even_counts(40_002, len(bank))
    W, kernel_of = bank.draw(counts, 2, rng)
    amplitude = np.sqrt(alpha * W.shape[0] / counts)[kernel_of]
    X = rng.standard_normal((5, 2))
    Phi = weighted_features(X, W, amplitude)
    exact = bank.values(X[:, None] - X[None], alpha)
    np.testing.assert_allclose(Phi @ Phi.T, exact, atol=0.05)
    np.testing.assert_allclose(np.diag(Phi @ Phi.T), 3.0)


def test_even_counts_deals_out_everything():
    assert even_counts(384, 12).tolist() == [32] * 12
    assert even_counts(10, 4).tolist() == [3, 3, 2, 2]
    with pytest.raises(ValueError, match="fewer than the 12 kernels"):
        even_counts(5, 12)


def test_unknown_kernels_are_refused():
    with pytest.raises(ValueError, match="'matern' is unknown"):
        make_bank(("rbf", "matern"), (1.0,), d=1)
