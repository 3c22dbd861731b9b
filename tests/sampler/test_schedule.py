"""The trial of gradient moves: what is counted, how it is decided, and that it is frozen."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from banklearn import BankClassifier, BankRegressor, load_model
from banklearn.numerics.streams import Streams
from banklearn.sampler import sweep
from banklearn.sampler.schedule import (
    LEAST,
    Gain,
    Trial,
    counted_costs,
    in_words,
    squared_distance,
)
from banklearn.sampler.sweep import Model, Tuning
from helpers import close, make_problem, problem_log_evidence

COSTS = (1.0, 3.6)


def tried(climbed, moved, times=20):
    """A trial of equal gains."""
    trial = Trial(0, 0)
    for i in range(1, times + 1):
        trial = trial.add(Gain(climbed, moved), i)
    return trial


def test_while_the_evidence_climbs_its_climb_decides():
    trial = tried(climbed=(1.0, 4.0), moved=(100.0, 0.0))
    assert trial.climbs
    assert trial.choose(COSTS) == 4  # as many sweeps as one move costs, rounded
    assert trial.choose((2.0, 6.0)) == 3
    assert trial.choose((1.0, 4.1)) == 0  # it gains less than four of them would
    assert tried(climbed=(3.0, -2.0), moved=(0.0, 9.0)).choose(COSTS) == 0


def test_where_it_does_not_climb_the_distance_decides():
    trial = Trial(0, 0)
    for i in range(1, 41):  # up and down
        sign = (-1) ** i
        trial = trial.add(Gain((2.0 * sign, 5.0 * sign), (1.0, 3.5)), i)
    assert not trial.climbs
    assert trial.choose(COSTS) == 0
    assert replace(trial, moved=(1.0, 3.7)).choose(COSTS) == 4
    assert replace(trial, moved=(1.0, 3.7)).choose((1.0, 0.2)) == 1


def test_gains_that_go_up_and_down_are_no_climb():
    """Forty-one of seven, every second one downwards: the sum is above zero by chance."""
    trial = Trial(0, 0)
    for i in range(41):
        trial = trial.add(Gain((2.0 * (-1) ** i, 5.0 * (-1) ** i), (1.0, 1.0)), i + 1)
    assert sum(trial.climbed) == 7.0
    assert not trial.climbs


def test_a_climb_is_more_than_two_standard_deviations():
    # So many equal gains are sqrt(times) standard deviations of their sum.
    assert not tried(climbed=(1.0, 2.0), moved=(1.0, 1.0), times=4).climbs
    assert tried(climbed=(1.0, 2.0), moved=(1.0, 1.0), times=5).climbs


def test_a_draw_is_no_reason_for_gradient_moves():
    assert tried(climbed=(1.0, 4.0), moved=(0.0, 0.0)).choose((1.0, 4.0)) == 0


def test_falling_is_no_climb():
    assert not tried(climbed=(-5.0, -1.0), moved=(1.0, 1.0)).climbs


def test_too_few_trials_decide_nothing():
    assert tried((0.0, 9.0), (0.0, 9.0), LEAST - 1).choose(COSTS) == 0
    assert tried((0.0, 9.0), (0.0, 9.0), LEAST).choose(COSTS) == 4
    assert Trial(0, 0).choose(COSTS) == 0
    assert LEAST == 5


def test_only_the_later_half_of_the_last_third_counts():
    trial = Trial.planned(300)
    assert (trial.begin, trial.count_from) == (200, 250)
    gain = Gain((1.0, 2.0), (3.0, 4.0))
    for sweep_before in (1, 201, 249, 250):
        assert trial.add(gain, sweep_before) == trial
    assert trial.add(gain, 251) == replace(
        trial, times=1, climbed=(1.0, 2.0), moved=(3.0, 4.0), square=9.0
    )
    tuning = Tuning(gradient_every=2, trial=trial)
    assert [s for s in range(190, 211) if tuning.gradients(s)] == [202, 204, 206, 208, 210]
    assert Trial.planned(0).begin == 0
    assert not trial.ended
    odd = Trial.planned(64)  # a third are 21, of which eleven do not count
    assert (odd.begin, odd.count_from) == (43, 54)


def test_what_moves_cost():
    proposals, gradient = counted_costs(10**6, 100, 3, 1, True)
    close(proposals, 12e10, 0.01)
    close(gradient, 44e10, 0.01)
    assert counted_costs(1000, 50, 2, 3, False)[1] == 3 * counted_costs(1000, 50, 2, 1, False)[1]
    close(counted_costs(10**6, 100, 3, 2, False)[0], 32e10, 0.01)
    # Without rows: factors and inverses alone, in units of M^3.
    for tasks in (1, 2):
        units = np.array(counted_costs(0, 10, 3, tasks, tasks == 1)) / (1e3 * tasks)
        close(units, [20.0, 3 * 10.7 + 8.0], 1e-12)


def test_what_a_trial_found_is_told():
    trial = tried(climbed=(1.0, 4.0), moved=(2.0, 8.0), times=3)
    assert in_words(trial) == {
        "trials": 3,
        "climbing": trial.climbs,
        "climbed_by_proposals": 3.0,
        "climbed_by_gradient": 12.0,
        "moved_by_proposals": 6.0,
        "moved_by_gradient": 24.0,
    }
    assert in_words(None) == {}


def test_distances_are_in_whitened_coordinates():
    state = make_problem(3, M=8).state
    W = state.W + np.random.default_rng(0).standard_normal(state.W.shape)
    expected = sum(
        (step := W[j] - state.W[j]) @ np.linalg.inv(state.Sigma[state.Z[j]]) @ step
        for j in range(8)
    )
    close(squared_distance(state, W), expected, 1e-10)
    assert squared_distance(state, state.W) == 0.0


def test_gains_of_a_sweep_are_those_of_its_evidence():
    """The sum of both climbs against evidences computed anew, over sweeps of a real chain."""
    problem = make_problem(0, N=60, M=6, trend="linear")
    model = Model(problem.prior, problem.gaussian, problem.trend)
    engine, streams = problem.engine(), Streams(0)
    tuning = Tuning(gradient_every=1, trial=Trial(0, 0))
    chain = sweep.init(engine, model, problem.state, streams)
    moved = np.zeros(2)
    for i in range(1, 21):
        before = chain.state
        chain, info = sweep.step(chain, engine, model, tuning, streams, i)
        W = chain.state.W
        there = replace(problem, state=before.with_(W=W))
        expected = problem_log_evidence(there) - problem_log_evidence(
            replace(problem, state=before)
        )
        close(sum(info.gain.climbed), expected, 1e-7, 1e-7)
        moved += info.gain.moved
    assert (moved > 0).all()
    assert sweep.step(chain, engine, model, Tuning(gradient_every=1), streams, 21)[1].gain is None


RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(60)
SMALL = {"n_warmup": 60, "n_draws": 6, "thin": 2, "n_chains": 1, "random_state": 0}


def fit(task, **changes):
    options = {"gradient_every": "auto", "spectral_scale": 1.0, "trend": "linear", **SMALL}
    kind, y = (
        (BankRegressor, Y)
        if task == "regression"
        else (BankClassifier, np.digitize(Y, [-0.3, 0.4]))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return kind(4, **(options | changes)).fit(X, y)


@pytest.mark.parametrize("task", ["regression", "three classes"])
@pytest.mark.parametrize("cheap", [True, False])
def test_what_was_chosen_is_kept(task, cheap, monkeypatch, tmp_path):
    """Moves that are said to cost nothing stay, such that are said to cost everything go."""
    monkeypatch.setattr(sweep, "counted_costs", lambda *_: (1.0, 1e-9 if cheap else 1e9))
    model = fit(task)
    (schedule,) = model.schedule_
    assert schedule["gradient_every"] == (1 if cheap else 0)
    assert schedule["trials"] >= LEAST
    made = np.isfinite(model.trace_[0]["gradient_acceptance"])
    assert not made[:40].any()
    assert made[40:60].sum() == 10
    assert made[60:].all() if cheap else not made[60:].any()
    model.save(tmp_path / "model.bank")
    assert load_model(tmp_path / "model.bank").schedule_ == model.schedule_
    monkeypatch.undo()
    if not cheap:  # and that is what the counted costs say here
        assert fit(task).schedule_ == model.schedule_


def test_a_number_is_taken_as_it_is():
    model = fit("regression", gradient_every=3, interweave_every=0)
    (schedule,) = model.schedule_
    assert schedule["gradient_every"] == 3
    assert "trials" not in schedule
    assert schedule["interweave_one"] == schedule["interweave_share"] == 0.0


@pytest.mark.parametrize(
    ("value", "error"), [("often", ValueError), (-1, ValueError), (0.5, TypeError)]
)
def test_other_words_are_refused(value, error):
    with pytest.raises(error, match="gradient_every must be"):
        fit("regression", gradient_every=value)
