"""Multiple kernel learning: contract, gradients, and weights that are truly learned."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.utils.estimator_checks import parametrize_with_checks

from banklearn.baselines import MKLClassifier, MKLRegressor
from banklearn.baselines.chunks import gram, weighted_features
from banklearn.baselines.kernel_weights import (
    NoisePrior,
    feature_variances,
    learn_logistic_weights,
    learn_weights,
    weight_evidence,
)
from banklearn.baselines.ridge import ridge_path
from banklearn.baselines.spectral import even_counts, make_bank
from words import is_in_words

SMALL = {
    "n_frequencies": 24,
    "multiples": (0.5, 2.0),
    "scaling": "standard",
    "lams": np.array([1.0, 1e-2, 1e-4]),
    "random_state": 0,
}


@parametrize_with_checks(
    [
        MKLRegressor(**SMALL),
        MKLRegressor(**SMALL, weights="uniform"),
        MKLClassifier(**SMALL),
        MKLClassifier(**SMALL, weights="uniform"),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def bank_problem(n=400, d=1, total=60, seed=0):
    rng = np.random.default_rng(seed)
    bank = make_bank(("rbf", "laplace", "cauchy"), (0.3, 2.0), d)
    W, kernel_of = bank.draw(even_counts(total, len(bank)), d, rng)
    X = 2.0 * rng.standard_normal((n, d))
    return bank, W, kernel_of, X, rng


@pytest.mark.parametrize("prior", [NoisePrior(0.3, 0.2), None])
def test_gradient_of_the_evidence_in_log_alpha(prior):
    _, W, kernel_of, X, rng = bank_problem()
    stats = gram(X, rng.standard_normal((400, 1)), W)
    u = rng.standard_normal(6)

    def value(u):
        return weight_evidence(np.exp(u), stats, kernel_of, prior)[0]

    gradient = weight_evidence(np.exp(u), stats, kernel_of, prior)[1]
    np.testing.assert_allclose(gradient, approx_fprime(u, value, 1e-6), rtol=1e-4, atol=1e-4)


def test_equal_weights_have_the_evidence_of_ridge_regression():
    """Equal weights are a ridge; both forms of the evidence differ by the same constant."""
    _, W, kernel_of, X, rng = bank_problem()
    stats = gram(X, rng.standard_normal((400, 1)), W)
    lams = np.array([0.01, 0.3, 5.0])
    ridge = ridge_path(stats).log_evidence(lams, 0.3, 0.2)[0]
    alpha = [np.full(6, 1.0 / (6 * lam)) for lam in lams]
    prior = NoisePrior(0.3, 0.2)
    weighted = np.array([weight_evidence(a, stats, kernel_of, prior)[0] for a in alpha])
    np.testing.assert_allclose(np.diff(weighted), np.diff(ridge))


def test_a_planted_mixture_of_two_kernels_is_recovered(seed):
    """Weights drawn from the prior with alpha = (0, 8, 0, 0, 3, 0) in units of the noise."""
    _, W, kernel_of, X, rng = bank_problem(n=3000, d=4, total=240, seed=seed)
    truth = np.array([0.0, 8.0, 0.0, 0.0, 3.0, 0.0])
    D = feature_variances(truth, kernel_of)
    y = weighted_features(X, W) @ (np.sqrt(D) * rng.standard_normal(D.size))
    y += rng.standard_normal(y.size)
    stats = gram(X, y[:, None], W)
    alpha = learn_weights(np.full(6, 1.0), [stats], kernel_of, NoisePrior(0.01, 0.01))
    share = alpha / alpha.sum()
    assert share[[1, 4]].sum() > 0.9
    assert np.argmax(share) == 1
    assert np.sum(alpha == 0.0) >= 2
    best, _ = weight_evidence(alpha, stats, kernel_of, NoisePrior(0.01, 0.01))
    at_truth, _ = weight_evidence(truth, stats, kernel_of, NoisePrior(0.01, 0.01))
    assert best >= at_truth


def test_the_regressor_recovers_planted_kernels_through_other_frequencies():
    """The mixture of a long RBF and a short Cauchy kernel, fitted with frequencies of its own."""
    rng = np.random.default_rng(3)
    bank = make_bank(("rbf", "cauchy"), (0.1, 1.0), 2)
    W, kernel_of = bank.draw(np.array([0, 300, 300, 0]), 2, rng)
    X = rng.standard_normal((2000, 2))
    amplitude = np.sqrt(np.array([0.0, 1.2, 0.8, 0.0]))[kernel_of]
    y = weighted_features(X, W, amplitude) @ rng.standard_normal(1200)
    y += 0.1 * rng.standard_normal(y.size)
    model = MKLRegressor(
        n_frequencies=200,
        kernels=("rbf", "cauchy"),
        multiples=(0.1, 1.0),
        scaling="standard",
        scales=[1.0],
        select="evidence",
        random_state=0,
    ).fit(X, y)
    assert model.alpha_.sum() == pytest.approx(1.0)
    assert np.all(model.alpha_ >= 0.0)
    short, long = model.alpha_[[0, 2]].sum(), model.alpha_[[1, 3]].sum()
    assert 0.15 < short < 0.85
    assert 0.15 < long < 0.85


def test_logistic_weights_find_the_planted_kernel(seed):
    _, W, kernel_of, X, rng = bank_problem(n=2000, total=60, seed=seed)
    D = feature_variances(np.array([0.0, 10.0, 0.0, 0.0, 0.0, 0.0]), kernel_of)
    Phi = weighted_features(X, W)
    f = Phi @ (np.sqrt(D) * rng.standard_normal(D.size))
    t = (rng.random(f.size) < 1.0 / (1.0 + np.exp(-f))).astype(float)
    alpha = learn_logistic_weights(np.full(6, 1.0), Phi, t[:, None], kernel_of)
    smooth = [1, 3, 5]
    assert alpha[smooth].sum() > 0.8 * alpha.sum()


def test_learned_weights_beat_uniform_where_the_bank_is_mostly_wrong():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(300)
    errors = {}
    for weights in ("uniform", "learned"):
        model = MKLRegressor(
            n_frequencies=96,
            multiples=(0.1, 0.2, 0.4, 4.0),
            weights=weights,
            scaling="standard",
            scales=[1.0],
            select="evidence",
            random_state=0,
        ).fit(X[:150], y[:150])
        errors[weights] = np.mean((model.predict(X[150:]) - y[150:]) ** 2)
    assert errors["learned"] < errors["uniform"]


def test_a_classifier_learns_its_weights_from_the_evidence():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 4))
    y = np.sin(2.0 * X[:, 0]) > 0
    options = {"n_frequencies": 48, "multiples": (0.2, 1.0, 4.0), "scaling": "standard"}
    models = [
        MKLClassifier(**options, scales=[1.0], select="evidence", weights=w, random_state=0)
        for w in ("uniform", "learned")
    ]
    uniform, learned = (model.fit(X, y) for model in models)
    assert learned.alpha_.sum() == pytest.approx(1.0)
    assert learned.alpha_.max() > 2.0 * uniform.alpha_.max()
    assert learned.lam_ > 0
    assert learned.score(X, y) > 0.8


def test_bad_arguments_are_explained():
    X = np.arange(40.0).reshape(20, 2)
    with pytest.raises(ValueError, match='use "learned" or "uniform"'):
        MKLRegressor(weights="equal").fit(X, X[:, 0])
    with pytest.raises(ValueError, match="fewer than the 12 kernels"):
        MKLClassifier(n_frequencies=5).fit(X, X[:, 0] > 20)


#: What is no bank of kernels, by the option that it was given for.
NO_BANKS = {
    "one name": ("kernels", "rbf", "must be a list or array of names .*, not 'rbf'"),
    "no name": ("kernels", [], r"must be a list or array of names .*, not \[\]"),
    "no names": ("kernels", None, "must be a list or array of names .*, not None"),
    "a number": ("kernels", -1, "must be a list or array of names .*, not -1"),
    "a number as a name": ("kernels", [1], "must hold names .*, but holds 1"),
    "lists as names": ("kernels", [["rbf"]], r"must hold names .*, but holds \['rbf'\]"),
    "an unknown name": ("kernels", ("rbf", "matern"), "must hold names .*, but holds 'matern'"),
    "no multiples": ("multiples", None, "must be a list or array of numbers .*, not None"),
    "one multiple": ("multiples", 2.0, "must be a list or array of numbers .*, not 2"),
    "an empty list": ("multiples", [], r"must be a list or array of numbers .*, not \[\]"),
}


@pytest.mark.parametrize(("name", "value", "words"), NO_BANKS.values(), ids=NO_BANKS)
@pytest.mark.parametrize("kind", [MKLRegressor, MKLClassifier])
def test_what_is_no_bank_is_refused_by_its_name(kind, name, value, words):
    X = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises((ValueError, TypeError), match=f"^{name} {words}") as caught:
        kind(**{**SMALL, name: value}).fit(X, X[:, 0] > 0)
    assert is_in_words(caught.value)


@pytest.mark.parametrize("kind", [MKLRegressor, MKLClassifier])
def test_a_bank_may_come_as_arrays(kind):
    X = np.random.default_rng(0).standard_normal((20, 2))
    bank = {"kernels": np.array(["rbf", "cauchy"]), "multiples": np.array([0.5, 2.0])}
    model = kind(**{**SMALL, **bank}).fit(X, X[:, 0] > 0)
    assert model.bank_.kernels == ("rbf", "rbf", "cauchy", "cauchy")
