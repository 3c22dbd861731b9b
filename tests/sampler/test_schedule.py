"""How often gradient moves are made: the rule, when they are due, and that warm-up freezes it."""

import warnings

import numpy as np
import pytest

from banklearn import BankClassifier, BankRegressor, load_model
from banklearn.sampler import schedule as schedule_module
from banklearn.sampler import sweep
from banklearn.sampler.schedule import ODDS, STEP, Pace
from banklearn.sampler.sweep import Tuning


@pytest.mark.parametrize("length", [9, 24])
@pytest.mark.parametrize("taken", [0.19, 0.25, 0.34])
def test_gradient_moves_get_their_share_of_the_work(taken, length):
    rate = Pace().after(taken, length).rate
    assert rate * STEP * length == pytest.approx(ODDS * (1.0 - taken) / taken, rel=1e-12)


def test_the_fewer_are_taken_the_more_often():
    rates = [Pace().after(taken, 24).rate for taken in (0.34, 0.3, 0.25, 0.2)]
    assert (np.diff(rates) > 0).all()


@pytest.mark.parametrize("taken", [0.35, 0.5, 1.0])
def test_while_many_are_taken_there_are_none(taken):
    pace = Pace().after(taken, 24)
    assert (pace.rate, pace.taken) == (0.0, taken)


@pytest.mark.parametrize("taken", [0.35, 0.5, 0.54])
def test_on_some_of_the_rows_they_begin_earlier(taken):
    pace = Pace(whole=False).after(taken, 24)
    assert pace.rate * STEP * 24 == pytest.approx(ODDS * (1.0 - taken) / taken, rel=1e-12)
    assert not pace.whole
    assert Pace(whole=False).after(0.55, 24).rate == 0.0


@pytest.mark.parametrize("taken", [0.0, 1e-13, 1e-9, 0.05])
def test_sweeps_get_two_fifths_of_the_work_at_least(taken):
    assert Pace().after(taken, 24).rate == pytest.approx(1.5 / (STEP * 24), rel=1e-12)


@pytest.mark.parametrize("taken", [0.9, 0.6, 0.25])
@pytest.mark.parametrize("whole", [False, True])
def test_where_steps_are_cheap_they_get_their_share_however_many_are_taken(taken, whole):
    pace = Pace(whole=whole, step=0.1).after(taken, 24)
    assert pace.rate * 0.1 * 24 == pytest.approx(ODDS * (1.0 - taken) / taken, rel=1e-12)
    assert pace.step == 0.1
    assert Pace(step=0.19).after(0.6, 24).rate > 0.0
    assert Pace(step=0.2).after(0.6, 24).rate == 0.0


def test_cheap_steps_leave_two_fifths_to_sweeps_too():
    assert Pace(step=0.1).after(0.05, 24).rate * 0.1 * 24 == pytest.approx(1.5, rel=1e-12)
    assert Pace(step=0.02).after(0.05, 24).rate == 1.0
    assert Pace(step=0.1).after(1.0, 24).rate == 0.0


@pytest.mark.parametrize("length", [1, 2])
def test_there_is_at_most_one_move_a_sweep(length):
    assert Pace().after(0.05, length).rate == 1.0


def test_all_sweeps_so_far_count_the_last_one_a_tenth():
    pace = Pace()
    assert (pace.rate, pace.taken) == (0.0, None)
    pace = pace.after(0.3, 24)
    assert pace.taken == 0.3
    pace = pace.after(0.1, 24)
    assert pace.taken == pytest.approx(0.28, rel=1e-12)
    assert pace.rate == pytest.approx(Pace().after(pace.taken, 24).rate, rel=1e-12)


@pytest.mark.parametrize("rate", [0.0, 0.03, 0.3, 0.5, 0.77, 1.0])
def test_moves_are_spread_evenly(rate):
    due = np.flatnonzero([Pace(rate, 0.5).due(i) for i in range(1, 1001)]) + 1
    assert abs(len(due) - 1000 * rate) < 3
    gaps = np.diff(due)
    assert len(set(gaps)) <= 3
    if rate:
        assert gaps.max() <= 3 / rate


def test_while_the_rate_changes_the_share_is_right():
    rates = np.linspace(0.9, 0.05, 400)
    due = [Pace(rate, 0.5).due(i) for i, rate in enumerate(rates, 1)]
    assert abs(sum(due) - rates.sum()) < 6


RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(60)
SMALL = {"n_warmup": 60, "n_draws": 10, "thin": 2, "n_chains": 1, "random_state": 0}


def fit(task, **changes):
    options = {"gradient_length": 2, "spectral_scale": 1.0, "trend": "linear", **SMALL}
    kind, y = (
        (BankRegressor, Y)
        if task == "regression"
        else (BankClassifier, np.digitize(Y, [-0.3, 0.4]))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return kind(4, **(options | changes)).fit(X, y)


@pytest.mark.parametrize("task", ["regression", "three classes"])
def test_what_warm_up_found_is_kept_and_told(task, tmp_path, monkeypatch):
    monkeypatch.setattr(schedule_module, "FEW", 0.99)  # on such small data many are taken
    model = fit(task)
    (schedule,), (trace,) = model.schedule_, model.trace_
    pace = Pace(schedule["gradient_rate"], 0.5)
    assert 0.0 < pace.rate < 1.0
    made = np.isfinite(trace["gradient_acceptance"])
    assert made[:60].any()
    proper = [pace.due(i) for i in range(61, 81)]
    np.testing.assert_array_equal(made[60:], proper)
    assert any(proper)
    assert schedule["gradient_single"] is True
    assert schedule["gradient_step"] != 0.2
    assert schedule["gradient_tried"] == made[:60].sum()
    assert schedule["gradient_length"] in (1, 2)
    model.save(tmp_path / "model.bank")
    assert load_model(tmp_path / "model.bank").schedule_ == model.schedule_


def test_nothing_is_adapted_after_warm_up(monkeypatch):
    adapted, real = [], sweep.adapt

    def adapt(tuning, info, i):
        adapted.append(i)
        return real(tuning, info, i)

    monkeypatch.setattr("banklearn.sampler.run.adapt", adapt)
    fit("regression")
    assert adapted == list(range(1, 61))


def test_a_number_is_taken_as_it_is():
    model = fit("regression", gradient_every=3, interweave_every=0)
    (schedule,) = model.schedule_
    assert schedule["gradient_rate"] == pytest.approx(1 / 3)
    made = np.isfinite(model.trace_[0]["gradient_acceptance"])
    np.testing.assert_array_equal(np.flatnonzero(made) + 1, np.arange(3, 81, 3))
    assert schedule["interweave_one"] == schedule["interweave_share"] == 0.0
    none = fit("regression", gradient_every=0)
    assert none.schedule_[0]["gradient_rate"] == 0.0
    assert np.isnan(none.trace_[0]["gradient_acceptance"]).all()


def test_a_pace_goes_before_a_number():
    tuning = Tuning(gradient_every=1, pace=Pace(0.5, 0.5))
    due = [i for i in range(1, 100) if Pace(0.5, 0.5).due(i)]
    assert [i for i in range(1, 100) if tuning.gradients(i)] == due


@pytest.mark.parametrize(
    ("value", "error"), [("often", ValueError), (-1, ValueError), (0.5, TypeError)]
)
def test_other_words_are_refused(value, error):
    with pytest.raises(error, match="gradient_every must be"):
        fit("regression", gradient_every=value)
