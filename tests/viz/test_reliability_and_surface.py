import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib import pyplot
from sklearn.pipeline import make_pipeline

from banklearn import BankClassifier
from banklearn.posterior.calibration import reliability, top_class
from banklearn.viz import DecisionSurfaceDisplay, ReliabilityDisplay
from fitted import three_inputs, two_classes


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def png(figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def test_reliability_by_hand():
    found = reliability([0.05, 0.15, 0.1, 0.95, 1.0], [0, 1, 0, 1, 0], bins=10)
    np.testing.assert_array_equal(found.rows, [1, 2, 0, 0, 0, 0, 0, 0, 0, 2])
    assert found.predicted[1] == pytest.approx(0.125)
    assert found.observed[1] == 0.5
    assert found.error == pytest.approx((0.05 + 2 * 0.375 + 2 * 0.475) / 5)
    assert np.isnan(found.predicted[4])


def test_calibrated_probabilities_have_a_small_error_and_others_do_not():
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    happened = rng.random(20_000) < p
    assert reliability(p, happened).error < 0.02
    assert reliability(p**2, happened).error > 0.1


@pytest.mark.parametrize(
    ("p", "yes", "words"),
    [([0.1], [0, 1], "one length"), ([1.2], [0], "between 0 and 1"), ([], [], "at least one")],
)
def test_bad_probabilities_get_a_sentence(p, yes, words):
    with pytest.raises(ValueError, match=words):
        reliability(p, yes)
    with pytest.raises(ValueError, match="bins must be at least 1, but is 0"):
        reliability([0.5], [1], bins=0)


def test_the_top_class_is_right_or_not():
    p, right = top_class([[0.2, 0.8], [0.6, 0.4], [0.9, 0.1]], [1, 1, -1])
    np.testing.assert_array_equal(p, [0.8, 0.6, 0.9])
    np.testing.assert_array_equal(right, [1, 0, 0])


def test_the_curve_on_the_plot_is_that_of_the_classifier():
    model, X, y = two_classes()
    display = ReliabilityDisplay.from_estimator(model, X, y, positive=1, bins=5)
    p = model.predict_proba(X)[:, 1]
    expected = reliability(p, y == 1, 5)
    (line,) = [entry for entry in display.ax_.get_lines() if entry.get_label() == "observed"]
    full = expected.rows > 0
    np.testing.assert_allclose(line.get_xdata(), expected.predicted[full])
    np.testing.assert_allclose(line.get_ydata(), expected.observed[full])
    assert f"{expected.error:.3f}" in display.ax_.get_title()
    assert "class 1" in display.ax_.get_xlabel()
    heights = [bar.get_height() for bar in display.ax_.patches]
    np.testing.assert_allclose(heights, 0.3 * expected.rows / expected.rows.max())
    assert png(display.figure_)
    with pytest.raises(ValueError, match="no class 'x'"):
        ReliabilityDisplay.from_estimator(model, X, y, positive="x")


def test_by_default_the_most_probable_class_is_examined():
    model, X, y = two_classes()
    display = ReliabilityDisplay.from_estimator(model, X, y)
    p = model.predict_proba(X).max(axis=1)
    assert display.error == pytest.approx(reliability(p, model.predict(X) == y).error)


def test_the_surface_shows_the_probabilities_and_where_they_are_open():
    model, X, y = two_classes()
    display = DecisionSurfaceDisplay.from_estimator(model, X, y, resolution=12)
    at = np.array([[display.x[3], display.y[7]]])
    np.testing.assert_allclose(display.probability[7, 3], model.predict_proba(at)[0])
    lower, upper = model.predict_proba_interval(at, 0.9)
    np.testing.assert_allclose(display.lower[7, 3], lower[0])
    np.testing.assert_allclose(display.upper[7, 3], upper[0])
    both = (display.lower[..., 1] < 0.5) & (display.upper[..., 1] > 0.5)
    assert np.mean(display.unsure == both) > 0.95
    assert 0 < display.unsure.mean() < 1
    drawn = sum(len(line.get_xdata()) for line in display.ax_.get_lines())
    assert drawn == len(y)
    assert len(png(display.figure_)) > 10_000


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_three_classes_and_named_inputs(frame):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    table = frame({"length": X[:, 0], "width": X[:, 1]})
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.4, 0.4])]
    model = BankClassifier(8, n_warmup=8, n_draws=4, random_state=0, n_chains=1).fit(table, y)
    display = DecisionSurfaceDisplay.from_estimator(model, table, y, resolution=10)
    assert display.ax_.get_xlabel() == "length"
    assert display.probability.shape == (10, 10, 3)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["a", "b", "c"]
    assert png(display.figure_)


def test_a_surface_without_points_and_without_doubt():
    grid = np.linspace(0, 1, 5)
    p = np.zeros((5, 5, 2))
    p[:, :2], p[:, 2:] = [0.99, 0.01], [0.02, 0.98]
    display = DecisionSurfaceDisplay(
        grid, grid, p, p - 0.005, p + 0.005, classes=np.array([0, 1]), names=("a", "b")
    )
    assert not display.unsure.any()
    ax = display.plot().ax_
    assert ax.get_legend() is None
    assert not ax.get_lines()
    model, X, _ = two_classes()
    assert not DecisionSurfaceDisplay.from_estimator(model, X, resolution=5).ax_.get_lines()


def test_a_surface_needs_two_inputs():
    model, X, _ = three_inputs()
    with pytest.raises(ValueError, match="two inputs, but the classifier has 3"):
        DecisionSurfaceDisplay.from_estimator(model, X)


def test_dollar_signs_in_names_and_classes_are_no_formula():
    p, name = np.full((4, 4, 2), 0.5), "under $50, over {$"
    ends = np.linspace(0, 1, 4)
    surface = DecisionSurfaceDisplay(
        ends,
        ends,
        p,
        p - 0.1,
        p + 0.1,
        classes=np.array([name, "other"]),
        names=(name, f"{name}^"),
        points=np.array([[0.2, 0.3], [0.6, 0.1]]),
        labels=np.array([name, "other"]),
    ).plot()
    surface.figure_.draw_without_rendering()
    assert [text.get_text() for text in surface.ax_.get_legend().get_texts()] == [name, "other"]
    one = np.array([0.5])
    ReliabilityDisplay(one, one, one, what=name).plot().figure_.draw_without_rendering()


def test_labels_that_are_none_of_the_classes():
    found = two_classes()
    X = np.zeros((3, found.model.n_features_in_))
    with pytest.raises(ValueError, match="None of the labels in y is a class of the model: y has"):
        ReliabilityDisplay.from_estimator(found.model, X, ["some", "other", "words"])


def test_a_surface_takes_columns_by_their_names():
    _, X, y = two_classes()
    table = pd.DataFrame(X, columns=["u", "v"])
    model = BankClassifier(4, n_warmup=2, n_draws=2, n_chains=1, random_state=0)
    model.fit(table, y)
    shown = DecisionSurfaceDisplay.from_estimator(model, table, y, resolution=5)
    for same in (pa.Table.from_pandas(table), pl.from_pandas(table)):
        other = DecisionSurfaceDisplay.from_estimator(model, same, y, resolution=5)
        np.testing.assert_array_equal(other.points, shown.points)
        np.testing.assert_array_equal(other.probability, shown.probability)
    for wrong in (table[["v", "u"]], table.assign(w=5.0)[["w", "u", "v"]]):
        with pytest.raises(ValueError, match="feature names should match"):
            DecisionSurfaceDisplay.from_estimator(model, wrong, y)
    with pytest.raises(ValueError, match=f"X has {len(X)} rows, but y has 5"):
        DecisionSurfaceDisplay.from_estimator(model, table, y[:5])
    with pytest.raises(ValueError, match="the one inside of it"):
        DecisionSurfaceDisplay.from_estimator(make_pipeline(model).fit(table, y), table)


def test_reliability_of_one_class_with_labels_of_another_kind():
    model, X, y = two_classes()
    codes = np.unique(y, return_inverse=True)[1] + 7
    with pytest.raises(ValueError, match="None of the labels in y is a class"):
        ReliabilityDisplay.from_estimator(model, X, codes, positive=model.classes_[1])
