"""Components moved with their members: ratios against the joint density, by numerical Jacobians."""

from dataclasses import replace

import numpy as np
import pytest

from banklearn.model.joint import log_prior
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Purpose, Streams
from banklearn.sampler import interweave, precision
from banklearn.sampler.interweave import InterweaveTuning, adapt, propose
from helpers import HUNDRED, close, fresh_gram, make_problem


def pack(state, k=None):
    """The coordinates that a move changes: Sigma by its lower triangle."""
    low = np.tril_indices(state.W.shape[1])
    chosen = range(state.K) if k is None else [k]
    parts = [state.W[state.Z == j].ravel() for j in chosen]
    parts += [np.r_[state.mu[j], state.Sigma[j][low]] for j in chosen]
    return np.concatenate(parts + ([state.psi] if k is None else []))


def unpack(values, state, k=None):
    d = state.W.shape[1]
    low = np.tril_indices(d)
    W, mu, Sigma, psi = state.W.copy(), state.mu.copy(), state.Sigma.copy(), state.psi
    at = 0
    chosen = range(state.K) if k is None else [k]
    for j in chosen:
        members = state.Z == j
        W[members] = values[at : at + members.sum() * d].reshape(-1, d)
        at += members.sum() * d
    for j in chosen:
        mu[j] = values[at : at + d]
        lower = np.zeros((d, d))
        lower[low] = values[at + d : at + d + len(low[0])]
        Sigma[j] = lower + np.tril(lower, -1).T
        at += d + len(low[0])
    if k is None:
        psi = values[at : at + d]
    return state.with_(W=W, mu=mu, Sigma=Sigma, psi=psi)


def log_jacobian(function, x):
    """log |det| of a smooth map, by central differences."""
    J = np.empty((len(x), len(x)))
    for i in range(len(x)):
        h = 1e-6 * max(1.0, abs(x[i]))
        e = np.zeros(len(x))
        e[i] = h
        J[:, i] = (function(x + e) - function(x - e)) / (2 * h)
    return np.linalg.slogdet(J)[1]


@pytest.mark.parametrize("fixed", [False, True], ids=["psi drawn", "psi fixed"])
@pytest.mark.parametrize("kind", ["one", "stretch"])
def test_ratio_is_that_of_the_joint_times_the_jacobian(kind, fixed):
    for seed in HUNDRED:
        problem = make_problem(seed, M=3)
        old, prior = problem.state, problem.prior
        if fixed:
            prior = replace(prior, psi_shape=None)

        def moved(state, kind=kind, seed=seed, prior=prior):
            return propose(kind, state, 0.4, prior, np.random.default_rng(seed))

        new, log_ratio = moved(old)
        changed = [j for j in range(old.K) if not np.array_equal(new.mu[j], old.mu[j])]
        k = None if kind == "stretch" else changed[0]

        def transform(x, old=old, k=k, moved=moved):
            return pack(moved(unpack(x, old, k))[0], k)

        expected = log_prior(new, prior) - log_prior(old, prior)
        expected += log_jacobian(transform, pack(old, k))
        close(log_ratio, expected, 1e-6, 1e-6)


@pytest.mark.parametrize("kind", ["one", "stretch"])
def test_ratio_is_that_of_the_joint_times_the_jacobian_in_closed_form(kind):
    """|D| for each mu that is scaled and each member, |D|^(d + 1) for each Sigma, |D|^2 for psi."""
    for seed in HUNDRED:
        problem = make_problem(seed, M=6)
        old, prior = problem.state, problem.prior
        new, log_ratio = propose(kind, old, 0.4, prior, np.random.default_rng(seed))
        d = len(old.psi)
        changed = [k for k in range(old.K) if not np.array_equal(new.Sigma[k], old.Sigma[k])]
        k = changed[0]
        log_D = 0.5 * np.log(np.diag(new.Sigma[k]) / np.diag(old.Sigma[k])).sum()
        members = np.isin(old.Z, changed).sum()
        powers = members + len(changed) * (d + 1)
        if kind == "stretch":
            assert len(changed) == old.K
            powers += old.K + 2
        expected = log_prior(new, prior) - log_prior(old, prior) + powers * log_D
        close(log_ratio, expected, 1e-8, 1e-8)


def test_shares_are_divided_as_the_joint_says():
    """(Z, W) to (Z', W') by f, u and back: densities of the way there and back balance exactly.

    The chance of (f, u, f') given Z times the joint density equals that of the way back, with
    Beta(m_a, m_b) for f and uniform u; V_j is kept, so W -> W' has Jacobian |L'| / |L|.
    """
    from scipy.stats import beta

    tried = 0
    for seed in HUNDRED:
        problem = make_problem(seed, M=20)
        old, prior = problem.state, problem.prior
        proposed = propose("share", old, 1.5, prior, np.random.default_rng(seed))
        if proposed is None:
            continue
        new, log_ratio = proposed
        assert log_ratio == 0.0
        assert np.any(new.Z != old.Z)
        tried += 1
        # f and f' as drawn, from the same stream.
        rng = np.random.default_rng(seed)
        a, b = rng.choice(old.K, 2, replace=False)
        pair = (old.Z == a) | (old.Z == b)
        m, m_new = [(s.Z == a).sum() for s in (old, new)]
        size = pair.sum()
        f = rng.beta(m, size - m)
        rng.random(size), rng.random(size)
        f_new = 1 / (1 + np.exp(-(np.log(f / (1 - f)) + 1.5 * rng.standard_normal())))

        def way(share, count, size=size):
            """log density of (f, u) given Z."""
            uniform = -count * np.log(share) - (size - count) * np.log1p(-share)
            return beta(count, size - count).logpdf(share) + uniform

        log_step = np.log(f * (1 - f)) - np.log(f_new * (1 - f_new))  # of q(f'|f) to q(f|f')
        half = [np.log(np.diag(np.linalg.cholesky(S))).sum() for S in old.Sigma]
        volume = sum(half[z] for z in new.Z) - sum(half[z] for z in old.Z)
        there = log_prior(old, prior) + way(f, m)
        back = log_prior(new, prior) + way(f_new, m_new) - log_step + volume
        close(back - there, 0.0, 1e-8, 1e-8)
    assert tried > 30


def test_members_keep_their_whitened_place():
    problem = make_problem(11, M=12)
    old, prior = problem.state, problem.prior
    for kind in interweave.KINDS:
        for seed in range(20):
            proposed = propose(kind, old, 0.5, prior, np.random.default_rng(seed))
            if proposed is None:
                continue
            new = proposed[0]
            for j in range(old.M):
                V = [
                    np.linalg.solve(np.linalg.cholesky(s.Sigma[s.Z[j]]), s.W[j] - s.mu[s.Z[j]])
                    for s in (old, new)
                ]
                close(V[1], V[0], 1e-9, 1e-9)


def test_walks_that_got_tiny_are_dropped():
    tuning = InterweaveTuning((0.1, 0.1, 0.1))
    for sweep in range(1, 60):
        tuning = adapt(tuning, np.array([0.0, 1.0, np.nan]), sweep)
    assert tuning.steps[0] == 0.0
    assert tuning.steps[1] > 0.5
    assert tuning.steps[2] == 0.1


def test_one_component_has_nobody_to_share_with():
    problem = make_problem(0, M=4)
    state = problem.state.with_(
        Z=np.zeros(4, dtype=np.int64), mu=problem.state.mu[:1], Sigma=problem.state.Sigma[:1]
    )
    assert propose("share", state, 0.5, problem.prior, np.random.default_rng(0)) is None


def test_shares_that_do_not_move_leave_everybody_where_they_are():
    problem = make_problem(0, M=8)
    for seed in range(50):
        rng = np.random.default_rng(seed)
        assert propose("share", problem.state, 0.0, problem.prior, rng) is None


def test_a_component_walks_in_units_of_its_own():
    """Shifts in units of the square root of psi / nu0, stretches in logarithms."""
    for seed in range(20):
        problem = make_problem(seed, M=6)
        old, prior = problem.state, problem.prior
        new, _ = propose("one", old, 0.4, prior, np.random.default_rng(seed))
        rng = np.random.default_rng(seed)
        k = old.Z[rng.integers(6)]
        D = np.exp(0.4 * rng.standard_normal(2))
        shift = 0.4 * rng.standard_normal(2) * np.sqrt(old.psi) / np.sqrt(prior.nu0)
        mu = old.mu[k] + shift
        close(new.mu[k], mu, 1e-12, 1e-13)
        close(new.Sigma[k], np.diag(D) @ old.Sigma[k] @ np.diag(D), 1e-12)
        close(new.W[old.Z == k], mu + D * (old.W[old.Z == k] - old.mu[k]), 1e-12, 1e-13)
        np.testing.assert_array_equal(new.W[old.Z != k], old.W[old.Z != k])


def test_who_changes_components_is_who_lies_beyond_the_new_share():
    none = some = 0
    for seed in HUNDRED:
        problem = make_problem(seed, M=9)
        old = problem.state
        if old.K == 1:
            continue
        proposed = propose("share", old, 0.8, problem.prior, np.random.default_rng(seed))
        rng = np.random.default_rng(seed)
        a, b = rng.choice(old.K, 2, replace=False)
        pair = (old.Z == a) | (old.Z == b)
        in_a = old.Z[pair] == a
        f = rng.beta(in_a.sum(), (~in_a).sum())
        below, above = rng.random(pair.sum()), rng.random(pair.sum())
        u = np.where(in_a, f * below, 1 - (1 - f) * (1 - above))
        share = f / (f + (1 - f) * np.exp(-0.8 * rng.standard_normal()))
        now_a = u < share
        if now_a.all() or not now_a.any() or (now_a == in_a).all():
            assert proposed is None
            none += 1
        else:
            np.testing.assert_array_equal(proposed[0].Z[pair], np.where(now_a, a, b))
            np.testing.assert_array_equal(proposed[0].Z[~pair], old.Z[~pair])
            some += 1
    assert none > 10
    assert some > 10


@pytest.mark.parametrize("gain", [50.0, -1.5, -50.0, np.nan, np.inf])
def test_walks_are_decided_by_prior_and_evidence(gain):
    """Every place that is proposed has so much more evidence than the one before."""
    problem = make_problem(11, M=12)
    gram, streams, tuning = fresh_gram(problem), Streams(5), InterweaveTuning((0.2, 0.1, 1.0))
    first = precision.solve(gram, problem.state.lam, problem.gaussian, JitterCount())
    asked = []

    def evaluate(W):
        asked.append(W)
        return gram, replace(first, log_evidence=first.log_evidence + len(asked) * gain)

    state, _, solved, acceptance = interweave.update(
        problem.state, gram, first, evaluate, tuning, problem.prior, streams, 7
    )
    expected, at, height, number = problem.state, np.full(3, np.nan), 0.0, 0
    for i, (kind, step) in enumerate(zip(interweave.KINDS, tuning.steps, strict=True)):
        rng = streams.at(Purpose.INTERWEAVE, 7, block=i)
        proposed = propose(kind, expected, step, problem.prior, rng)
        if proposed is None:
            continue
        new, ratio = proposed
        np.testing.assert_array_equal(asked[number], new.W)
        number += 1
        ratio += number * gain - height
        at[i] = min(np.exp(ratio), 1.0) if np.isfinite(ratio) else 0.0
        if rng.random() < at[i]:
            expected, height = new, number * gain
    assert number == len(asked) >= 2
    close(acceptance, at, 1e-9)
    np.testing.assert_array_equal(state.W, expected.W)
    np.testing.assert_array_equal(state.Z, expected.Z)
    close(solved.log_evidence, first.log_evidence + height, 1e-12)
