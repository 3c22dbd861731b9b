"""The compiled walk through the restaurant against a plain one."""

import numpy as np

from banklearn.model import niw
from banklearn.sampler import assignments
from helpers import HUNDRED, close, make_problem


def plain_update(state, prior, rng):
    """The same update, one log_conditional after another, with the same random numbers."""
    base = prior.base(state.psi)
    u = rng.random(state.M)
    opened = 0
    for j in range(state.M):
        log_p = assignments.log_conditional(j, state, prior)
        p = np.exp(log_p - log_p.max())
        k = int(np.searchsorted(np.cumsum(p), u[j] * p.sum(), side="right"))
        Z = state.Z.copy()
        Z[j] = k
        if k == state.K:
            mu, Sigma = niw.draw(niw.posterior(base, state.W[j : j + 1]), rng)
            state = state.with_(
                mu=np.concatenate([state.mu, mu[None]]),
                Sigma=np.concatenate([state.Sigma, Sigma[None]]),
            )
            opened += 1
        state = state.with_(Z=Z)
    used, Z = np.unique(state.Z, return_inverse=True)
    return state.with_(Z=Z, mu=state.mu[used], Sigma=state.Sigma[used]), opened


def test_the_walk_is_the_plain_one():
    opened = closed = 0
    for seed in HUNDRED:
        problem = make_problem(seed, M=25)
        state = problem.state
        for sweep in range(3):
            plain, new = plain_update(state, problem.prior, np.random.default_rng([seed, sweep]))
            fast = assignments.update(state, problem.prior, np.random.default_rng([seed, sweep]))
            np.testing.assert_array_equal(fast.Z, plain.Z)
            close(fast.mu, plain.mu, 1e-12, 1e-13)
            close(fast.Sigma, plain.Sigma, 1e-12, 1e-13)
            opened += new
            closed += state.K + new - plain.K
            state = fast
    assert opened > 50
    assert closed > 50


def test_many_frequencies_are_walked_to_the_end():
    problem = make_problem(0, M=400)
    plain, _ = plain_update(problem.state, problem.prior, np.random.default_rng(0))
    fast = assignments.update(problem.state, problem.prior, np.random.default_rng(0))
    np.testing.assert_array_equal(fast.Z, plain.Z)


def test_labels_stay_compact_and_old_states_untouched():
    for seed in HUNDRED:
        problem = make_problem(seed, M=12)
        state = problem.state
        before = (state.Z.copy(), state.mu.copy(), state.Sigma.copy())
        after = assignments.update(state, problem.prior, np.random.default_rng(seed))
        np.testing.assert_array_equal(np.unique(after.Z), np.arange(after.K))
        assert after.Z.dtype == np.int64
        assert after.Sigma.shape == (after.K, 2, 2)
        for kept, now in zip(before, (state.Z, state.mu, state.Sigma), strict=True):
            np.testing.assert_array_equal(kept, now)


def test_a_single_frequency():
    problem = make_problem(0, M=1)
    after = assignments.update(problem.state, problem.prior, np.random.default_rng(0))
    assert (after.K, after.Z.tolist()) == (1, [0])
