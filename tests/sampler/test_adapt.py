"""Warm-up's rules for the steps of all moves, by the formulas they are known under."""

from dataclasses import replace

import numpy as np
import pytest

from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.sampler import decisions, gradient, interweave, precision, sweep
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.interweave import InterweaveTuning
from banklearn.sampler.schedule import Gain, Trial, counted_costs
from banklearn.sampler.sweep import Info, Model, Tuning
from helpers import fresh_gram, make_problem


def info_of(**changes):
    fields = {
        "log_evidence": -3.0,
        "log_likelihood": -3.0,
        "accepted_jumps": 0.5,
        "accepted_local": 0.5,
        "accepted_switches": 0.5,
        "interweave_acceptance": np.full(3, np.nan),
        "lam_acceptance": 0.44,
        "gradient_acceptance": float("nan"),
        "slope": None,
        "K": 2,
        "alpha": 1.0,
        "lam": 1.0,
        "trouble": False,
        "jitter": 0,
    }
    return Info(**(fields | changes))


def test_where_everything_begins():
    assert (Moves().jump, Moves().rho_min, Moves().switch) == (0.5, 0.02, 0.0)
    assert (GradientTuning().step, GradientTuning().length) == (0.3, 3)
    assert GradientTuning().square is None
    assert InterweaveTuning().steps == (0.1, 0.1, 0.3)
    tuning = Tuning()
    assert (tuning.lam_step, tuning.scheme) == (0.3, "in-turn")
    assert (tuning.gradient_every, tuning.interweave_every) == (0, 0)
    assert tuning.rescale is True
    assert tuning.trial is None


@pytest.mark.parametrize("i", [1, 7, 400])
@pytest.mark.parametrize("acceptance", [0.0, 0.44, 0.9])
def test_the_step_of_lam_aims_at_44_percent(i, acceptance):
    tuning = Tuning(lam_step=0.7)
    after = sweep.adapt(tuning, info_of(lam_acceptance=acceptance), i)
    expected = 0.7 * np.exp((acceptance - 0.44) / np.sqrt(1 + i / 10))
    assert after.lam_step == pytest.approx(expected, rel=1e-12)
    assert (after.gradient, after.interweave) == (tuning.gradient, tuning.interweave)


def test_the_step_of_lam_stays_in_bounds():
    for begin, acceptance, bound in ((0.00101, 0.0, 1e-3), (4.9, 1.0, 5.0)):
        after = sweep.adapt(Tuning(lam_step=begin), info_of(lam_acceptance=acceptance), 1)
        assert after.lam_step == bound


@pytest.mark.parametrize(("probability", "times"), [(0.2, 1), (0.7, 3), (1.0, 40)])
def test_gradient_steps_aim_at_70_percent_and_remember_squares(probability, times):
    slope = np.array([[1.0, 3.0], [-2.0, 0.5]])
    seen = np.array([[5.0, 5.0], [2.125, 2.125]])  # mean squares by frequency
    old = np.array([[1.0, 1.0], [4.0, 4.0]])
    first = gradient.adapt(GradientTuning(), probability, slope, times)
    later = gradient.adapt(GradientTuning(square=old), probability, slope, times)
    step = 0.3 * np.exp(2 * (probability - 0.7) / np.sqrt(1 + 0.2 * times))
    rate = max(0.1, 1 / (1 + times))
    for after, square in ((first, seen), (later, (1 - rate) * old + rate * seen)):
        assert after.step == pytest.approx(step, rel=1e-12)
        assert after.length == 3
        np.testing.assert_allclose(after.square, square, rtol=1e-12)
    np.testing.assert_allclose(first.coordinate_steps((2, 2)), 1 / np.sqrt(1 + seen), rtol=1e-12)
    np.testing.assert_array_equal(GradientTuning().coordinate_steps((2, 3)), np.ones((2, 3)))


def test_gradient_steps_stay_in_bounds():
    slope = np.ones((2, 1))
    assert gradient.adapt(GradientTuning(step=1.01e-4), 0.0, slope, 0).step == 1e-4
    assert gradient.adapt(GradientTuning(step=1.4), 1.0, slope, 0).step == 1.5


@pytest.mark.parametrize(("every", "i", "times"), [(4, 8, 2), (1, 3, 3), (0, 5, 5)])
def test_gradient_moves_count_their_own_times(every, i, times):
    slope = np.array([[1.0], [2.0]])
    tuning = Tuning(gradient_every=every, gradient=GradientTuning(square=np.ones((2, 1))))
    after = sweep.adapt(tuning, info_of(slope=slope, gradient_acceptance=0.3), i)
    expected = gradient.adapt(tuning.gradient, 0.3, slope, times)
    assert after.gradient.step == expected.step
    np.testing.assert_array_equal(after.gradient.square, expected.square)


@pytest.mark.parametrize("i", [1, 30])
def test_walks_of_components_aim_at_30_percent(i):
    tuning = InterweaveTuning((0.1, 0.2, 0.3))
    after = interweave.adapt(tuning, np.array([0.1, np.nan, 0.8]), i)
    by = [np.exp((a - 0.3) / np.sqrt(1 + i / 10)) for a in (0.1, 0.3, 0.8)]
    np.testing.assert_allclose(after.steps, [0.1 * by[0], 0.2, 0.3 * by[2]], rtol=1e-12)


def test_walks_of_components_have_a_longest_step_and_end_when_tiny():
    after = interweave.adapt(InterweaveTuning((0.0201, 2.9, 0.02)), np.array([0.0, 1.0, np.nan]), 1)
    assert after.steps == (0.0, 3.0, 0.02)


@pytest.mark.parametrize(
    ("every", "steps", "due"),
    [
        (0, (0.1, 0.1), []),
        (1, (0.1, 0.0), [1, 2, 3, 4]),
        (2, (0.0, 0.1), [2, 4]),
        (2, (0.0, 0.0), []),
    ],
)
def test_when_components_walk(every, steps, due):
    tuning = Tuning(interweave_every=every, interweave=InterweaveTuning(steps))
    assert [i for i in range(1, 5) if tuning.interweaves(i)] == due


@pytest.mark.parametrize(
    ("every", "begin", "due"),
    [
        (0, None, []),
        (1, None, [1, 2, 3, 4, 5, 6]),
        (2, None, [2, 4, 6]),
        (3, None, [3, 6]),
        (1, 0, [1, 2, 3, 4, 5, 6]),
        (2, 2, [4, 6]),
        (2, 3, [4, 6]),
        (1, 5, [6]),
        (0, 1, []),
    ],
)
def test_when_gradient_moves_are_made(every, begin, due):
    trial = None if begin is None else Trial(begin, begin)
    tuning = Tuning(gradient_every=every, trial=trial)
    assert [i for i in range(1, 7) if tuning.gradients(i)] == due


def test_gradient_moves_on_trial_count_from_its_beginning():
    slope, old = np.array([[1.0], [2.0]]), GradientTuning(square=np.ones((2, 1)))
    tuning = Tuning(gradient_every=2, gradient=old, trial=Trial(5, 40))
    after = sweep.adapt(tuning, info_of(slope=slope, gradient_acceptance=0.3), 12)
    expected = gradient.adapt(old, 0.3, slope, 3)  # sweeps 8, 10 and 12
    assert after.gradient.step == expected.step
    np.testing.assert_array_equal(after.gradient.square, expected.square)


@pytest.mark.parametrize("gained", [0.0, 1e9])
def test_the_end_of_warm_up_decides_on_gradient_moves(gained):
    problem = make_problem(0, N=20, M=4)
    model = Model(problem.prior, problem.gaussian, problem.trend)
    trial = Trial(0, 0, times=20, climbed=(1.0, gained), square=1.0)
    tuning = Tuning(gradient_every=7, gradient=GradientTuning(length=2), trial=trial)
    after = sweep.freeze(tuning, problem.engine(), model, problem.state)
    every = trial.choose(counted_costs(20, 4, 2, 1, True))
    assert (every > 0) == (gained > 0)
    assert after == replace(tuning, gradient_every=every, trial=replace(trial, ended=True))


@pytest.mark.parametrize("trial", [None, Trial(0, 0, times=20, ended=True)])
def test_what_was_decided_stays(trial):
    problem = make_problem(0, N=20, M=4)
    model = Model(problem.prior, problem.gaussian, problem.trend)
    tuning = Tuning(gradient_every=7, trial=trial)
    assert sweep.freeze(tuning, problem.engine(), model, problem.state) is tuning


def test_gains_of_a_trial_are_added_up():
    trial = Trial.planned(30)
    gain = Gain((2.0, 1.0), (0.5, 0.25))
    after = sweep.adapt(Tuning(trial=trial), info_of(gain=gain), 30)
    assert (after.trial.times, after.trial.climbed, after.trial.moved) == (
        1,
        (2.0, 1.0),
        (0.5, 0.25),
    )
    assert sweep.adapt(Tuning(trial=trial), info_of(), 30).trial == trial
    assert sweep.adapt(Tuning(), info_of(gain=gain), 30).trial is None


def test_a_share_of_nothing_is_unknown():
    assert np.isnan(decisions.mean_of(np.array([], dtype=bool)))
    assert decisions.mean_of(np.array([True, False, False, True])) == 0.5


@pytest.mark.parametrize("case", range(6))
def test_a_gradient_move_is_its_description(case):
    """The move made again from its parts, with the same random numbers."""
    problem = make_problem(case, N=20, M=4)
    working = problem.gaussian.working(None, Streams(0), 0)
    target = gradient.Target(
        problem.engine(), problem.gaussian, problem.trend, problem.state, working, JitterCount()
    )
    gram = fresh_gram(problem)
    solved = precision.solve(gram, problem.state.lam, problem.gaussian, JitterCount())
    # Long steps in every second case, so that some are rejected.
    tuning = GradientTuning(step=0.9 if case % 2 else 0.1, square=np.full((4, 1), 0.5))
    state, _, new, probability, slope = gradient.update(
        problem.state, gram, solved, target, tuning, np.random.default_rng(case)
    )
    rng = np.random.default_rng(case)
    steps = tuning.step / np.sqrt(1.5) * rng.uniform(0.8, 1.2) * np.ones(state.W.shape)
    q = rng.standard_normal(state.W.shape)
    u = rng.random()
    start = target.point(target.whiten(problem.state.W))
    end, q_end = gradient.trajectory(target, start, q, steps, 3)

    def height(point, q):
        return point.solved.log_evidence - 0.5 * (point.V**2).sum() - 0.5 * (q**2).sum()

    ratio = np.exp(height(end, q_end) - height(start, q))
    assert probability == pytest.approx(min(ratio, 1.0), rel=1e-6)
    taken, point = (True, end) if u < ratio else (False, start)
    np.testing.assert_allclose(state.W, point.W, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(slope, point.slope, rtol=1e-6, atol=1e-8)
    assert new.log_evidence == pytest.approx(point.solved.log_evidence, rel=1e-9)
    assert taken == (not np.array_equal(state.W, problem.state.W))


def test_a_trajectory_out_of_all_bounds_is_refused():
    problem = make_problem(0, N=20, M=4)
    gram = fresh_gram(problem)
    solved = precision.solve(gram, problem.state.lam, problem.gaussian, JitterCount())
    working = problem.gaussian.working(None, Streams(0), 0)
    target = gradient.Target(
        problem.engine(), problem.gaussian, problem.trend, problem.state, working, JitterCount()
    )
    known = target.known

    def lost(*there):
        point = known(*there)
        return replace(point, solved=replace(point.solved, log_evidence=float("nan")))

    target.known = lost
    state, _, _, probability, _ = gradient.update(
        problem.state, gram, solved, target, GradientTuning(), np.random.default_rng(0)
    )
    assert state is problem.state
    assert probability == 0.0
