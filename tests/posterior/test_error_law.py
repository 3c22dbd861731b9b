"""Laws of errors against SciPy, against the conditions of their optimum, and on known errors."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from scipy.stats import t as student_t

from banklearn.posterior.error_law import (
    LEAST_STD,
    SCALES,
    ErrorLaw,
    Errors,
    LearnedLaw,
    fit_error_law,
    least_std,
    quantiles,
)
from helpers import close

LEVELS = (1e-9, 0.001, 0.025, 0.3, 0.5, 0.8, 0.975, 0.999)
EXTREME = (5e-324, 1e-300, 1e-17, 0.5 - 1e-16, 0.5 + 1e-16, 1 - 2**-53)
MIXED = ErrorLaw(np.array([0.1, 1.0, 7.0]), np.array([0.5, 0.4, 0.1]))


def alone(z):
    """Errors where nothing is unknown of the function."""
    return Errors(z, np.ones(len(z)), np.zeros(len(z)))


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_one_part_is_a_normal_law(scale):
    law, exact = ErrorLaw(np.array([scale]), np.ones(1)), norm(0.0, scale)
    z = scale * np.array([-4.0, -0.3, 0.0, 2.0])
    close(law.std(), scale, 1e-12)
    close(law.cdf(z), exact.cdf(z), 1e-12)
    close(law.log_density(z), exact.logpdf(z), 1e-12)
    for q in LEVELS:
        close(law.quantile(q), exact.ppf(q), 1e-9, 1e-12)


def test_several_parts_are_the_sum_of_their_laws():
    z = np.linspace(-30.0, 30.0, 41)
    parts = [norm(0.0, scale) for scale in MIXED.scale]
    weighed = list(zip(MIXED.share, parts, strict=True))
    close(MIXED.cdf(z), sum(w * p.cdf(z) for w, p in weighed), 1e-12, 1e-15)
    close(MIXED.log_density(z), np.log(sum(w * p.pdf(z) for w, p in weighed)), 1e-9)
    second, _ = quad(
        lambda v: v**2 * np.exp(MIXED.log_density(np.array(v))), -80, 80, points=[0], limit=500
    )
    close(MIXED.std(), np.sqrt(second), 1e-6)
    for q in LEVELS:
        close(MIXED.cdf(np.array(MIXED.quantile(q))), q, 1e-6)


def test_no_error_is_so_far_out_that_its_density_is_no_number():
    found = MIXED.log_density(np.array([1e200, -np.inf, 1e308]))
    assert np.isfinite(found).all()
    assert (found < -1e200).all()


@pytest.mark.parametrize("scales", [[1.0], [1.0, 1.0 + 1e-15], [1e-6, 1e6], [0.1, 1.0, 7.0]])
def test_every_level_has_a_quantile(scales):
    law = ErrorLaw(np.array(scales), np.full(len(scales), 1 / len(scales)))
    found = np.array([law.quantile(q) for q in sorted({*LEVELS, *EXTREME})])
    assert np.isfinite(found).all()
    assert (np.diff(found) >= 0).all()
    close(law.quantile(0.9), -law.quantile(0.1), 1e-9)


@pytest.mark.parametrize("q", [1e-300, 1e-100, 1e-12, 1e-3, 0.4, 0.5])
def test_a_quantile_leaves_as_much_beyond_it_as_was_asked_for(q):
    law = ErrorLaw(np.array([1e-4, 0.3, 1.0, 50.0]), np.array([0.3, 0.4, 0.3 - 1e-6, 1e-6]))
    close(np.log(law.cdf(np.array(law.quantile(q)))), np.log(q), 1e-8)


@pytest.mark.parametrize("q", [1e-300, 1e-6, 0.025, 0.3, 0.999])
def test_a_row_s_quantile_is_found_in_a_few_steps_and_without_the_others(q, monkeypatch):
    rng = np.random.default_rng(0)
    scales = np.exp(rng.normal(0.0, 2.0, (500, 6)))
    share = rng.dirichlet(np.ones(6))
    found = quantiles(scales, share, q)
    for i in range(0, 500, 50):
        assert quantiles(scales[i : i + 1], share, q)[0] == found[i]
        np.testing.assert_array_equal(quantiles(scales[i : i + 7], share, q), found[i : i + 7])
    monkeypatch.setattr("banklearn.posterior.error_law.STEPS_TO_QUANTILE", 20)
    np.testing.assert_array_equal(quantiles(scales, share, q), found)


def test_scales_are_drawn_by_their_shares():
    drawn = MIXED.factors(100_000, np.random.default_rng(0))
    for scale, share in zip(MIXED.scale, MIXED.share, strict=True):
        close((drawn == scale).mean(), share, 0, 0.008)


@pytest.mark.parametrize(
    "exact",
    [norm(), norm(0, 0.6), student_t(3), student_t(1.5, 0, 0.1)],
    ids=["normal", "narrow", "t3", "t1.5"],
)
def test_the_law_of_simulated_errors_is_found(exact):
    z = exact.rvs(20_000, random_state=1)
    law = fit_error_law(alone(z))
    for q in (0.6, 0.75, 0.9, 0.975, 0.99):
        close(exact.cdf(law.quantile(q)), q, 0, 0.006)
    fresh = exact.rvs(20_000, random_state=2)
    gap = np.mean(exact.logpdf(fresh) - law.log_density(fresh))
    assert -0.01 < gap < 0.01


def test_no_other_shares_of_the_same_scales_are_likelier():
    z = student_t(2.5).rvs(2000, random_state=3)
    law = fit_error_law(alone(z))
    each = norm.pdf(z[:, None] / SCALES) / SCALES
    # The likelihood is concave in the shares: at its top no scale gains by a larger share.
    gain = (each / np.exp(law.log_density(z))[:, None]).mean(axis=0)
    assert gain.max() < 1.003
    inside = np.isin(SCALES, law.scale[law.share > 0.05])
    close(gain[inside], 1.0, 0.003)


def test_a_row_of_weight_two_is_two_rows():
    z = student_t(4).rvs(300, random_state=4)
    twice = fit_error_law(alone(np.concatenate([z, z[:100]])))
    weighed = fit_error_law(alone(z), np.where(np.arange(300) < 100, 2.0, 1.0))
    close(weighed.scale, twice.scale, 1e-12)
    close(weighed.share, twice.share, 1e-9)


@pytest.mark.parametrize("z", [np.zeros(300), np.full(300, 1e-9)])
def test_doubts_do_not_vanish_where_there_are_no_errors(z):
    close(fit_error_law(alone(z)).std(), LEAST_STD, 1e-12)


def test_one_error_beyond_all_scales_leaves_a_law():
    law = fit_error_law(alone(np.concatenate([np.linspace(-2, 2, 500), [1e6]])))
    assert law.scale[-1] == SCALES[-1]
    close(law.share[-1], 1 / 501, 0.2)
    close(law.share.sum(), 1.0, 1e-12)


@pytest.mark.parametrize("reach", [0.0, 0.7, np.inf])
def test_a_predictive_law_is_the_sum_of_its_parts(reach):
    law = LearnedLaw(
        np.array([3.0, -1.0, 0.0]),
        np.array([0.25, 4.0, 1.0]),
        np.array([0.1, 396.0, 0.7]),
        ErrorLaw(MIXED.scale, MIXED.share, reach),
    )
    y = np.array([3.4, -30.0, 0.5])
    for i in range(3):
        noise, doubt = law.noise[i], law.doubt[i]
        common = min(doubt, reach * noise)
        scales = np.sqrt(MIXED.scale**2 * (noise + common) + doubt - common)
        parts = list(zip(MIXED.share, (norm(law.mean()[i], v) for v in scales), strict=True))
        close(law.cdf(y)[i], sum(w * p.cdf(y[i]) for w, p in parts), 1e-12)
        close(law.log_density(y)[i], np.log(sum(w * p.pdf(y[i]) for w, p in parts)), 1e-9)
        close(law.std()[i], np.sqrt(sum(w * p.var() for w, p in parts)), 1e-12)
    for q in LEVELS:
        close(law.cdf(law.quantile(q)), q, 1e-6)
    for q in EXTREME:
        assert np.isfinite(law.quantile(q)).all()


def test_what_is_in_reach_is_moved_and_scaled():
    law = LearnedLaw(np.array([3.0, -1.0]), np.array([0.2, 390.0]), np.array([0.05, 10.0]), MIXED)
    y, spread = np.array([3.4, -30.0]), np.array([0.5, 20.0])
    close(law.std(), MIXED.std() * spread, 1e-12)
    close(law.cdf(y), MIXED.cdf((y - law.mean()) / spread), 1e-12)
    for q in LEVELS:
        close(law.quantile(q), law.mean() + spread * MIXED.quantile(q), 1e-9, 1e-9)


def test_doubt_is_common_up_to_the_median_of_the_rows():
    rng = np.random.default_rng(0)
    noise, doubt = rng.uniform(1, 2, 301), rng.exponential(size=301)
    errors = Errors(rng.standard_normal(301), noise, doubt)
    close(fit_error_law(errors).reach, np.median(doubt / noise), 1e-12)
    # A row of weight three is three rows.
    weight = np.where(np.arange(301) < 150, 3.0, 1.0)
    repeated = np.repeat(doubt / noise, weight.astype(int))
    close(fit_error_law(errors, weight).reach, np.median(repeated), 1e-12)


def test_errors_of_rows_that_differ_in_doubt_tell_the_law_of_the_noise():
    """Noise that is mostly small beside doubt that is what the model says it is."""
    rng = np.random.default_rng(0)
    doubt = np.where(np.arange(20_000) % 4 == 0, 25.0, 1e-6)
    factor = np.where(rng.random(20_000) < 0.1, 3.0, 0.2)
    error = factor * rng.standard_normal(20_000) + np.sqrt(doubt) * rng.standard_normal(20_000)
    law = fit_error_law(Errors(error, np.ones(20_000), doubt))
    for unknown in (0.0, 25.0, 400.0):
        exact = [norm(0.0, np.sqrt(v**2 + unknown)) for v in (3.0, 0.2)]
        found = LearnedLaw(np.zeros(1), np.ones(1), np.full(1, unknown), law)
        for q in (0.6, 0.75, 0.9, 0.975, 0.99):
            at = found.quantile(q)
            close(0.1 * exact[0].cdf(at) + 0.9 * exact[1].cdf(at), q, 0, 0.008)


@pytest.mark.parametrize(("rows", "least"), [(2559.0, 1.0), (2560.0, 0.5)])
def test_few_rows_for_each_weight_do_not_narrow_the_model_s_own_law(rows, least):
    assert least_std(rows, 256) == least
    z = 0.1 * np.random.default_rng(0).standard_normal(300)
    assert fit_error_law(alone(z), None, least).std() == pytest.approx(least)
    assert fit_error_law(alone(40.0 * z), None, least).std() == pytest.approx(4.0, rel=0.1)
