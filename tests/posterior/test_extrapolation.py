"""Rows far from the data are told from rows among them."""

import numpy as np
import pytest

from banklearn import BankClassifier, BankRegressor
from banklearn.model.class_tree import ClassTree, class_probabilities, stick
from banklearn.model.features import feature_rows
from banklearn.posterior.classify import probability_samples
from banklearn.posterior.diagnostics import effective_sample_size, r_hat
from banklearn.posterior.extrapolation import prior_variance
from fitted import one_input, two_classes


def test_rows_among_the_data_are_not_doubtful_and_rows_far_away_are():
    model, X, _ = one_input()
    near = model.extrapolation(X[np.abs(X[:, 0] - 1.0) < 3.0])
    far = model.extrapolation(np.linspace(40.0, 400.0, 50)[:, None])
    assert not near.doubtful.any()
    assert far.doubtful.mean() > 0.8
    assert np.median(far.prior_share) > 10 * np.median(near.prior_share)
    assert ((0 <= far.prior_share) & (far.prior_share <= 1)).all()


def test_the_share_is_the_posterior_over_the_prior_variance():
    model, X, _ = one_input()
    rows = model.input_scaling_(X[:5])
    mean, within, prior = [], [], []
    for draw in model.draws_:
        Phi = feature_rows(rows, draw.W, model.trend_)
        mean.append(draw.mu_n[0] @ Phi)
        within.append(draw.noise * ((draw.root[0].T @ Phi) ** 2).sum(axis=0))
        prior.append(draw.noise / draw.lam)
    expected = (np.mean(within, axis=0) + np.var(mean, axis=0)) / np.mean(prior, axis=0)
    np.testing.assert_allclose(model.extrapolation(X[:5]).prior_share, np.minimum(expected, 1))


def test_the_threshold_decides_and_classifiers_answer_too():
    model, X, _ = two_classes()
    loose, strict = model.extrapolation(X, 0.999), model.extrapolation(X, 1e-9)
    np.testing.assert_array_equal(loose.prior_share, strict.prior_share)
    assert strict.doubtful.all()
    assert not loose.doubtful.all()
    with pytest.raises(ValueError, match="threshold"):
        model.extrapolation(X, 0.0)


@pytest.mark.parametrize(
    "tree",
    [stick(2), stick(4), ClassTree.of([[0, 2, 5], [0, 1, 2], [2, 3, 5], [3, 4, 5]])],
    ids=["two classes", "stick", "tree"],
)
def test_the_prior_variance_of_class_probabilities_is_that_of_draws_of_the_prior(tree):
    lam = np.array([0.05, 2.0])
    rng = np.random.default_rng(0)
    f = rng.standard_normal((2, 100_000, tree.n_classes - 1)) / np.sqrt(lam)[:, None, None]
    p = class_probabilities(tree, f.reshape(-1, tree.n_classes - 1).T)
    assert prior_variance(lam, tree) == pytest.approx(p.var(axis=1).sum(), rel=0.01)


@pytest.mark.parametrize("inference", ["polya-gamma", "laplace-mh"])
def test_a_classifiers_share_is_the_variance_of_its_probabilities(inference):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = BankClassifier(
        16, n_warmup=20, n_draws=8, n_chains=1, random_state=0, inference=inference
    ).fit(X, y)
    rows = model.input_scaling_(X[:7])
    samples = probability_samples(model.draws_, rows, model.trend_, model.tree_)
    p = np.concatenate(list(samples))
    prior = prior_variance(np.array([d.lam for d in model.draws_]), model.tree_)
    expected = np.minimum(p.var(axis=0).sum(axis=0) / prior, 1.0)
    np.testing.assert_allclose(
        model.extrapolation(X[:7]).prior_share, expected, rtol=1e-9, atol=1e-12
    )


def test_a_classifier_is_sure_inside_a_class_and_knows_nothing_far_away():
    rng = np.random.default_rng(2)
    X = rng.uniform(-3.0, 3.0, (300, 1))
    y = np.sin(2.0 * X[:, 0]) > 0.0
    model = BankClassifier(
        24, trend="none", n_warmup=60, n_draws=20, n_chains=1, random_state=0
    ).fit(X, y)
    inside = np.arange(-1, 2)[:, None] * np.pi / 2.0 + np.pi / 4.0
    assert not model.extrapolation(inside).doubtful.any()
    assert model.extrapolation(X).doubtful.mean() < 0.2
    far = model.extrapolation(np.linspace(60.0, 600.0, 60)[:, None])
    assert far.doubtful.mean() > 0.8
    assert np.median(far.prior_share) > 0.5


def test_agreement_is_that_of_the_function_at_each_row():
    model = BankRegressor(8, n_chains=2, n_warmup=20, n_draws=10, thin=1, random_state=0)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    model.fit(X, X[:, 0] + 0.1 * rng.standard_normal(80))
    found = model.agreement(X[:4])
    rows = model.input_scaling_(X[:4])
    values = np.array([d.mu_n[0] @ feature_rows(rows, d.W, model.trend_) for d in model.draws_])
    for i in range(4):
        chains = values[:, i].reshape(2, 10)
        assert found.r_hat[i] == pytest.approx(r_hat(chains))
        assert found.effective[i] == pytest.approx(effective_sample_size(chains))
    with pytest.raises(ValueError, match="at least 8 draws per chain, but there are 6"):
        one_input().model.agreement(one_input().X_test)
