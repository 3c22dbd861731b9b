"""The Newton steps with which a classifier's weights begin, against the same steps made plainly."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from banklearn.engines.memory import MemoryEngine
from banklearn.likelihoods.logistic import Logistic
from banklearn.sampler import sweep
from banklearn.sampler.sweep import Model
from helpers import close
from trees import log_likelihood, make_classes


class Counting(MemoryEngine):
    """An engine that counts its passes."""

    passes = 0

    def sum(self, statistic):
        self.passes += 1
        return super().sum(statistic)


def newton_step(problem, beta):
    """Where the parabola at beta has its top, task by task."""
    Phi, out = problem.features(), []
    for b, (rows, label, weight) in zip(beta, problem.tasks(), strict=True):
        f = Phi[rows] @ b
        p = expit(f)
        A = np.maximum(weight * p * (1 - p), 1e-12)
        left = Phi[rows].T @ (A[:, None] * Phi[rows]) + problem.state.lam * np.eye(len(b))
        out.append(np.linalg.solve(left, Phi[rows].T @ (A * f + weight * (label - p))))
    return np.stack(out)


def plain_near_mode(problem, beta):
    """(weights, passes over the data, how often a step was halved)."""
    best, top, target, passes, halved = None, -np.inf, beta, 0, 0
    while passes < 10:
        passes += 1
        height = log_likelihood(problem, target) - 0.5 * problem.state.lam * np.sum(target**2)
        if height < top:
            target, halved = (best + target) / 2, halved + 1
            continue
        gained, best, top = height - top, target, height
        if gained < 1:
            break
        target = newton_step(problem, target)
    return best, passes, halved


def start(problem, beta):
    engine = Counting(problem.X, problem.y, problem.weight)
    found = sweep.near_mode(engine, problem.model, problem.state, beta)
    return found, engine.passes


@pytest.mark.parametrize("trend", ["none", "constant", "linear"])
@pytest.mark.parametrize("C", [2, 3, 5])
def test_newton_steps_from_nothing(C, trend):
    for seed in range(6):
        problem = make_classes(seed, N=40, M=3, C=C, trend=trend, weighted=seed % 2 == 1)
        found, passes = start(problem, None)
        expected, wanted, _ = plain_near_mode(problem, np.zeros_like(problem.beta))
        assert passes == wanted
        close(found, expected, 1e-7, 1e-8)


def test_steps_that_do_not_climb_are_halved():
    """From far away, where the curvature is small and a whole step goes too far."""
    halvings = set()
    for seed in range(30):
        problem = make_classes(seed, N=40, M=3, C=3, trend="constant")
        problem = replace(problem, state=problem.state.with_(lam=0.1))
        far = 3.0 * problem.beta
        found, passes = start(problem, far)
        expected, wanted, halved = plain_near_mode(problem, far)
        assert passes == wanted
        close(found, expected, 1e-6, 1e-7)
        halvings.add(halved)
    assert {0, 1, 2} <= halvings


def test_ten_passes_are_made_where_it_still_climbs():
    problem = make_classes(0, N=40, M=4, trend="constant")
    separable = (problem.features() @ problem.beta[0] < 0).astype(float)
    problem = replace(
        problem,
        y=separable,
        weight=np.full(40, 1e7),
        state=problem.state.with_(lam=1e-3),
    )
    found, passes = start(problem, None)
    expected, wanted, _ = plain_near_mode(problem, np.zeros_like(problem.beta))
    assert passes == wanted == 10
    close(found, expected, 1e-5)


@pytest.mark.parametrize(("trend", "h"), [("none", 0), ("constant", 1), ("linear", 3)])
def test_without_weights_it_begins_at_zero(trend, h):
    problem, began = make_classes(0, N=40, M=3, C=3, trend=trend), []

    class Watched(Logistic):
        def newton(self, beta):
            began.append(beta)
            return super().newton(beta)

    model = Model(problem.prior, Watched(3), trend)
    sweep.near_mode(problem.engine(), model, problem.state, None)
    np.testing.assert_array_equal(began[0], np.zeros((2, h + 6)))
    sweep.near_mode(problem.engine(), model, problem.state, problem.beta)
    assert any(beta is problem.beta for beta in began)


def test_weights_that_are_given_are_begun_with():
    problem = make_classes(1, N=40, M=3, trend="linear")
    top, _ = start(problem, None)
    found, passes = start(problem, top)
    # A little climb remains, and is not gone for.
    assert passes <= 2
    expected, wanted, _ = plain_near_mode(problem, top)
    assert passes == wanted
    close(found, expected, 1e-8, 1e-9)
