"""The gradient move: the density it sees, its gradient, a reversible path, and who decides."""

from dataclasses import replace

import numpy as np
import pytest

from banklearn.model import niw
from banklearn.model.joint import log_joint
from banklearn.numerics.linalg import JitterCount, NumericalError
from banklearn.numerics.streams import Streams
from banklearn.sampler import gradient, precision
from banklearn.sampler.gradient import GradientTuning, Metric
from banklearn.sampler.target import Target
from helpers import HUNDRED, close, fresh_gram, make_problem, problem_log_evidence


def make_target(problem, block_rows=7, engine=None):
    return Target(
        engine or problem.engine(block_rows),
        problem.gaussian,
        problem.trend,
        problem.prior,
        problem.state,
        problem.gaussian.working(None, Streams(0), 0),
        JitterCount(),
    )


def some_root(d, seed=0):
    return np.tril(np.random.default_rng(seed).uniform(0.3, 1.0, (d, d)))


def started(problem):
    gram = fresh_gram(problem)
    return gram, precision.solve(gram, problem.state.lam, problem.gaussian, JitterCount())


def test_the_density_is_the_joint_with_components_integrated_out():
    """log p(W, theta, ...) - log p(theta | W) does not depend on theta, and is the height."""
    for seed in HUNDRED:
        problem, rng = make_problem(seed, N=12, M=6), np.random.default_rng(seed)
        prior, state = problem.prior, problem.state
        base, target = prior.base(state.psi), make_target(problem)
        integrated, heights = [], []
        for _ in range(3):
            W = state.W + 0.5 * rng.standard_normal(state.W.shape)
            laws = [niw.posterior(base, W[state.Z == k]) for k in range(state.K)]
            drawn = [niw.draw(law, rng) for law in laws]
            mu, Sigma = (np.stack(part) for part in zip(*drawn, strict=True))
            there = state.with_(W=W, mu=mu, Sigma=Sigma)
            given = sum(map(niw.log_density, laws, mu, Sigma))
            joint = log_joint(there, prior, problem_log_evidence(problem, W))
            integrated.append(joint - given)
            heights.append(target.at(W).height)
        close(np.diff(heights), np.diff(integrated), 1e-8, 1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trend", ["none", "linear"])
def test_the_gradients_are_those_of_evidence_and_density(trend, weighted):
    for seed in range(5):
        problem = make_problem(seed, N=20, M=5, trend=trend, weighted=weighted)
        target, W = make_target(problem), problem.state.W
        point = target.sloping(target.at(W))
        slope, pull = np.empty_like(W), np.empty_like(W)
        for index in np.ndindex(*W.shape):
            step = np.zeros_like(W)
            step[index] = 1e-5
            up, down = target.at(W + step), target.at(W - step)
            slope[index] = (up.solved.log_evidence - down.solved.log_evidence) / 2e-5
            pull[index] = (up.height - down.height) / 2e-5
        close(point.slope, slope, 1e-5, 1e-5 * np.abs(slope).max())
        close(point.pull, pull, 1e-5, 1e-5 * np.abs(pull).max())


def test_a_trajectory_can_be_walked_back():
    problem = make_problem(1, N=20, M=5, trend="linear")
    target, root = make_target(problem), some_root(2)
    start = target.sloping(target.at(problem.state.W))
    q = np.random.default_rng(0).standard_normal(problem.state.W.shape)
    end, q_end = gradient.trajectory(target, start, q, root, 0.1, 5)
    assert np.abs(end.place.W - start.place.W).max() > 1e-2
    back, q_back = gradient.trajectory(target, end, -q_end, root, 0.1, 5)
    close(back.place.W, start.place.W, 1e-9, 1e-10)
    close(-q_back, q, 1e-9, 1e-10)


def test_short_steps_keep_the_energy():
    problem = make_problem(2, N=20, M=5)
    target, root = make_target(problem), some_root(2)
    start = target.sloping(target.at(problem.state.W))
    q = np.random.default_rng(0).standard_normal(problem.state.W.shape)
    errors = []
    for step, length in ((0.02, 10), (0.01, 20)):
        end, q_end = gradient.trajectory(target, start, q, root, step, length)
        before, after = target.energy(start.place, q), target.energy(end.place, q_end)
        errors.append(abs(after - before))
    # Second order: half the step, a quarter of the error.
    assert errors[1] < 0.4 * errors[0] < 0.04


def test_a_long_step_is_lost_at_once():
    problem = make_problem(0, N=20, M=4)
    problem = replace(problem, y=1e3 * problem.y)
    target, asked = make_target(problem), []
    at = target.at
    target.at = lambda W: (asked.append(1), at(W))[1]
    start = target.sloping(at(problem.state.W))
    q = np.random.default_rng(0).standard_normal(problem.state.W.shape)
    assert gradient.trajectory(target, start, q, 100.0 * np.eye(2), 1.0, 50) is None
    assert len(asked) < 50


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("case", range(6))
def test_a_move_is_its_description(case, single):
    """The move made again from its parts, with the same random numbers.

    In single precision the path is that of rounded sums, the decision that of exact ones.
    """
    problem = make_problem(case, N=20, M=4)
    target, (gram, solved) = make_target(problem), started(problem)
    metric = Metric(0.01 * np.eye(2) + 0.003, np.diag([0.5, 2.0]))
    # Long steps in every second case, so that some are rejected.
    tuning = GradientTuning(0.9 if case % 2 else 0.1, 3, metric, single)
    outcome = gradient.update(
        problem.state, gram, solved, target, tuning, np.random.default_rng(case)
    )
    rng = np.random.default_rng(case)
    step = tuning.step * rng.uniform(0.8, 1.2)
    q = rng.standard_normal(problem.state.W.shape)
    u = rng.random()
    root = np.linalg.inv(np.linalg.cholesky(4 * 20 * metric.squares + metric.precisions)).T
    followed = make_target(problem, engine=problem.engine(7).rough()) if single else target
    start = followed.sloping(followed.at(problem.state.W))
    end, q_end = gradient.trajectory(followed, start, q, root, step, 3)
    here, there = target.at(problem.state.W), target.at(end.place.W)
    ratio = np.exp(target.energy(here, q) - target.energy(there, q_end))
    assert outcome.probability == pytest.approx(min(ratio, 1.0), rel=1e-6)
    taken, place = (True, there) if u < ratio else (False, here)
    close(outcome.place.W, place.W, 1e-9, 1e-10)
    close(outcome.place.gram.G, fresh_gram(problem, place.W).G, 1e-10, 1e-12)
    assert outcome.place.solved.log_evidence == pytest.approx(place.solved.log_evidence, rel=1e-9)
    assert taken == (outcome.place.W is not problem.state.W)
    close(outcome.seen.squares, start.slope.T @ start.slope / (4 * 20), 1e-6, 1e-12)
    if single:
        assert 0.0 < outcome.rounding < 1e-3
    else:
        assert outcome.rounding < 1e-9


def test_what_a_state_tells_of_the_metric():
    problem = make_problem(5, N=20, M=8)
    target, state = make_target(problem), problem.state
    point = target.sloping(target.at(state.W))
    seen = gradient.look(state, point.slope, 20)
    close(seen.squares, sum(np.outer(g, g) for g in point.slope) / (8 * 20), 1e-12)
    expected = sum(np.linalg.inv(state.Sigma[k]) for k in state.Z) / 8
    close(seen.precisions, expected, 1e-10)


def test_the_root_is_one_of_the_inverse_precision():
    metric = Metric(np.array([[2.0, 0.3], [0.3, 1.0]]), np.diag([0.1, 0.7]))
    root = metric.root(50)
    close(root @ root.T, np.linalg.inv(200 * metric.squares + metric.precisions), 1e-12)


def test_without_a_warm_up_the_metric_is_the_priors():
    problem = make_problem(3, N=20, M=4)
    target, (gram, solved) = make_target(problem), started(problem)
    prior = problem.prior
    said = Metric(np.zeros((2, 2)), np.diag(prior.nu0 / prior.psi_mean))
    ends = [
        gradient.update(
            problem.state, gram, solved, target, GradientTuning(0.1, 2, metric), rng
        ).place.W
        for metric, rng in ((None, np.random.default_rng(0)), (said, np.random.default_rng(0)))
    ]
    np.testing.assert_array_equal(*ends)
    assert not np.array_equal(ends[0], problem.state.W)


@pytest.mark.parametrize("lost", ["height", "factor"])
def test_a_trajectory_out_of_all_bounds_is_refused(lost):
    problem = make_problem(0, N=20, M=4)
    target, (gram, solved) = make_target(problem), started(problem)
    at = target.at

    def nowhere(W):
        if lost == "factor":
            raise NumericalError("no factor")
        return replace(at(W), height=float("nan"))

    target.at = nowhere
    tuning = GradientTuning(single=False)
    outcome = gradient.update(problem.state, gram, solved, target, tuning, np.random.default_rng(0))
    assert outcome.place.W is problem.state.W
    assert outcome.place.gram is gram
    assert outcome.probability == 0.0
    assert np.isnan(outcome.rounding) if lost == "height" else np.isinf(outcome.rounding)
    assert outcome.seen is not None


def test_sums_that_single_precision_cannot_factor_are_told():
    problem = make_problem(0, N=20, M=4)
    target, (gram, solved) = make_target(problem), started(problem)

    class Hopeless:
        n_rows = 20

        def sum(self, statistic):
            raise NumericalError("no factor")

    target.engine.rough = Hopeless
    outcome = gradient.update(
        problem.state, gram, solved, target, GradientTuning(), np.random.default_rng(0)
    )
    assert outcome.place.W is problem.state.W
    assert outcome.probability == 0.0
    assert outcome.seen is None
    assert np.isinf(outcome.rounding)
