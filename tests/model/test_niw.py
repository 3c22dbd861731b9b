"""The normal-inverse-Wishart law: posterior, density, predictive, draws."""

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import chi2, invwishart, kstest, multivariate_normal, multivariate_t, norm

from banklearn.model import niw
from helpers import FALSE_ALARM, HUNDRED, close, make_prior


def make_law(seed, d, **changes):
    rng = np.random.default_rng(seed)
    prior = make_prior(d, rng, **changes)
    A = rng.standard_normal((d, d))
    return niw.NIW(prior.mu0, prior.kappa0, A @ A.T + np.eye(d), prior.nu0), rng


@pytest.mark.parametrize("d", [1, 2, 5])
def test_posterior_one_after_another_is_posterior_at_once(d):
    for seed in HUNDRED:
        law, rng = make_law(seed, d)
        W = rng.standard_normal((4, d))
        step = law
        for w in W:
            step = niw.posterior(step, w[None])
        whole = niw.posterior(law, W)
        close(step.Psi, whole.Psi, 1e-11, 1e-12)
        close(step.mu0, whole.mu0, 1e-11, 1e-12)
        assert (step.kappa, step.nu) == pytest.approx((whole.kappa, whole.nu))
        assert niw.posterior(law, W[:0]) is law


@pytest.mark.parametrize("d", [1, 2, 4])
def test_bayes_rule_holds(d):
    # N(w | mu, S) NIW(mu, S) = predictive(w) NIW(mu, S | w) for every (mu, S).
    for seed in HUNDRED:
        law, rng = make_law(seed, d)
        w = rng.standard_normal((1, d))
        mu, Sigma = niw.draw(law, rng)
        left = niw.log_normal(w, mu, Sigma)[0] + niw.log_density(law, mu, Sigma)
        right = niw.log_predictive(law, w)[0] + niw.log_density(niw.posterior(law, w), mu, Sigma)
        close(left, right, 1e-9, 1e-9)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_densities_are_those_of_scipy(d):
    for seed in HUNDRED:
        law, rng = make_law(seed, d)
        W = rng.standard_normal((3, d))
        mu, Sigma = niw.draw(law, rng)
        # Rows of a two-dimensional argument, so that one input is not read as many points.
        normal = [multivariate_normal.logpdf(w, mu, Sigma) for w in W]
        close(niw.log_normal(W, mu, Sigma), normal, 1e-9, 1e-9)
        dof = law.nu - d + 1
        scale = law.Psi * (law.kappa + 1) / (law.kappa * dof)
        t = [multivariate_t.logpdf(w, law.mu0, scale, df=dof) for w in W]
        close(niw.log_predictive(law, W), t, 1e-9, 1e-9)
        density = invwishart.logpdf(Sigma, df=law.nu, scale=law.Psi)
        density += multivariate_normal.logpdf(mu, law.mu0, Sigma / law.kappa)
        close(niw.log_density(law, mu, Sigma), density, 1e-9, 1e-9)


def density_1d(law, mu, s2):
    return np.exp(niw.log_density(law, np.array([mu]), np.array([[s2]])))


def test_the_density_integrates_to_one_in_one_dimension():
    law, _ = make_law(1, 1, nu0=5.0)
    total, _ = dblquad(
        lambda z, log_s2: (
            density_1d(law, law.mu0[0] + z * np.exp(0.5 * log_s2), np.exp(log_s2))
            * np.exp(1.5 * log_s2)
        ),
        -9,
        12,
        -12,
        12,
        epsabs=1e-7,
    )
    close(total, 1.0, 1e-6)


@pytest.mark.parametrize("w", [-1.3, 0.0, 2.2])
def test_the_predictive_is_its_integral_in_one_dimension(w):
    law, _ = make_law(2, 1)

    def at(log_s2):
        # mu integrated out: w | s2 ~ N(mu0, s2 (1 + 1/kappa)).
        s2 = np.exp(log_s2)
        weight = np.exp(invwishart.logpdf(s2, df=law.nu, scale=law.Psi)) * s2
        return weight * norm.pdf(w, law.mu0[0], np.sqrt(s2 * (1 + 1 / law.kappa)))

    value, _ = quad(at, -25, 25, epsabs=0, epsrel=1e-10, limit=200)
    close(niw.log_predictive(law, np.array([[w]]))[0], np.log(value), 1e-7)


@pytest.mark.parametrize("d", [1, 3])
def test_draws_have_the_right_moments(d):
    law, rng = make_law(4, d, nu0=d + 12.0)
    n = 20_000
    drawn = [niw.draw(law, rng) for _ in range(n)]
    mu = np.stack([m for m, _ in drawn])
    Sigma = np.stack([S for _, S in drawn])
    mean = law.Psi / (law.nu - d - 1)
    limit = norm.isf(FALSE_ALARM / (2 * (d + 2 * d * d)))
    for sample, expected in [
        (mu, law.mu0),
        (Sigma.reshape(n, -1), mean.ravel()),
        (
            ((mu - law.mu0)[:, :, None] * (mu - law.mu0)[:, None, :]).reshape(n, -1),
            (mean / law.kappa).ravel(),
        ),
    ]:
        error = sample.std(axis=0) / np.sqrt(n)
        assert np.all(np.abs(sample.mean(axis=0) - expected) < limit * error)


@pytest.mark.parametrize("d", [2, 4])
def test_draws_have_the_right_laws(d):
    law, rng = make_law(5, d)
    drawn = [niw.draw(law, rng) for _ in range(4000)]
    a = rng.standard_normal(d)
    # a'Psi a / a'Sigma a is chi-square with nu - d + 1 degrees of freedom, for any direction a.
    ratio = [(a @ law.Psi @ a) / (a @ S @ a) for _, S in drawn]
    assert kstest(ratio, chi2(law.nu - d + 1).cdf).pvalue > FALSE_ALARM
    # mu standardised by its own Sigma is normal: its squared length is chi-square.
    length = [law.kappa * (m - law.mu0) @ np.linalg.solve(S, m - law.mu0) for m, S in drawn]
    assert kstest(length, chi2(d).cdf).pvalue > FALSE_ALARM
    assert kstest(length, chi2(d + 1).cdf).pvalue < FALSE_ALARM
    # a' Sigma^-1 a / a' Psi^-1 a is chi-square with nu degrees of freedom.
    ratio = [(a @ np.linalg.solve(S, a)) / (a @ np.linalg.solve(law.Psi, a)) for _, S in drawn]
    assert kstest(ratio, chi2(law.nu).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_marginal_is_the_product_of_predictives(d):
    for seed in HUNDRED:
        base, rng = make_law(seed, d)
        W = rng.standard_normal((5, d))
        steps = [niw.log_predictive(niw.posterior(base, W[:i]), W[i : i + 1])[0] for i in range(5)]
        close(niw.log_marginal(base, niw.posterior(base, W)), sum(steps), 1e-9, 1e-9)
        assert niw.log_marginal(base, base) == 0.0


@pytest.mark.parametrize("d", [1, 3])
def test_the_slope_of_the_marginal(d):
    for seed in range(10):
        base, rng = make_law(seed, d)
        W = rng.standard_normal((4, d))
        numeric = np.empty_like(W)
        for index in np.ndindex(*W.shape):
            step = np.zeros_like(W)
            step[index] = 1e-5
            up, down = (niw.posterior(base, W + s * step) for s in (1, -1))
            numeric[index] = (niw.log_marginal(base, up) - niw.log_marginal(base, down)) / 2e-5
        slope = niw.marginal_slope(niw.posterior(base, W), W)
        close(slope, numeric, 1e-6, 1e-6)
