"""BankFeatures: a transformer whose inner products are the learned kernel."""

import doctest
from decimal import Decimal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from banklearn import BankClassifier, BankFeatures, BankRegressor
from banklearn.estimators import features as module

SMALL = {"n_frequencies": 6, "n_warmup": 4, "n_draws": 4, "thin": 1, "n_chains": 1}


def small(kind=BankRegressor, **options):
    return kind(**{**SMALL, "random_state": 0, **options})


@parametrize_with_checks([BankFeatures(small(), max_draws=2)])
def test_the_contract_of_a_transformer(estimator, check):
    check(estimator)


def wave(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("trend", ["none", "constant"])
def test_inner_products_are_the_posterior_mean_kernel(trend):
    X, y = wave()
    features = BankFeatures(small(trend=trend), max_draws=32).fit(X, y)
    Phi = features.transform(X)
    np.testing.assert_allclose(Phi @ Phi.T, features.estimator_.kernel_(X), atol=1e-12)


def test_a_linear_trend_adds_the_scaled_inputs():
    X, y = wave()
    features = BankFeatures(small(trend="linear"), max_draws=3).fit(X, y)
    Phi = features.transform(X)
    assert Phi.shape == (150, 2 + 3 * 12) == (150, features.n_features_out_)
    np.testing.assert_allclose(
        Phi[:, :2] * np.sqrt(2), features.estimator_.input_scaling_(X), atol=1e-12
    )
    names = features.get_feature_names_out()
    assert names[:4].tolist() == ["trend_x0", "trend_x1", "draw0_cos0", "draw0_sin0"]
    assert len(names) == Phi.shape[1] == len(set(names))


@pytest.mark.parametrize("later", [1, 4])
def test_another_number_of_draws_counts_from_the_next_fit_on(later):
    X, y = wave(60)
    features = BankFeatures(small(), max_draws=2).fit(X, y)
    before, names = features.transform(X), features.get_feature_names_out()
    features.set_params(max_draws=later)
    np.testing.assert_array_equal(features.transform(X), before)
    assert features.get_feature_names_out().tolist() == names.tolist()
    assert features.fit(X, y).transform(X).shape[1] - before.shape[1] == 12 * (later - 2)


def test_pickles_from_before_the_draws_were_kept_transform_as_they_did():
    X, y = wave(60)
    features = BankFeatures(small(), max_draws=2).fit(X, y)
    state = dict(features.__getstate__())
    del state["_draws"]
    older = BankFeatures.__new__(BankFeatures)
    older.__setstate__(state)
    np.testing.assert_array_equal(older.transform(X), features.transform(X))


def test_a_linear_model_on_the_features_beats_one_on_the_inputs():
    X, y = wave(300)
    new, truth = wave(300, seed=1)
    features = BankFeatures(small(n_frequencies=32, n_warmup=40), max_draws=4)
    model = make_pipeline(features, RidgeCV(np.logspace(-6, 1, 8))).fit(X, y)
    assert model.score(new, truth) > 0.9
    assert Ridge().fit(X, y).score(new, truth) < 0.3


def test_labels_choose_a_classifier_and_numbers_a_regressor():
    features = BankFeatures(random_state=1)
    assert isinstance(features._unfitted(["a", "b", "c"]), BankClassifier)
    assert isinstance(features._unfitted([0, 1, 1, 0]), BankClassifier)
    assert isinstance(features._unfitted([0, 1, 2, 5]), BankRegressor)
    assert isinstance(features._unfitted([0.5, 1.5, 2.5]), BankRegressor)
    for numbers in ([0, 1, 2, 5], [0.5, Decimal("1.5"), None, np.float32(2.5)]):
        assert isinstance(features._unfitted(np.array(numbers, dtype=object)), BankRegressor)
    for labels in ([0, 1, 0], [True, np.bool_(False)], ["a", 1, 2.5]):
        assert isinstance(features._unfitted(np.array(labels, dtype=object)), BankClassifier)
    assert features._unfitted([0, 1]).random_state == 1
    assert BankFeatures(BankRegressor(), random_state=3)._unfitted([0, 1]).random_state == 3


def test_it_serves_classifiers_and_clustering():
    X, y = wave()
    labels = np.where(y > 0, "up", "down")
    for model in (LogisticRegression(), LinearSVC(C=10.0)):
        steps = make_pipeline(BankFeatures(small(BankClassifier, n_warmup=20)), model)
        assert steps.fit(X, labels).score(X, labels) > 0.6
    groups = make_pipeline(BankFeatures(small()), KMeans(2, n_init=1, random_state=0))
    assert set(groups.fit(X, y).predict(X)) == {0, 1}


def test_searches_reach_the_estimator_inside():
    X, y = wave(80)
    steps = make_pipeline(BankFeatures(small()), Ridge())
    grid = {"bankfeatures__estimator__n_frequencies": [3, 6], "bankfeatures__max_draws": [1, 2]}
    search = GridSearchCV(steps, grid, cv=2).fit(X, y)
    assert search.best_params_["bankfeatures__max_draws"] in (1, 2)
    assert len(cross_val_score(clone(steps), X, y, cv=2)) == 2


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_gives_named_frames(library):
    frames = pytest.importorskip(library)
    X, y = wave(60)
    frame = frames.DataFrame({"left": X[:, 0], "right": X[:, 1]})
    features = BankFeatures(small(trend="linear"), max_draws=1).set_output(transform=library)
    out = features.fit(frame, y).transform(frame)
    assert list(out.columns)[:3] == ["trend_left", "trend_right", "draw0_cos0"]
    assert out.shape == (60, 14)


def test_a_fitted_estimator_needs_no_second_fit():
    X, y = wave(60)
    model = small().fit(X, y)
    features = BankFeatures.from_fitted(model, max_draws=2)
    assert features.estimator_ is model
    np.testing.assert_array_equal(
        features.transform(X), BankFeatures(small(), max_draws=2).fit(X, y).transform(X)
    )


def test_weights_reach_the_estimator():
    X, y = wave(60)
    weight = np.where(np.arange(60) < 30, 1.0, 0.0)
    weighted = BankFeatures(small(), max_draws=1).fit(X, y, sample_weight=weight)
    alone = BankFeatures(small(), max_draws=1).fit(X[:30], y[:30])
    np.testing.assert_allclose(weighted.transform(X), alone.transform(X))


def test_what_cannot_be_is_refused_in_a_sentence():
    X, y = wave(30)
    with pytest.raises(ValueError, match="learned from a target"):
        BankFeatures(small()).fit(X, None)
    with pytest.raises(TypeError, match="must be a BankRegressor or a BankClassifier, not Ridge"):
        BankFeatures(Ridge()).fit(X, y)
    with pytest.raises(TypeError, match="must be a BankRegressor or a BankClassifier, not int"):
        BankFeatures(3).fit(X, y)
    with pytest.raises(ValueError, match="max_draws must be at least 1"):
        BankFeatures(small(), max_draws=0).fit(X, y)


def test_the_example_in_its_description_runs():
    assert doctest.testmod(module).failed == 0


def test_names_of_inputs_are_those_of_the_fit():
    X, y = wave(60)
    frames = pytest.importorskip("pandas")
    model = small(trend="linear").fit(frames.DataFrame(X, columns=["left", "right"]), y)
    features = BankFeatures.from_fitted(model, max_draws=1)
    assert features.feature_names_in_.tolist() == ["left", "right"]
    assert features.get_feature_names_out()[0] == "trend_left"
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        features.get_feature_names_out(["a", "b"])
    plain = BankFeatures.from_fitted(small(trend="linear").fit(X, y), max_draws=1)
    assert plain.get_feature_names_out(["a", "b"])[0] == "trend_a"
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        plain.get_feature_names_out(["a"])
