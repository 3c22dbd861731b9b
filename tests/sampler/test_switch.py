"""Jumps between components: the pairs (Z_j, W_j) keep their prior."""

import numpy as np
import pytest
from scipy.stats import chi2, chisquare, dirichlet, kstest

from banklearn.model import niw
from banklearn.model.dirichlet_process import draw_shares, log_crp
from banklearn.model.generative import draw_state
from banklearn.sampler.frequencies import Moves, propose
from banklearn.sampler.switch import draw_components, offer
from helpers import FALSE_ALARM, HUNDRED, close, make_prior, make_problem


def test_shares_follow_the_chinese_restaurant():
    """Label by label from G, as P(Z_{M+1} = k) = m_k / (M + alpha)."""
    problem = make_problem(3, M=9)
    state = problem.state.with_(alpha=1.7)
    m = np.bincount(state.Z)
    rng = np.random.default_rng(0)
    counts = np.zeros(state.K + 1)
    n = 4000
    for _ in range(n):
        label = draw_components(1, state, problem.prior, rng)[0][0]
        counts[min(label, state.K)] += 1
    expected = np.append(m, 1.7) / (len(state.Z) + 1.7)
    assert chisquare(counts, n * expected).pvalue > FALSE_ALARM


def test_the_process_and_its_labels_have_one_joint_law():
    """p(Z) p(pi | Z) = p(pi) prod_j pi_Zj: given pi the labels are independent draws."""
    for seed in HUNDRED:
        rng = np.random.default_rng(seed)
        alpha, K, M = rng.uniform(0.3, 5.0), 3, 9
        pi = rng.dirichlet([*rng.uniform(0.5, 3.0, K), alpha])
        left = []
        for _ in range(4):
            Z = rng.permutation(np.r_[0:K, rng.integers(0, K, M - K)])
            m = np.bincount(Z)
            given = dirichlet.logpdf(pi, [*m, alpha])
            left.append(log_crp(Z, alpha) + given - np.log(pi)[Z].sum())
        close(np.array(left), left[0], 1e-10, 1e-10)


def test_two_draws_share_a_new_component_as_the_process_says():
    """P(Z_2 = Z_1 | Z_1 new) = 1 / (1 + alpha + M): the remainder is a Dirichlet process too."""
    problem = make_problem(4, M=2)
    state = problem.state.with_(alpha=5.0)
    rng = np.random.default_rng(1)
    met = together = 0
    for _ in range(6000):
        a, b = draw_components(2, state, problem.prior, rng)[0]
        met += a >= state.K
        together += a >= state.K and a == b
    p = 1.0 / (1.0 + 5.0 + 2.0)
    assert chisquare([together, met - together], [met * p, met * (1 - p)]).pvalue > FALSE_ALARM


def test_proposals_follow_their_components():
    problem = make_problem(5, M=8)
    state, rng = problem.state, np.random.default_rng(2)
    lengths = []
    for _ in range(400):
        new = offer(state, problem.prior, Moves(jump=1.0, switch=0.6), rng)
        L = np.linalg.cholesky(new.Sigma)[new.Z]
        white = np.linalg.solve(L, (new.W - new.mu[new.Z])[..., None])[..., 0]
        lengths.extend((white**2).sum(axis=1))
        np.testing.assert_array_equal(new.mu[: state.K], state.mu)
    assert kstest(lengths, chi2(2).cdf).pvalue > FALSE_ALARM


def test_without_data_the_prior_is_kept():
    """Every proposal accepted: the number of components stays the prior's."""
    prior = make_prior(1, np.random.default_rng(0))
    rng = np.random.default_rng(3)
    before, after = [], []
    for _ in range(3000):
        state = draw_state(prior, 6, rng)
        before.append(state.K)
        new = offer(state, prior, Moves(jump=1.0, switch=1.0), rng)
        after.append(new.taken(state, np.ones(6, dtype=bool)).K)
    counts = [np.bincount(k, minlength=7)[1:] for k in (before, after)]
    from scipy.stats import chi2_contingency

    assert chi2_contingency(np.array(counts)).pvalue > FALSE_ALARM


def test_local_moves_keep_their_component():
    problem = make_problem(6, M=30)
    new = offer(problem.state, problem.prior, Moves(jump=0.4, switch=1.0), np.random.default_rng(0))
    local = new.rho < 1.0
    np.testing.assert_array_equal(new.Z[local], problem.state.Z[local])
    assert np.any(new.Z[~local] != problem.state.Z[~local])


@pytest.mark.parametrize("case", range(5))
def test_what_is_taken_is_whole(case):
    problem = make_problem(case, M=20)
    rng = np.random.default_rng(case)
    new = offer(problem.state, problem.prior, Moves(jump=1.0, switch=1.0), rng)
    accepted = rng.random(20) < 0.5
    state = new.taken(problem.state, accepted)
    assert set(state.Z) == set(range(state.K))
    assert len(state.Sigma) == state.K
    for j in range(20):
        source = new if accepted[j] else problem.state
        np.testing.assert_array_equal(state.W[j], source.W[j])
        np.testing.assert_array_equal(state.mu[state.Z[j]], source.mu[source.Z[j]])
        np.testing.assert_array_equal(state.Sigma[state.Z[j]], source.Sigma[source.Z[j]])


def test_a_large_concentration_costs_no_more():
    problem = make_problem(6, M=30)
    state = problem.state.with_(alpha=1e12)
    labels, mu, _ = draw_components(30, state, problem.prior, np.random.default_rng(0))
    assert len(mu) == state.K + 30  # each draw a component of its own
    assert sorted(labels) == list(range(state.K, state.K + 30))


def plain_components(n, state, prior, rng):
    """Labels and components drawn one after another, from their description."""
    m = [int((state.Z == k).sum()) for k in range(state.K)]
    shares = draw_shares(np.array(m, dtype=float), state.alpha, rng)
    where = rng.random(n)
    mu, Sigma, labels, drawn = list(state.mu), list(state.Sigma), [], []
    for u in where:
        k, left = 0, u
        while k < state.K and left >= shares[k]:
            left, k = left - shares[k], k + 1
        labels.append(k)
    for i, k in enumerate(labels):
        if k < state.K:
            continue
        # Each draw before is as likely as another; a new one has the mass alpha.
        u = rng.random() * (len(drawn) + state.alpha)
        if u < len(drawn):
            labels[i] = drawn[int(np.floor(u))]
        else:
            atom = niw.draw(prior.base(state.psi), rng)
            labels[i] = len(mu)
            mu.append(atom[0])
            Sigma.append(atom[1])
        drawn.append(labels[i])
    return labels, mu, Sigma


def test_components_are_drawn_as_described_number_for_number():
    shared = 0
    for seed in HUNDRED:
        problem = make_problem(seed, M=7)
        state = problem.state.with_(alpha=2.5)
        rngs = [np.random.default_rng(seed) for _ in range(2)]
        labels, mu, Sigma = draw_components(12, state, problem.prior, rngs[0])
        plain = plain_components(12, state, problem.prior, rngs[1])
        assert labels.tolist() == plain[0]
        np.testing.assert_array_equal(mu, plain[1])
        np.testing.assert_array_equal(Sigma, plain[2])
        new = labels[labels >= state.K]
        shared += len(new) > len(set(new)) > 1
    assert shared > 20


@pytest.mark.parametrize("switch", [0.3, 1.0])
def test_which_frequencies_leave_number_for_number(switch):
    problem = make_problem(6, M=30)
    moves = Moves(jump=0.5, switch=switch)
    for seed in range(10):
        offered = offer(problem.state, problem.prior, moves, np.random.default_rng(seed))
        rng = np.random.default_rng(seed)
        rho = moves.draw_rho(30, rng)
        u = rng.random(30)
        leave = [j for j in range(30) if rho[j] == 1.0 and u[j] < switch]
        labels, mu, Sigma = draw_components(len(leave), problem.state, problem.prior, rng)
        Z = problem.state.Z.copy()
        Z[leave] = labels
        np.testing.assert_array_equal(offered.Z, Z)
        np.testing.assert_array_equal(offered.rho, rho)
        there = problem.state.with_(Z=Z, mu=mu, Sigma=Sigma)
        np.testing.assert_array_equal(offered.W, propose(there, rho, rng))


def test_without_switches_proposals_are_the_plain_ones_number_for_number():
    problem = make_problem(0, M=8)
    moves = Moves(jump=0.5, switch=0.0)
    offered = offer(problem.state, problem.prior, moves, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    rho = moves.draw_rho(8, rng)
    np.testing.assert_array_equal(offered.rho, rho)
    np.testing.assert_array_equal(offered.W, propose(problem.state, rho, rng))
