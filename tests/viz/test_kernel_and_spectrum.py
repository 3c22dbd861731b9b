import io

import numpy as np
import pytest
from matplotlib import pyplot
from scipy.integrate import trapezoid

from banklearn.viz import KernelDisplay, SpectralDensityDisplay
from fitted import one_input, small, three_inputs, two_classes


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def line(ax, label):
    (found,) = [entry for entry in ax.get_lines() if entry.get_label() == label]
    return found.get_xdata(), found.get_ydata()


def png(figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    assert len(np.unique(pyplot.imread(io.BytesIO(buffer.getvalue())).reshape(-1, 4), axis=0)) > 20
    return buffer.getvalue()


def mean_kernel(model, i, lags):
    """k along used input i in model units, from the closed form, draw by draw."""
    curves = []
    for draw in model.draws_:
        k = np.zeros(len(lags))
        for pi, mu, Sigma in zip(draw.pi, draw.mu, draw.Sigma, strict=True):
            k += pi * np.exp(-0.5 * Sigma[i, i] * lags**2) * np.cos(mu[i] * lags)
        curves.append(k)
    return np.array(curves)


def test_the_kernel_on_the_plot_is_the_posterior_mean_in_the_units_of_the_data():
    model = one_input().model
    lags = np.linspace(0.0, 4.0, 50)
    display = KernelDisplay.from_estimator(model, lags=lags, coverage=0.8)
    x, y = line(display.ax_, "learned kernel")
    expected = mean_kernel(model, 0, lags / model.input_scaling_.scale[0])
    np.testing.assert_allclose(x, lags)
    np.testing.assert_allclose(y, expected.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(display.lower, np.quantile(expected, 0.1, axis=0), rtol=1e-10)
    np.testing.assert_allclose(display.upper, np.quantile(expected, 0.9, axis=0), rtol=1e-10)
    assert "80 % credible band" in [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert png(display.figure_).startswith(b"\x89PNG")


def test_the_kernel_along_a_later_input_skips_the_constant_one():
    model = three_inputs().model
    lags = np.linspace(0.0, 1.0, 20)
    display = KernelDisplay.from_estimator(model, feature=2, lags=lags)
    expected = mean_kernel(model, 1, lags / model.input_scaling_.scale[1])
    np.testing.assert_allclose(display.mean, expected.mean(axis=0), rtol=1e-10)
    assert display.ax_.get_xlabel() == "distance along input 2"


def test_arcsinh_inputs_are_plotted_in_transformed_units_and_say_so():
    model = three_inputs("arcsinh").model
    lags = np.linspace(0.0, 2.0, 20)
    display = KernelDisplay.from_estimator(model, lags=lags)
    np.testing.assert_allclose(display.mean, mean_kernel(model, 0, lags).mean(axis=0), rtol=1e-10)
    assert "arcsinh" in display.ax_.get_xlabel()


def test_true_and_rbf_kernels_are_drawn_with_different_dashes():
    model = one_input().model
    lags = np.linspace(0.0, 4.0, 30)
    display = KernelDisplay.from_estimator(
        model, lags=lags, true_kernel=np.cos, rbf_length_scale=1.5
    )
    np.testing.assert_allclose(line(display.ax_, "true kernel")[1], np.cos(lags))
    np.testing.assert_allclose(line(display.ax_, "best RBF kernel")[1], np.exp(-(lags**2) / 4.5))
    dashes = {
        str(entry._dash_pattern)
        for entry in display.ax_.get_lines()
        if not entry.get_label().startswith("_")
    }
    assert len(dashes) == 3


def test_the_rbf_kernel_of_the_start_has_the_start_s_length_scale():
    model = one_input().model
    display = KernelDisplay.from_estimator(model, lags=[0.0, 1.0], rbf_length_scale="start")
    length = model.input_scaling_.scale[0] / model.starting_point_.scale
    np.testing.assert_allclose(display.rbf_kernel[1], np.exp(-0.5 / length**2))


def test_default_lags_reach_until_the_kernel_has_died_away():
    display = KernelDisplay.from_estimator(one_input().model)
    assert display.lags[0] == 0.0
    assert display.mean[0] == pytest.approx(1.0)
    assert abs(display.mean[-1]) < 0.1 or display.lags[-1] > 5 * 3.0


def test_the_spectral_density_of_one_input_integrates_to_one_and_gives_the_kernel():
    model = one_input().model
    omega = np.linspace(0.0, 60.0, 60_001)
    display = SpectralDensityDisplay.from_estimator(model, frequencies=omega)
    assert 2.0 * trapezoid(display.mean, omega) == pytest.approx(1.0, abs=5e-3)
    lag = 0.7
    transform = 2.0 * trapezoid(display.mean * np.cos(lag * omega), omega)
    kernel = KernelDisplay.from_estimator(model, lags=[0.0, lag]).mean[1]
    assert transform == pytest.approx(kernel, abs=5e-3)
    assert png(display.figure_)


def test_the_marginal_density_is_the_joint_one_integrated_over_the_other_input():
    model = three_inputs().model
    omega = np.array([0.0, 0.4, 1.1])
    display = SpectralDensityDisplay.from_estimator(model, frequencies=omega)
    # One narrow draw is enough, and its joint density is smooth enough to sum over a grid.
    other = np.linspace(-150.0, 150.0, 6001)
    for i, w in enumerate(omega):
        grid = np.column_stack([np.full_like(other, w), np.zeros_like(other), other])
        joint = model.kernel_.spectral_density(grid).mean
        assert trapezoid(joint, other) == pytest.approx(display.mean[i], rel=0.02)
    assert display.ax_.get_ylabel() == "marginal spectral density"


def test_the_kernel_of_a_classifier_is_drawn_too():
    display = KernelDisplay.from_estimator(two_classes().model, feature=1, rbf_length_scale="start")
    assert display.mean[0] == pytest.approx(1.0)
    assert png(display.figure_)


def test_a_known_density_is_drawn_beside_the_learned_one():
    omega = np.linspace(0.0, 3.0, 20)
    display = SpectralDensityDisplay.from_estimator(
        one_input().model, frequencies=omega, true_density=lambda w: 4.0 * np.exp(-w)
    )
    _, y = line(display.ax_, "true density")
    np.testing.assert_allclose(y, 4.0 * np.exp(-omega))
    assert display.ax_.get_ylim()[1] > 4.0  # the taller of both decides


def test_an_input_may_be_named():
    model, lags = three_inputs().model, [0.0, 0.3]
    by_name = KernelDisplay.from_estimator(model, feature="input 2", lags=lags)
    by_number = KernelDisplay.from_estimator(model, feature=2, lags=lags)
    np.testing.assert_array_equal(by_name.mean, by_number.mean)


def test_lags_of_inputs_as_they_are_end_where_the_kernel_does():
    rng = np.random.default_rng(0)
    X = 0.01 * rng.standard_normal((60, 1))
    model = small(input_scaling="none", spectral_scale=200.0).fit(X, np.sin(200.0 * X[:, 0]))
    display = KernelDisplay.from_estimator(model)
    assert 0.001 < display.lags[-1] < 1.0  # six units, as for standardised inputs, would be far off
    assert abs(display.mean[-1]) < 0.2


def test_given_axes_are_used():
    figure, ax = pyplot.subplots()
    display = SpectralDensityDisplay.from_estimator(one_input().model, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure


def test_what_cannot_be_shown_is_said_in_a_sentence():
    model = three_inputs().model
    with pytest.raises(ValueError, match="did not vary"):
        KernelDisplay.from_estimator(model, feature=1)
    with pytest.raises(ValueError, match="between 0 and 2"):
        KernelDisplay.from_estimator(model, feature=3)
    with pytest.raises(ValueError, match="no input 'depth'"):
        KernelDisplay.from_estimator(model, feature="depth")
    with pytest.raises(ValueError, match="Call fit first"):
        SpectralDensityDisplay.from_estimator(small())


@pytest.mark.parametrize("display", [KernelDisplay, SpectralDensityDisplay])
def test_dollar_signs_in_a_name_are_no_formula(display):
    curves = [np.linspace(0, 1, 20)] * 4
    drawn = display(*curves, name="price $ per {$").plot()
    assert png(drawn.figure_)
    assert "price $ per {$" in drawn.ax_.get_xlabel()


@pytest.mark.parametrize("display", [KernelDisplay, SpectralDensityDisplay])
@pytest.mark.parametrize("feature", [1.5, None, True, "no such input", 3, -1])
def test_features_that_are_no_input(display, feature):
    with pytest.raises((TypeError, ValueError), match=r"feature must|There is no input"):
        display.from_estimator(three_inputs().model, feature=feature)


@pytest.mark.parametrize("length", [-1, 0.0, float("nan"), float("inf"), "x"])
def test_lengths_that_are_none(length):
    with pytest.raises(ValueError, match="rbf_length_scale must be a length above zero"):
        KernelDisplay.from_estimator(one_input().model, rbf_length_scale=length)
