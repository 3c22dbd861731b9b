"""The estimators in a notebook: beside everything else that scikit-learn offers."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from banklearn import BankClassifier, BankFeatures, BankRegressor

SMALL = {"n_frequencies": 8, "n_warmup": 10, "n_draws": 4, "thin": 1, "n_chains": 1}


def small(kind=BankRegressor, **options):
    return kind(**{**SMALL, "random_state": 0, **options})


def data(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, 2.0 * X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("kind", [BankRegressor, BankClassifier, BankFeatures])
def test_a_notebook_shows_the_parameters(kind):
    page = kind()._repr_html_()
    assert kind.__name__ in page
    assert "<div" in page


def test_a_notebook_shows_the_learned_kernel():
    X, y = data()
    kernel = small().fit(X, y).kernel_
    assert repr(kernel) == "LearnedKernel(4 draws of 8 frequencies, 3 inputs)"
    page = kernel._repr_html_()
    assert "<table" in page
    assert "8 frequencies" in page


def test_permutation_importance_finds_the_input_that_matters():
    X, y = data()
    model = small().fit(X, y)
    found = permutation_importance(model, X, y, n_repeats=2, random_state=0)
    assert found.importances_mean.argmax() == 1


def test_partial_dependence_follows_the_slope():
    X, y = data()
    curve = partial_dependence(small().fit(X, y), X, [1], grid_resolution=5)["average"][0]
    assert (np.diff(curve) > 0).all()


def test_cross_validation_with_several_scores():
    X, y = data()
    found = cross_validate(
        small(), X, y, cv=2, scoring=["r2", "neg_mean_squared_error"], return_estimator=True
    )
    assert len(found["estimator"]) == 2
    assert found["test_r2"].shape == (2,)


def test_weights_are_routed_through_pipelines_and_searches():
    X, y = data()
    weight = np.where(np.arange(90) < 60, 1.0, 0.0)
    with config_context(enable_metadata_routing=True):
        model = small().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        steps = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), model)
        steps.fit(X, y, sample_weight=weight)
        search = GridSearchCV(steps, {"bankregressor__n_frequencies": [4, 8]}, cv=2)
        assert search.fit(X, y, sample_weight=weight).best_params_
    alone = make_pipeline(StandardScaler(), small()).fit(X[:60], y[:60])
    np.testing.assert_allclose(steps.predict(X), alone.predict(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_go_through_a_pipeline_with_their_names(library):
    frames = pytest.importorskip(library)
    X, y = data()
    frame = frames.DataFrame({name: X[:, i] for i, name in enumerate("abc")})
    steps = Pipeline(
        [
            ("some", ColumnTransformer([("scaled", StandardScaler(), ["a", "b"])])),
            ("bank", small()),
        ]
    ).set_output(transform=library)
    steps.fit(frame, y)
    assert steps["bank"].feature_names_in_.tolist() == ["scaled__a", "scaled__b"]
    assert steps.predict(frame).shape == (90,)


def test_a_transformed_target():
    X, y = data()
    model = TransformedTargetRegressor(small(), func=np.arcsinh, inverse_func=np.sinh)
    assert model.fit(X, y).score(X, y) > 0.5


def test_predictions_take_the_plain_arrays_that_explainers_send():
    """SHAP and LIME call predict with float arrays, also for a model that was fitted on frames."""
    frames = pytest.importorskip("pandas")
    X, y = data()
    model = small(BankClassifier).fit(frames.DataFrame(X, columns=list("abc")), y > 0)
    with pytest.warns(UserWarning, match="feature names"):
        assert model.predict_proba(X[:1]).shape == (1, 2)
