"""lam: the walk of its logarithm, number for number."""

import numpy as np
import pytest

from banklearn.numerics.linalg import JitterCount
from banklearn.sampler import precision
from banklearn.sampler.precision import Solved
from helpers import close, dense_log_evidence, fresh_gram, make_problem, plain_features


def evidence(problem, lam):
    Phi = plain_features(problem.X, problem.state.W, problem.trend)
    return dense_log_evidence(Phi, problem.y, lam, problem.prior.a0, problem.prior.b0)


@pytest.mark.parametrize("step", [0.3, 2.0])
def test_an_update_is_its_description(step):
    taken, certain = 0, 0
    for seed in range(30):
        problem = make_problem(seed, trend="constant")
        gram, lam, prior = fresh_gram(problem), problem.state.lam, problem.prior
        now = precision.solve(gram, lam, problem.gaussian, JitterCount())
        new, chance = precision.update(
            now, gram, problem.gaussian, prior, step, np.random.default_rng(seed), JitterCount()
        )
        rng = np.random.default_rng(seed)
        proposal = lam * np.exp(step * rng.standard_normal())
        u = rng.random()
        log_ratio = evidence(problem, proposal) - evidence(problem, lam)
        log_ratio += prior.log_lam(proposal) - prior.log_lam(lam)
        close(chance, min(1.0, np.exp(log_ratio)), 1e-8)
        if u < np.exp(log_ratio):
            close(new.lam, proposal, 1e-14)
            close(new.log_evidence, evidence(problem, proposal), 1e-9)
            taken += 1
        else:
            assert new is now
        certain += log_ratio > 0
    assert 0 < taken < 30
    assert 0 < certain < 30


@pytest.mark.parametrize("lam", [1e-279, 1e279])
def test_a_step_out_of_reach_is_not_computed(lam):
    """Numbers near the ends of what can be held are refused without a factor."""
    problem = make_problem(0)
    now = Solved(lam, (), 0.0)
    away = np.sign(np.log(lam))
    refused = []
    for seed in range(20):
        z = np.random.default_rng(seed).standard_normal()
        if z * away < 0.5:
            continue
        after, chance = precision.update(
            now, None, problem.gaussian, problem.prior, 10.0, np.random.default_rng(seed), None
        )
        assert after is now
        assert chance == 0.0
        refused.append(seed)
    assert len(refused) >= 3


def test_what_is_known_is_not_factored_again():
    problem = make_problem(1)
    gram = fresh_gram(problem)
    solved = precision.solve(gram, 0.7, problem.gaussian, JitterCount())
    again = precision.solve(gram, 0.7, problem.gaussian, JitterCount(), solved.solutions)
    assert again.solutions is solved.solutions
    assert (again.lam, again.log_evidence) == (0.7, solved.log_evidence)
    close(solved.log_evidence, evidence(problem, 0.7), 1e-10)
