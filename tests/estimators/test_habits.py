"""The estimators in a notebook: beside everything else that scikit-learn offers."""

import inspect
import warnings

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn import config_context
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from banklearn import BankClassifier, BankFeatures, BankRegressor, viz

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
        # Pipelines of scikit-learn 1.6 do not pass on what their last step's score asks for.
        scorer = get_scorer("r2").set_score_request(sample_weight=True)
        search = GridSearchCV(steps, {"bankregressor__n_frequencies": [4, 8]}, cv=2, scoring=scorer)
        assert search.fit(X, y, sample_weight=weight).best_params_
    alone = make_pipeline(StandardScaler(), small()).fit(X[:60], y[:60])
    np.testing.assert_allclose(steps.predict(X), alone.predict(X))


def test_weights_are_routed_in_cross_validation():
    X, y = data()
    weight = np.where(np.arange(90) < 60, 1.0, 0.5)
    with config_context(enable_metadata_routing=True):
        model = small().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_validate(model, X, y, cv=2, params={"sample_weight": weight})
    assert np.isfinite(found["test_score"]).all()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_features_come_out_as_frames_with_names(library):
    frames = pytest.importorskip(library)
    X, y = data()
    features = BankFeatures(small(), max_draws=2).set_output(transform=library).fit(X, y)
    Phi = features.transform(X)
    assert isinstance(Phi, frames.DataFrame)
    assert list(Phi.columns) == features.get_feature_names_out().tolist()


@pytest.mark.parametrize("display", viz.__all__)
def test_every_plot_is_a_display_as_scikit_learn_s(display):
    """from_estimator and plot are there, and what plot drew is kept as ax_ and figure_."""
    kind = getattr(viz, display)
    if not display.endswith("Display"):
        pytest.skip(f"{display} is no plot")
    assert isinstance(inspect.getattr_static(kind, "from_estimator"), classmethod)
    X, y = data()
    classes = {"ReliabilityDisplay", "DecisionSurfaceDisplay"}
    model = small(BankClassifier).fit(X[:, :2], y > 0) if display in classes else small().fit(X, y)
    rows = {"PredictionIntervalDisplay": (X, y), "ReliabilityDisplay": (X[:, :2], y > 0),
            "DecisionSurfaceDisplay": (X[:, :2],)}  # fmt: skip
    shown = kind.from_estimator(model, *rows.get(display, ()))
    assert shown.figure_ is not None
    assert shown.ax_ is not None
    pyplot.close("all")


NOTEBOOK = """
from banklearn import BankRegressor
import numpy as np
X = np.linspace(0, 1, 40)[:, None]
model = BankRegressor(4, n_warmup=5, n_draws=4, thin=1, n_chains=1, random_state=0, verbose=1)
model.fit(X, np.sin(9 * X[:, 0]))
""".strip()


def test_a_notebook_shows_progress_and_the_model():
    """In a real one: a kernel of Jupyter runs the cell, and what it displays is looked at."""
    client = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="there is no kernel for notebooks")
    import nbformat

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(NOTEBOOK)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the messages between client and kernel
        client.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    outputs = book.cells[0].outputs
    (bar,) = [o for o in outputs if o.output_type == "display_data"]  # updated in place
    assert "chain 0" in bar.data["text/html"]
    assert "9/9" in bar.data["text/html"]
    assert "log evidence" in bar.data["text/html"]
    (result,) = [o for o in outputs if o.output_type == "execute_result"]
    assert "BankRegressor" in result.data["text/html"]


@pytest.mark.parametrize("inference", ["polya-gamma", "laplace-mh"])
def test_the_progress_of_a_classifier_is_that_of_the_likelihood(inference, capsys):
    X, y = data()
    small(BankClassifier, inference=inference, verbose=1).fit(X, y > 0)
    shown = capsys.readouterr().out
    assert "log lik." in shown
    assert "log evidence" not in shown


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


@pytest.mark.parametrize("kind", [BankRegressor, BankClassifier, BankFeatures])
@pytest.mark.parametrize("piped", [False, True])
def test_warnings_point_at_the_line_that_called(kind, piped):
    """Also through the decorators and pipelines of scikit-learn, which add frames of their own."""
    X, y = data()
    y = y > 0 if kind is BankClassifier else y
    inner = BankRegressor if kind is BankFeatures else kind
    model = small(inner, n_warmup=5000, max_time=0.05)
    model = BankFeatures(model) if kind is BankFeatures else model
    model = make_pipeline(StandardScaler(), model) if piped else model
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    (said,) = [entry for entry in caught if "max_time" in str(entry.message)]
    assert said.filename == __file__


def test_shap_explains_predictions():
    shap = pytest.importorskip("shap", reason="SHAP is not installed")
    X, y = data()
    model = small().fit(X, y)
    found = shap.KernelExplainer(model.predict, X[:10])(X[:4])
    total = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(total, model.predict(X[:4]), atol=1e-6)
    assert np.abs(found.values).mean(axis=0).argmax() == 1
