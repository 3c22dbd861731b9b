"""Explanations name what was planted, in the units of the data."""

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from banklearn import BankRegressor
from banklearn.datasets.series import make_series
from banklearn.posterior.explain import (
    Estimate,
    InputExplanation,
    KernelExplanation,
    Oscillation,
    find_lines,
)
from banklearn.posterior.lengths import CHANCE, function_length, half_lag
from banklearn.posterior.oscillations import Line, density_peaks, spectral_lines
from banklearn.report import render, summarise
from fitted import one_input, three_inputs, two_classes

PERIODS = (5.0, 1.7)
LENGTH_SCALE = 0.25


@cache
def planted(seed: int):
    """A fit to a planted series; benchmarks/planted_series.py has more of them."""
    series = make_series(seed, periods=PERIODS, length_scale=LENGTH_SCALE)
    model = BankRegressor(160, n_chains=1, n_warmup=100, n_draws=15, random_state=0)
    return model.fit(series.x[:, None], series.y), series.x[:, None], series.y


@pytest.mark.parametrize("which", [0, 1])
def test_the_report_names_the_planted_periods_and_length_scale(which):
    model, X, y = planted(which)
    summary = summarise(model, X[::3], y[::3], names=["years"])
    page = render(summary)
    found = model.explain(X, names=["years"], coverage=0.99)["years"]
    periods = sorted((wave.period for wave in found.oscillations), reverse=True)
    assert len(periods) == 2
    for period, truth in zip(periods, PERIODS, strict=True):
        assert period.value == pytest.approx(truth, rel=0.05)
        assert period.low < truth < period.high
    assert found.length_scale_of == "function"
    assert found.length_scale.value == pytest.approx(LENGTH_SCALE, rel=0.05)
    assert found.length_scale.low < LENGTH_SCALE < found.length_scale.high
    named = summary["explanation"]
    for sentence in named["words"]:
        assert sentence in page
    for wave in named["inputs"][0]["oscillations"]:
        assert min(abs(wave["period"][0] / truth - 1) for truth in PERIODS) < 0.05
    assert abs(named["inputs"][0]["length_scale"][0] / LENGTH_SCALE - 1) < 0.05
    assert "the function repeats with period" in page
    assert "the function apart from these periods has length scale 0.2" in page


def test_a_made_series_has_the_length_scale_that_was_planted(seed):
    assert make_series(seed).realised == pytest.approx(LENGTH_SCALE, rel=0.002)
    drawn = [make_series(100 * seed + k, n_samples=2, drawn=True).realised for k in range(20)]
    assert np.mean(drawn) == pytest.approx(LENGTH_SCALE, rel=0.05)
    assert np.std(drawn) / LENGTH_SCALE == pytest.approx(np.sqrt(CHANCE / 160), rel=0.5)


def cosines(omega, power, n, length, rng):
    x = np.linspace(0.0, length, n)
    phase = rng.uniform(0.0, 2.0 * np.pi, len(omega))
    return (np.sqrt(2.0 * power) * np.cos(np.outer(x, omega) + phase)).sum(axis=1)


@pytest.mark.parametrize("waves", [(), (1.3, 3.7)])
def test_the_length_of_a_function_is_that_of_its_smooth_part(waves, seed):
    rng = np.random.default_rng(seed)
    omega = 2 * np.pi / 40.0 * np.arange(1, 120)
    smooth = np.exp(-0.5 * (0.25 * omega) ** 2)
    f = np.stack([cosines(omega, smooth, 2048, 40.0, rng) for _ in range(6)])[:, None]
    x = np.linspace(0.0, 40.0, 2048)
    f += 3.0 * x + sum(20.0 * np.sin(w * x) for w in waves)
    lines = [Line(np.array([w]), 0.1) for w in waves]
    found = function_length(f, 40.0, lines, 1.645)
    assert found.value == pytest.approx(0.25, rel=0.03)
    assert found.low < 0.25 < found.high
    if waves:
        assert abs(function_length(f, 40.0, [], 1.645).value / 0.25 - 1) > 0.3


def test_a_function_that_hardly_bends_shows_no_length():
    x = np.linspace(0.0, 1.0, 256)
    assert function_length(np.sin(6.0 * x)[None, None], 1.0, [], 1.645) is None
    assert function_length(np.zeros((2, 1, 256)), 1.0, [], 1.645) is None
    model, X, _ = one_input()
    assert model.explain(X).inputs[0].length_scale_of == "kernel"


def test_lines_are_found_at_their_place_in_every_draw():
    x = np.linspace(0.0, 10.0, 512)
    rng = np.random.default_rng(0)
    f = np.sin(2 * np.pi * x / 0.8) + 0.01 * rng.standard_normal((5, 1, 512)) + 3 * x
    (line,) = spectral_lines(f, 10.0)
    np.testing.assert_allclose(2 * np.pi / line.frequency, 0.8, rtol=1e-3)
    assert line.share == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("ell", [0.1, 0.5, 3.0])
def test_a_smooth_process_has_no_lines(ell, seed):
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 10.0, 512)
    w = rng.standard_normal(2000) / ell
    f = np.cos(np.outer(x, w) + rng.uniform(0, 6.28, 2000)).sum(axis=1)
    assert spectral_lines(f[None, None], 10.0) == []


def test_too_few_cycles_are_no_period():
    x = np.linspace(0.0, 1.0, 512)
    assert spectral_lines(np.sin(2 * np.pi * 3 * x)[None, None], 1.0) == []
    assert len(spectral_lines(np.sin(2 * np.pi * 6 * x)[None, None], 1.0)) == 1


def test_a_peak_of_the_density_is_a_period_of_the_kernel_and_mass_at_zero_is_not():
    omega = np.linspace(0.0, 6.0, 512)
    rho = norm.pdf(omega, 0.0, 0.4) + norm.pdf(omega, 3.0, 0.4)
    (peak,) = density_peaks(omega, np.stack([rho, 1.1 * rho]), 30.0)
    np.testing.assert_allclose(peak.frequency, 3.0, atol=0.02)
    assert peak.share == pytest.approx(2 / 3, abs=0.03)
    assert density_peaks(omega, norm.pdf(omega, 0.0, 1.0)[None], 30.0) == []
    assert density_peaks(omega, rho[None], 5.0) == []  # fewer than four cycles


def test_relevance_is_that_of_the_function():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 3))
    y = 2.0 * X[:, 0] + X[:, 1] + 0.05 * rng.standard_normal(300)
    model = BankRegressor(24, n_warmup=60, n_draws=15, random_state=0).fit(X, y)
    found = model.explain(X, names=["a", "b", "c"])
    first, second, third = (found[name].relevance for name in "abc")
    assert first.value == pytest.approx(0.8, abs=0.08)
    assert second.value == pytest.approx(0.2, abs=0.05)
    assert third.value < 0.02
    assert first.low <= first.value <= first.high
    assert [one.name for one in found.by_relevance()] == ["a", "b", "c"]
    assert [one.name for one in found] == [one.name for one in found.inputs]
    assert len(found) == len(found.inputs)
    assert "a" in found
    assert "d" not in found
    assert any("hardly matter: c" in sentence for sentence in found.in_words())


def test_half_lag_and_length_scale_agree_with_the_kernel():
    model, X, _ = one_input()
    found = model.explain(X)["input"]
    curves = model.kernel_.curves(np.linspace(0, 8, 4001))
    half = np.linspace(0, 8, 4001)[(curves <= 0.5).argmax(axis=1)]
    assert found.half_lag.value == pytest.approx(np.median(half), rel=0.02)
    bend = [np.sqrt(np.mean(draw.W**2)) for draw in model.draws_]
    if not found.oscillations:
        unit = model.input_scaling_.scale[0]
        assert found.length_scale.value == pytest.approx(np.median(unit / np.array(bend)))


def test_a_kernel_that_never_or_at_once_falls_to_one_half():
    draw = one_input().model.draws_[0]
    zero, one = np.zeros((1, 1)), np.ones(1)
    flat = replace(draw, pi=one, mu=zero, Sigma=np.full((1, 1, 1), 1e-12))
    assert half_lag(flat, 0) == np.inf
    steep = replace(draw, pi=one, mu=zero, Sigma=np.full((1, 1, 1), 1e14))
    assert 0 < half_lag(steep, 0) < 1e-2


def test_periods_of_the_kernel_and_of_the_function_are_told_apart():
    model = one_input().model
    draw, scaling = model.draws_[0], model.input_scaling_
    unit = float(scaling.unit[0])
    draws = [
        replace(
            draw,
            pi=np.array([0.5, 0.5]),
            mu=np.array([[0.0], [3.0 * unit]]),
            Sigma=np.full((2, 1, 1), (0.2 * unit) ** 2),
            W=np.array([[0.1], [3.2]]) * unit,
        )
    ]
    x = np.linspace(0.0, 60.0, 200)
    ((line, of),) = find_lines(draws, None, scaling, x, 0)
    assert of == "kernel"
    assert np.median(line.frequency) == pytest.approx(3.0, rel=0.02)
    f = np.sin(3.0 * np.linspace(0.0, 60.0, 1024))[None, None]
    ((_, of),) = find_lines(draws, f, scaling, x, 0)
    assert of == "function"  # the same period is not told twice


def estimate(value):
    return Estimate(value, 0.9 * value, 1.1 * value)


def test_what_is_told_of_waves_and_of_inputs_that_hardly_matter():
    wave = Oscillation(estimate(2.0), 0.25, "kernel")
    names = "abcdefg"
    inputs = tuple(
        InputExplanation(n, True, estimate(1.0), "kernel", estimate(1.0), estimate(0.001), (wave,))
        for n in names
    )
    told = KernelExplanation(inputs, 0.0, False).in_words()
    assert told[0] == "These inputs hardly matter: a, b, c, d, e and 2 more."
    assert told[1] == (
        "Along a the kernel oscillates with period 2 (1.8 to 2.2): points that far apart go "
        "together again (25 % of the spectral mass)."
    )
    assert not any("credible" in sentence for sentence in told)  # of no coverage
    assert "90 % credible" in KernelExplanation(inputs, 0.9, False).in_words()[-1]


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_it_says_how_much_of_the_target_the_function_makes(share):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (1500, 2))
    X[:, 1] = rng.random(1500) < 0.01  # hardly ever anything but zero, and half of the function
    f = np.sin(2 * X[:, 0]) / np.sin(2 * X[:, 0]).std() + X[:, 1] / X[:, 1].std()
    y = np.sqrt(share) * f / f.std() + np.sqrt(1 - share) * rng.standard_normal(1500)
    model = BankRegressor(16, n_chains=2, n_warmup=80, n_draws=20, random_state=0).fit(X, y)
    found = model.explain(X)
    low, high = found.explained.low, found.explained.high
    assert max(low - 0.05, 0.0) <= share <= high + 0.05
    assert high - low < 0.3
    assert found.as_dict()["explained"] == list(found.explained)
    (words,) = [words for words in found.in_words() if words.startswith("Noise makes ")]
    told = [float(number) / 100 for number in re.findall(r"\d[\d.]*", words)]
    expected = [1 - found.explained.value, 1 - found.explained.high, 1 - found.explained.low]
    np.testing.assert_allclose(told, expected, rtol=0.005)
    classifier, rows, _ = two_classes()
    assert classifier.explain(rows).explained is None


def test_an_explanation_is_plain_and_in_words():
    for model, X, _ in (three_inputs(), three_inputs("arcsinh"), two_classes()):
        found = model.explain(X)
        assert isinstance(found, KernelExplanation)
        plain = found.as_dict()
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        assert str(found) == "\n".join(found.in_words())
    assert model.explain(X) == model.explain(X)
    constant = three_inputs()[0].explain(three_inputs()[1]).inputs[1]
    assert (constant.varies, constant.relevance, constant.oscillations) == (False, None, ())


@pytest.mark.parametrize("step", [0.0, 5e-324, 1e-300, 2.3e-16])
@pytest.mark.parametrize("scaling", ["standard", "arcsinh"])
def test_an_input_that_hardly_varies_in_these_rows_has_the_length_of_the_kernel(step, scaling):
    model, X, y = three_inputs(scaling)
    still = X.copy()
    still[:, 0] = step * np.arange(len(X))
    found = model.explain(still).inputs[0]
    assert found.varies
    assert found.length_scale == model.explain(X[:2]).inputs[0].length_scale  # of the kernel alone
    assert found.length_scale_of == "kernel"
    assert found.relevance.high < 1e-20
    render(summarise(model, still, y))


def test_lengths_scale_with_the_units():
    model, X, _ = one_input()
    small = model.explain(X)
    settings = {**model.get_params(), "random_state": 0}
    rng = np.random.default_rng(0)
    A = 3.0 * rng.standard_normal((220, 1)) + 1.0
    b = 5.0 * np.sin(A[:, 0]) + 0.4 * rng.standard_normal(220)
    large = BankRegressor(**settings).fit(1000.0 * A[:160], b[:160]).explain(1000.0 * A[160:])
    assert large.inputs[0].length_scale.value == pytest.approx(
        1000.0 * small.inputs[0].length_scale.value, rel=1e-3
    )


def test_what_cannot_be_explained_is_said():
    model, X, _ = three_inputs()
    with pytest.raises(ValueError, match="at least 2 rows"):
        model.explain(X[:1])
    with pytest.raises(ValueError, match="2 names, but there are 3 inputs"):
        model.explain(X, names=["a", "b"])
    with pytest.raises(ValueError, match="coverage"):
        model.explain(X, coverage=1.5)
    with pytest.raises(KeyError, match="no input 'depth'"):
        model.explain(X)["depth"]


@cache
def sine() -> BankRegressor:
    x = np.linspace(0.0, 8.0, 300)
    model = BankRegressor(32, n_chains=1, n_warmup=60, n_draws=8, random_state=1)
    return model.fit(x[:, None], np.sin(2 * np.pi * x))


@pytest.mark.parametrize(("periods", "named"), [(500, True), (3000, True), (30_000, False)])
def test_thousands_of_cycles_do_not_fold_into_a_slow_period(periods, named):
    found = sine().explain(np.linspace(0.0, periods, 1001)[:, None], names=["t"])["t"]
    waves = [wave for wave in found.oscillations if wave.of == "function"]
    assert bool(waves) == named
    for wave in found.oscillations:
        assert wave.period.value == pytest.approx(1.0, rel=0.02)
    assert (found.length_scale_of == "function") <= named


def test_next_to_nothing_has_no_length_scale_of_its_own():
    """A function that is a straight line along an input: what is left of it there are kinks."""
    x = np.linspace(0.0, 10.0, 401)
    kinks = 1e-3 * np.abs((4.0 * x) % 2.0 - 1.0)
    line = (5.0 * x + kinks)[None, None].repeat(5, axis=0)
    assert function_length(line, 10.0, [], 1.6) is None
    assert function_length(line - 5.0 * x, 10.0, [], 1.6).value < 0.5


def test_a_period_of_what_hardly_matters_is_not_named():
    wave = Oscillation(estimate(2.0), 0.25, "function")
    relevances = {"known": Estimate(0.5, 0.4, 0.6), "chance": Estimate(0.03, 0.0, 0.05)}
    inputs = tuple(
        InputExplanation(n, True, estimate(1.0), "kernel", estimate(1.0), relevance, (wave,))
        for n, relevance in relevances.items()
    )
    told = " ".join(KernelExplanation(inputs, 0.9, False).in_words())
    assert "Along known the function repeats with period 2" in told
    assert "Along known the kernel apart from these periods has" in told
    assert "Along chance the function" not in told
    assert "Along chance the kernel has" in told
