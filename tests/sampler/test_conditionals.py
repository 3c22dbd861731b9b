"""Differences of every log conditional are differences of the log joint."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta as beta_law
from scipy.stats import gamma as gamma_law
from scipy.stats import kstest, norm

from banklearn.model import niw
from banklearn.model.dirichlet_process import draw_crp, log_crp, log_gamma_prior
from banklearn.model.joint import log_joint, log_prior
from banklearn.numerics.linalg import JitterCount
from banklearn.sampler import (
    assignments,
    components,
    concentration,
    frequencies,
    precision,
    scales,
)
from helpers import FALSE_ALARM, HUNDRED, close, fresh_gram, make_problem, problem_log_evidence

TOLERANCE = 1e-8


def joint_of(problem, **changes):
    """The log joint of the problem at a changed state, evidence recomputed from the data."""
    from dataclasses import replace

    changed = replace(problem, state=problem.state.with_(**changes))
    return log_joint(changed.state, problem.prior, problem_log_evidence(changed))


def moved(state, j, k, fresh=None):
    """The state with Z_j = k (a new component when fresh parameters are given), compacted."""
    Z, mu, Sigma = state.Z.copy(), state.mu, state.Sigma
    if fresh is not None:
        k = len(mu)
        mu = np.concatenate([mu, fresh[0][None]])
        Sigma = np.concatenate([Sigma, fresh[1][None]])
    Z[j] = k
    used, Z = np.unique(Z, return_inverse=True)
    return state.with_(Z=Z, mu=mu[used], Sigma=Sigma[used])


def test_assignments():
    seen_alone = 0
    for seed in HUNDRED:
        problem = make_problem(seed)
        state, prior = problem.state, problem.prior
        base = prior.base(state.psi)
        rng = np.random.default_rng(seed)
        for j in range(state.M):
            log_p = assignments.log_conditional(j, state, prior)
            alone = (state.Z == state.Z[j]).sum() == 1
            seen_alone += alone
            assert log_p.shape == (state.K + 1,)
            assert np.array_equal(np.isinf(log_p[:-1]), alone & (np.arange(state.K) == state.Z[j]))
            # A new component has a density over its parameters; divided by the law that `update`
            # draws them from, what is left does not depend on them.
            fresh = niw.draw(base, rng)
            joint_new = log_prior(moved(state, j, None, fresh), prior)
            joint_new -= niw.log_density(niw.posterior(base, state.W[j : j + 1]), *fresh)
            for k in np.flatnonzero(np.isfinite(log_p[:-1])):
                joint = log_prior(moved(state, j, k), prior)
                close(log_p[k] - log_p[-1], joint - joint_new, 0, TOLERANCE)
    assert seen_alone > 20


def test_components():
    for seed in HUNDRED:
        problem = make_problem(seed)
        state, rng = problem.state, np.random.default_rng(seed)
        k = int(rng.integers(state.K))
        mu, Sigma = state.mu.copy(), state.Sigma.copy()
        mu[k], Sigma[k] = niw.draw(problem.prior.base(state.psi), rng)
        other = state.with_(mu=mu, Sigma=Sigma)
        difference = components.log_conditional(k, other, problem.prior)
        difference -= components.log_conditional(k, state, problem.prior)
        close(difference, joint_of(problem, mu=mu, Sigma=Sigma) - joint_of(problem), 0, TOLERANCE)


def test_scales():
    for seed in HUNDRED:
        problem = make_problem(seed)
        psi = problem.state.psi * np.random.default_rng(seed).uniform(0.3, 3.0, problem.prior.d)
        difference = scales.log_conditional(psi, problem.state, problem.prior)
        difference -= scales.log_conditional(problem.state.psi, problem.state, problem.prior)
        close(difference, joint_of(problem, psi=psi) - joint_of(problem), 0, TOLERANCE)


def test_precision():
    for seed in HUNDRED:
        problem = make_problem(seed, trend=("none", "constant", "linear")[seed % 3])
        gram = fresh_gram(problem)
        lam = problem.state.lam * np.exp(np.random.default_rng(seed).normal())
        now, new = (
            precision.log_conditional(
                precision.solve(gram, value, problem.gaussian, JitterCount()), problem.prior
            )
            for value in (problem.state.lam, lam)
        )
        close(new - now, joint_of(problem, lam=lam) - joint_of(problem), 0, TOLERANCE)


def test_frequencies():
    for seed in HUNDRED:
        problem = make_problem(seed, trend=("none", "constant", "linear")[seed % 3])
        state, rng = problem.state, np.random.default_rng(seed)
        j = int(rng.integers(state.M))
        W = state.W.copy()
        W[j] += rng.standard_normal(problem.prior.d)
        values = []
        for candidate in (state, state.with_(W=W)):
            solved = precision.solve(
                fresh_gram(problem, candidate.W), state.lam, problem.gaussian, JitterCount()
            )
            values.append(frequencies.log_conditional(j, candidate, solved.log_evidence))
        close(values[1] - values[0], joint_of(problem, W=W) - joint_of(problem), 0, TOLERANCE)


def log_marginal(alpha, K, M, prior):
    """log of the integral of the augmented density over eta."""
    # The substitution eta = x^4 takes the kink of eta^alpha at zero away.
    value, _ = quad(
        lambda x: (
            np.exp(concentration.log_conditional(alpha, x**4, K, M, prior)) * 4 * x**3
            if 0 < x < 1
            else 0.0
        ),
        0,
        1,
        epsabs=0,
        epsrel=1e-11,
        limit=200,
    )
    return np.log(value)


def test_concentration():
    for seed in HUNDRED:
        problem = make_problem(seed)
        prior, rng = problem.prior, np.random.default_rng(seed)
        Z = draw_crp(6, rng.uniform(0.2, 4.0), rng)
        K = int(Z.max()) + 1
        a, b = rng.uniform(0.1, 5.0, 2)
        expected = log_crp(Z, b) + log_gamma_prior(b, prior.alpha_shape, prior.alpha_rate)
        expected -= log_crp(Z, a) + log_gamma_prior(a, prior.alpha_shape, prior.alpha_rate)
        close(log_marginal(b, K, 6, prior) - log_marginal(a, K, 6, prior), expected, 0, TOLERANCE)


def test_the_laws_that_concentration_draws_from_are_its_conditionals():
    for seed in HUNDRED:
        rng = np.random.default_rng(seed)
        prior = make_problem(seed).prior
        K, M = int(rng.integers(1, 6)), 9
        alpha, other = rng.uniform(0.1, 4.0, 2)
        eta, eta_other = rng.uniform(0.01, 0.9, 2)
        difference = concentration.log_conditional(alpha, eta_other, K, M, prior)
        difference -= concentration.log_conditional(alpha, eta, K, M, prior)
        law = beta_law(alpha + 1, M)
        close(difference, law.logpdf(eta_other) - law.logpdf(eta), 0, TOLERANCE)
        rate = prior.alpha_rate - np.log(eta)
        shape = prior.alpha_shape + K - 1
        odds = shape / (M * rate)

        def density(x, shape=shape, rate=rate, odds=odds):
            high = gamma_law.pdf(x, shape + 1, scale=1 / rate)
            return np.log((odds * high + gamma_law.pdf(x, shape, scale=1 / rate)) / (1 + odds))

        difference = concentration.log_conditional(other, eta, K, M, prior)
        difference -= concentration.log_conditional(alpha, eta, K, M, prior)
        close(difference, density(other) - density(alpha), 0, TOLERANCE)


class Tabulated:
    """A law on the line from its unnormalised log density on a fine grid."""

    def __init__(self, log_density, grid):
        values = np.array([log_density(x) for x in grid])
        p = np.exp(values - values.max())
        area = np.concatenate([[0], np.cumsum(0.5 * (p[1:] + p[:-1]) * np.diff(grid))])
        self.grid, self.F = grid, area / area[-1]

    def cdf(self, x):
        return np.interp(x, self.grid, self.F)

    def draw(self, n, rng):
        return np.interp(rng.random(n), self.F, self.grid)


@pytest.mark.parametrize("Z", [[0, 0], [0, 1, 2], [0, 0, 0, 1, 2, 0, 1, 0]], ids=len)
def test_updates_of_the_concentration_keep_its_law(Z):
    prior = make_problem(1).prior
    state = make_problem(1, M=len(Z)).state.with_(Z=np.array(Z), mu=np.zeros((max(Z) + 1, 2)))
    law = Tabulated(
        lambda x: log_crp(state.Z, x) + log_gamma_prior(x, prior.alpha_shape, prior.alpha_rate),
        np.concatenate([np.geomspace(1e-6, 1e-3, 50), np.linspace(1.1e-3, 30, 6000)]),
    )
    rng = np.random.default_rng(0)
    drawn = []
    for alpha in law.draw(15_000, rng):
        now = state.with_(alpha=float(alpha))
        for _ in range(2):
            now = concentration.update(now, prior, rng)
        drawn.append(now.alpha)
    assert kstest(drawn, law.cdf).pvalue > FALSE_ALARM


def test_updates_of_the_precision_keep_its_law():
    problem = make_problem(3, N=12, M=4, trend="constant")
    gram, prior = fresh_gram(problem), problem.prior

    def solve(log_lam):
        return precision.solve(gram, float(np.exp(log_lam)), problem.gaussian, JitterCount())

    law = Tabulated(lambda x: precision.log_conditional(solve(x), prior), np.linspace(-6, 7, 1500))
    rng = np.random.default_rng(0)
    drawn, chances = [], []
    for start in law.draw(2500, rng):
        now = solve(start)
        for _ in range(6):
            now, chance = precision.update(
                now, gram, problem.gaussian, prior, 1.5, rng, JitterCount()
            )
            chances.append(chance)
        assert solve(np.log(now.lam)).log_evidence == pytest.approx(now.log_evidence)
        drawn.append(np.log(now.lam))
    assert kstest(drawn, law.cdf).pvalue > FALSE_ALARM
    assert 0.2 < np.mean(chances) < 0.9
    assert max(chances) == 1.0


def test_scales_are_drawn_from_their_conditional():
    problem = make_problem(2)
    state, prior = problem.state, problem.prior
    rng = np.random.default_rng(0)
    drawn = np.stack([scales.update(state, prior, rng).psi for _ in range(2000)])
    grid = np.geomspace(1e-4, 200, 8000)
    for i in range(prior.d):

        def log_density(x, i=i):
            psi = state.psi.copy()
            psi[i] = x
            return scales.log_conditional(psi, state, prior)

        assert kstest(drawn[:, i], Tabulated(log_density, grid).cdf).pvalue > FALSE_ALARM


def test_fixed_scales_stay():
    from dataclasses import replace

    problem = make_problem(2)
    fixed = replace(problem.prior, psi_shape=None)
    assert scales.update(problem.state, fixed, np.random.default_rng(0)) is problem.state


def test_components_are_drawn_from_their_posterior():
    problem = make_problem(4, M=8)
    state, prior = problem.state, problem.prior
    rng = np.random.default_rng(0)
    drawn = [components.update(state, prior, rng) for _ in range(1500)]
    for k in range(state.K):
        law = niw.posterior(prior.base(state.psi), state.W[state.Z == k])
        white = [(s.mu[k, 0] - law.mu0[0]) / np.sqrt(s.Sigma[k, 0, 0] / law.kappa) for s in drawn]
        assert kstest(white, norm.cdf).pvalue > FALSE_ALARM
        ratio = [law.Psi[0, 0] / s.Sigma[k, 0, 0] for s in drawn]
        assert kstest(ratio, gamma_law((law.nu - 1) / 2, scale=2).cdf).pvalue > FALSE_ALARM


def test_the_conditional_of_scales_is_a_gamma_density():
    problem = make_problem(5)
    state, prior = problem.state, problem.prior
    psi = np.array([0.4, 1.7])
    precision = sum(np.diag(np.linalg.inv(Sigma)) for Sigma in state.Sigma)
    shape = prior.psi_shape + state.K * prior.nu0 / 2
    rate = prior.psi_shape / prior.psi_mean + precision / 2
    expected = gamma_law.logpdf(psi, shape, scale=1 / rate).sum()
    close(scales.log_conditional(psi, state, prior), expected, 1e-10)


def test_scales_never_round_to_nothing():
    problem = make_problem(5)
    tiny = problem.state.with_(Sigma=np.full_like(problem.state.Sigma, 0.0) + 1e-307 * np.eye(2))
    psi = scales.update(tiny, problem.prior, np.random.default_rng(0)).psi
    np.testing.assert_array_equal(psi, [1e-300, 1e-300])
