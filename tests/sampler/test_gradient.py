"""The gradient move: exact gradient, reversible trajectory."""

import numpy as np
import pytest

from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.sampler import gradient, precision
from helpers import close, fresh_gram, make_problem


def make_target(problem, block_rows=7):
    working = problem.gaussian.working(None, Streams(0), 0)
    return gradient.Target(
        problem.engine(block_rows),
        problem.gaussian,
        problem.trend,
        problem.state,
        working,
        JitterCount(),
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trend", ["none", "linear"])
def test_the_gradient_is_that_of_the_evidence(trend, weighted):
    for seed in range(5):
        problem = make_problem(seed, N=20, M=5, trend=trend, weighted=weighted)
        target = make_target(problem)
        V = target.whiten(problem.state.W)
        close(target.unwhiten(V), problem.state.W, 1e-9, 1e-11)
        slope = target.point(V).slope
        step = 1e-5
        numeric = np.empty_like(V)
        for index in np.ndindex(*V.shape):
            up, down = V.copy(), V.copy()
            up[index] += step
            down[index] -= step
            difference = target.point(up).solved.log_evidence
            difference -= target.point(down).solved.log_evidence
            numeric[index] = difference / (2 * step)
        close(slope, numeric, 1e-5, 1e-5 * np.abs(slope).max())


def test_a_trajectory_can_be_walked_back():
    problem = make_problem(1, N=20, M=5, trend="linear")
    target = make_target(problem)
    rng = np.random.default_rng(0)
    start = target.point(target.whiten(problem.state.W))
    q = rng.standard_normal(start.V.shape)
    steps = 0.1 * rng.uniform(0.2, 1.0, start.V.shape)
    end, q_end = gradient.trajectory(target, start, q, steps, 5)
    assert np.abs(end.V - start.V).max() > 1e-2
    back, q_back = gradient.trajectory(target, end, -q_end, steps, 5)
    close(back.V, start.V, 1e-9, 1e-10)
    close(-q_back, q, 1e-9, 1e-10)


def test_short_steps_keep_the_energy():
    problem = make_problem(2, N=20, M=5)
    target = make_target(problem)
    rng = np.random.default_rng(0)
    start = target.point(target.whiten(problem.state.W))
    q = rng.standard_normal(start.V.shape)
    scale = rng.uniform(0.2, 1.0, start.V.shape)
    errors = []
    for size, length in ((0.02, 10), (0.01, 20)):
        end, q_end = gradient.trajectory(target, start, q, size * scale, length)
        errors.append(abs(gradient.energy(end, q_end) - gradient.energy(start, q)))
    # Second order: half the step, a quarter of the error.
    assert errors[1] < 0.4 * errors[0] < 0.04


def test_the_new_statistic_belongs_to_the_new_frequencies():
    problem = make_problem(3, N=20, M=5)
    target = make_target(problem)
    gram = fresh_gram(problem)
    solved = precision.solve(gram, problem.state.lam, problem.gaussian, JitterCount())
    state, gram, solved, probability, _ = gradient.update(
        problem.state,
        gram,
        solved,
        target,
        gradient.GradientTuning(step=0.05),
        np.random.default_rng(0),
    )
    assert not np.array_equal(state.W, problem.state.W)
    assert 0 < probability <= 1
    close(gram.G, fresh_gram(problem, state.W).G, 1e-10, 1e-12)
