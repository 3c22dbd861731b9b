import io
import re
import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot

from banklearn.viz import PredictionIntervalDisplay, ReliabilityDisplay, TraceDisplay
from fitted import one_input, small, two_classes


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def png(figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def test_traces_show_every_chain_and_shade_the_warm_up():
    model = one_input().model
    display = TraceDisplay.from_estimator(model)
    assert [ax.get_ylabel() for ax in display.ax_] == [
        "log evidence",
        "components",
        "weight precision λ",
        "noise deviation",
    ]
    for ax, name in zip(display.ax_, ("log_evidence", "K", "lam"), strict=False):
        assert len(ax.get_lines()) == model.n_chains
        for drawn, trace in zip(ax.get_lines(), model.trace_, strict=True):
            np.testing.assert_allclose(drawn.get_ydata(), trace[name])
        (shade,) = ax.patches
        ends = ax.transData.inverted().transform_bbox(shade.get_window_extent()).intervalx
        assert ends.tolist() == pytest.approx([0.5, model.n_warmup + 0.5])
    assert len(png(display.figure_)) > 10_000


def test_noise_is_shown_in_the_units_of_the_target_at_the_sweeps_of_the_draws():
    model = one_input().model
    noise = TraceDisplay.from_estimator(model).ax_[3].get_lines()[1]
    draws = [draw for draw in model.draws_ if draw.chain == 1]
    expected = [model.target_scaling_.scale * np.sqrt(draw.noise) for draw in draws]
    np.testing.assert_allclose(noise.get_ydata(), expected)
    np.testing.assert_array_equal(noise.get_xdata(), [14, 16, 18, 20, 22, 24])


def test_a_warm_up_cut_short_leaves_no_gap():
    model = one_input().model
    chains = TraceDisplay.from_estimator(model).chains
    model = small(n_warmup=40)
    model.trace_, model.draws_ = one_input().model.trace_, one_input().model.draws_
    model.target_scaling_ = one_input().model.target_scaling_
    cut = TraceDisplay.from_estimator(model).chains
    # 28 of the 40 planned warm-up sweeps were not made, so draws move to the left by 28.
    np.testing.assert_array_equal(cut[0]["noise_sweep"], chains[0]["noise_sweep"] - 28)


def test_a_classifier_shows_its_likelihood_and_no_noise():
    model = two_classes().model
    display = TraceDisplay.from_estimator(model)
    assert [ax.get_ylabel() for ax in display.ax_] == [
        "log likelihood",
        "components",
        "weight precision λ",
    ]
    drawn = display.ax_[0].get_lines()[1]
    np.testing.assert_allclose(drawn.get_ydata(), model.trace_[1]["log_likelihood"])


def test_without_a_warm_up_nothing_is_shaded():
    chains = [
        {**chain, "warmup": 0} for chain in TraceDisplay.from_estimator(one_input().model).chains
    ]
    display = TraceDisplay(chains).plot()
    assert not any(ax.patches for ax in display.ax_)
    assert display.ax_[-1].get_xlabel() == "sweep"


def test_a_wrong_number_of_axes_is_refused():
    with pytest.raises(ValueError, match="need 4 axes, but 1"):
        TraceDisplay.from_estimator(one_input().model, ax=pyplot.subplots()[1])
    with pytest.raises(ValueError, match="Call fit first"):
        TraceDisplay.from_estimator(small())


def test_a_plot_for_another_task_is_refused():
    model, X, y = two_classes()
    with pytest.raises(TypeError, match="for regression, but BankClassifier has no predict_int"):
        PredictionIntervalDisplay.from_estimator(model, X, y)
    model, X, y = one_input()
    with pytest.raises(TypeError, match="for classification, but BankRegressor has no predict_pr"):
        ReliabilityDisplay.from_estimator(model, X, y > 0)


def test_points_lie_at_observed_and_predicted_and_the_title_counts_coverage():
    model, X, y = one_input()
    display = PredictionIntervalDisplay.from_estimator(model, X, y, coverage=0.6)
    lower, upper = model.predict_interval(X, 0.6)
    inside = (lower <= y) & (y <= upper)
    assert 0 < inside.mean() < 1
    points = [entry for entry in display.ax_.get_lines() if entry.get_marker() == "o"]
    x = np.concatenate([p.get_xdata() for p in points])
    drawn = np.concatenate([p.get_ydata() for p in points])
    order = np.argsort(x)
    np.testing.assert_allclose(x[order], np.sort(y))
    np.testing.assert_allclose(drawn[order], model.predict(X)[np.argsort(y)])
    assert len(points[0].get_xdata()) == inside.sum()
    share = float(re.match(r"([\d.]+) %", display.ax_.get_title())[1])
    assert share == pytest.approx(100 * inside.mean(), abs=0.05)
    assert len(png(display.figure_)) > 10_000


def test_many_rows_are_thinned_on_the_plot_but_all_are_counted():
    n = 1000
    observed = np.random.default_rng(0).standard_normal(n)
    display = PredictionIntervalDisplay(observed, observed, observed - 1, observed + 1).plot()
    assert len(display.ax_.get_lines()[0].get_xdata()) == 300
    assert (
        display.ax_.get_title()
        == "100.0 % of 1000 rows lie in their 95 % interval, 300 of them drawn"
    )


def test_importing_the_plots_does_not_import_matplotlib():
    code = "import sys, banklearn.viz, banklearn.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_targets_that_cannot_be_compared_with_their_intervals():
    found = one_input()
    model, X = found.model, np.zeros((3, 1))
    with pytest.raises(ValueError, match="There are 2 observed targets for 3 rows"):
        PredictionIntervalDisplay.from_estimator(model, X, [1.0, 2.0])
    with pytest.raises(ValueError, match="hold nan in row 1"):
        PredictionIntervalDisplay.from_estimator(model, X, [1.0, np.nan, 2.0])
