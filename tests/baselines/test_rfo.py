"""RFO: contract, the paper's loss term by term, and a finite-difference check."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.utils.estimator_checks import parametrize_with_checks

from banklearn.baselines import RFOClassifier
from banklearn.baselines.rfo_loss import RFOParameters, rfo_loss

SMALL = {
    "n_frequencies": 20,
    "n_components": (2,),
    "n_restarts": 1,
    "restart_iter": 10,
    "max_iter": 10,
    "scaling": "standard",
    "random_state": 0,
}


@parametrize_with_checks([RFOClassifier(**SMALL)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def random_problem(n_columns, seed=0, n=12, d=3, K=2, D=4):
    rng = np.random.default_rng(seed)
    parameters = RFOParameters(
        rng.standard_normal(K),
        rng.standard_normal((K, d, d)),
        rng.standard_normal((K, d)),
        rng.standard_normal((2 * K * D, n_columns)),
        rng.standard_normal(n_columns),
    )
    codes = rng.integers(max(n_columns, 2), size=n)
    T = (codes[:, None] == np.arange(max(n_columns, 2))).astype(float)
    if n_columns == 1:
        T = T[:, 1:]
    w, component = rng.standard_normal((K * D, d)), np.repeat(np.arange(K), D)
    return parameters, rng.standard_normal((n, d)), T, w, component


def test_the_loss_is_the_papers_sum():
    p, X, T, w, component = random_problem(1)
    lam = 0.7
    value, _ = rfo_loss(p.pack(), p, X, T, w, component, lam, 5)
    beta_cos, beta_sin = p.beta[0::2, 0].reshape(2, 4), p.beta[1::2, 0].reshape(2, 4)
    expected = 0.0
    for x, y in zip(X, T[:, 0], strict=True):
        f = p.beta_0[0]
        for k in range(2):
            for j in range(4):
                zeta = x @ p.M[k] @ w[4 * k + j] + x @ p.mu[k]
                f += p.nu[k] ** 2 * (beta_cos[k, j] * np.cos(zeta) + beta_sin[k, j] * np.sin(zeta))
        expected += -y * f + np.log(1.0 + np.exp(f))
    expected += lam / 2 * (np.sum(beta_cos**2) + np.sum(beta_sin**2) + p.beta_0[0] ** 2)
    np.testing.assert_allclose(value, expected)


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("chunk_rows", [5, 100])
def test_gradient_by_finite_differences(n_columns, chunk_rows):
    p, X, T, w, component = random_problem(n_columns)

    def loss(theta):
        return rfo_loss(theta, p, X, T, w, component, 0.3, chunk_rows)

    expected = approx_fprime(p.pack(), lambda theta: loss(theta)[0], 1e-6)
    np.testing.assert_allclose(loss(p.pack())[1], expected, rtol=1e-3, atol=2e-4)


def test_packing_loses_nothing():
    p, *_ = random_problem(3)
    again = p.unpack(p.pack())
    for name in ("nu", "M", "mu", "beta", "beta_0"):
        np.testing.assert_array_equal(getattr(again, name), getattr(p, name))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_learns_frequencies_that_a_fixed_kernel_misses(n_classes):
    """Stripes along one of six inputs; RKS gets 0.3 and more of the rows wrong here."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (1500, 6))
    y = np.floor(n_classes * (0.5 + 0.499 * np.sin(3.0 * X[:, 0]))).astype(int)
    model = RFOClassifier(n_frequencies=40, random_state=0, max_iter=60).fit(X[:1000], y[:1000])
    assert np.mean(model.predict(X[1000:]) != y[1000:]) < 0.06
    np.testing.assert_allclose(model.predict_proba(X[1000:]).sum(axis=1), 1.0)
    strength = np.abs(model.parameters_.M).sum(axis=(0, 2))
    assert np.argmax(strength) == 0


def test_impossible_components_are_explained():
    X = np.random.default_rng(0).standard_normal((40, 2))
    with pytest.raises(ValueError, match="can have 1 to 10 components"):
        RFOClassifier(n_frequencies=10, n_components=(11,)).fit(X, X[:, 0] > 0)
