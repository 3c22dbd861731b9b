"""Rows far from the data are told from rows among them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes

from banklearn import BankClassifier, BankRegressor, load_model
from banklearn.model.features import feature_rows
from banklearn.posterior.diagnostics import effective_sample_size, r_hat
from banklearn.posterior.extrapolation import prior_share
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


def test_a_decision_counts_where_a_row_comes_to_it():
    """Rows that are surely of the first class are known, whatever tells the other two apart."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (600, 2))
    first = rng.random(600) < 0.5
    X[:, 0] += np.where(first, -3.0, 3.0)
    y = np.where(first, "A", np.where(rng.random(600) < 1 / (1 + np.exp(-3 * X[:, 1])), "B", "C"))
    model = BankClassifier(16, n_warmup=40, n_draws=10, n_chains=2, random_state=1).fit(X, y)
    rows, p = model.input_scaling_(X), model.predict_proba(X)
    share = model.extrapolation(X).prior_share
    assert model.classes_[model.stick_[0]] == "A"
    reach = np.stack([np.ones(600), 1.0 - p[:, 0]])
    np.testing.assert_allclose(share, prior_share(model.draws_, rows, model.trend_, reach))
    assert share[first].mean() < 0.8 * prior_share(model.draws_, rows, model.trend_)[first].mean()


def test_rows_like_those_of_the_fit_are_not_doubtful_however_little_is_known(tmp_path):
    """A straight line and much noise: much of the kernel's part is open, near and far."""
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:330], y[:330]
    model = BankRegressor(24, n_chains=2, n_warmup=40, n_draws=20, random_state=0).fit(X, y)
    found = model.extrapolation(X)
    assert (found.prior_share > 0.25).mean() > 0.1
    assert found.doubtful.mean() < 0.02
    assert model.doubt_threshold_ == pytest.approx(np.quantile(found.prior_share, 0.99))
    assert model.extrapolation(X + 1.0).doubtful.all()
    np.testing.assert_array_equal(model.extrapolation(X, 0.25).doubtful, found.prior_share > 0.25)
    model.save(tmp_path / "m.bank")
    again = load_model(tmp_path / "m.bank")
    assert again.doubt_threshold_ == model.doubt_threshold_
    del again.provenance_["prior_share"]  # as in models of the time before
    assert again.doubt_threshold_ == 0.25
    order = np.random.default_rng(0).permutation(330)
    turned = clone(model).fit(X[order], y[order])
    assert turned.doubt_threshold_ == pytest.approx(model.doubt_threshold_, rel=1e-6)
