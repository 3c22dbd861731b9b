"""Warm-up's rules for the steps of all moves, by the formulas they are known under."""

from dataclasses import replace

import numpy as np
import pytest

from banklearn.sampler import decisions, gradient, interweave, sweep
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.gradient import GradientTuning, Metric, Outcome, Tried
from banklearn.sampler.interweave import InterweaveTuning
from banklearn.sampler.schedule import Pace
from banklearn.sampler.sweep import Info, Tuning


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
        "flown": None,
        "K": 2,
        "alpha": 1.0,
        "lam": 1.0,
        "trouble": False,
        "jitter": 0,
    }
    return Info(**(fields | changes))


def test_where_everything_begins():
    assert (Moves().jump, Moves().rho_min, Moves().switch) == (0.5, 0.02, 0.0)
    assert (GradientTuning().step, GradientTuning().length) == (0.2, 24)
    assert GradientTuning().metric is None
    assert (GradientTuning().single, GradientTuning().times) == (True, 0)
    assert (GradientTuning().reach, GradientTuning().steps) == (None, 24)
    assert GradientTuning().tried == []
    assert InterweaveTuning().steps == (0.1, 0.1, 0.3)
    tuning = Tuning()
    assert (tuning.lam_step, tuning.scheme) == (0.3, "in-turn")
    assert (tuning.gradient_every, tuning.interweave_every) == (0, 0)
    assert tuning.rescale is True
    assert tuning.pace is None


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


def flown(probability, squares=1.0, rounding=0.0):
    seen = Metric(squares * np.eye(2), 3.0 * squares * np.eye(2))
    return Outcome(None, probability, seen, rounding)


@pytest.mark.parametrize(("probability", "times"), [(0.2, 1), (0.7, 3), (1.0, 40)])
def test_gradient_steps_aim_at_70_percent_and_remember_the_metric(probability, times):
    old = Metric(np.array([[4.0, 1.0], [1.0, 2.0]]), np.eye(2))
    outcome = flown(probability)
    first = gradient.adapt(GradientTuning(times=times - 1), outcome)
    later = gradient.adapt(GradientTuning(metric=old, times=times - 1), outcome)
    step = 0.2 * np.exp(0.5 * (probability - 0.7) / np.sqrt(1 + 0.1 * times))
    rate = max(0.1, 1 / times)
    expected = Metric(
        (1 - rate) * old.squares + rate * outcome.seen.squares,
        (1 - rate) * old.precisions + rate * outcome.seen.precisions,
    )
    for after, metric in ((first, outcome.seen), (later, expected)):
        assert after.step == pytest.approx(step, rel=1e-12)
        assert (after.length, after.single, after.times) == (24, True, times)
        np.testing.assert_allclose(after.metric.squares, metric.squares, rtol=1e-12)
        np.testing.assert_allclose(after.metric.precisions, metric.precisions, rtol=1e-12)


def test_gradient_steps_stay_in_bounds():
    assert gradient.adapt(GradientTuning(step=1.01e-4), flown(0.0)).step == 1e-4
    assert gradient.adapt(GradientTuning(step=1.4), flown(1.0)).step == 1.5


@pytest.mark.parametrize(
    ("rounding", "single"), [(0.5, True), (0.51, False), (np.inf, False), (np.nan, True)]
)
def test_gradients_are_followed_in_double_precision_once_rounding_shows(rounding, single):
    before = GradientTuning(metric=Metric(np.eye(2), np.eye(2)))
    after = gradient.adapt(before, flown(0.0, rounding=rounding))
    assert after.single is single
    # A step must not become shorter for what rounding did.
    assert (after.step == before.step) is not single
    still = gradient.adapt(replace(before, single=False), flown(0.0, rounding=rounding))
    assert not still.single
    assert still.step < before.step


@pytest.mark.parametrize(
    ("reach", "probability", "after"),
    [(1, 0.51, 4), (4, 0.9, 10), (10, 1.0, 10), (9, 0.19, 2), (2, 0.0, 1), (1, 0.0, 1)]
    + [(5, p, 5) for p in (0.2, 0.35, 0.5)]
    + [(None, p, None) for p in (0.0, 1.0)],
)
def test_trajectories_that_arrive_go_further(reach, probability, after):
    tuning = GradientTuning(length=10, reach=reach)
    found = gradient.adapt(tuning, flown(probability))
    assert (found.reach, found.length) == (after, 10)
    assert found.steps == (10 if after is None else after)


@pytest.mark.parametrize(("reach", "after"), [(None, None), (1, 1), (3, 1), (24, 6)])
def test_more_rows_begin_with_shorter_trajectories(reach, after):
    tuning = GradientTuning(reach=reach)
    assert gradient.warier(tuning) == replace(tuning, reach=after)


def course(tuning, probabilities):
    """The tuning after trajectories that were so probable."""
    for probability in probabilities:
        tuning = gradient.adapt(tuning, flown(probability))
    return tuning


def test_the_chain_proper_has_the_mean_step_of_the_last_stage():
    begun = gradient.warier(course(GradientTuning(), [0.9, 0.1]))
    assert begun.tried == []
    logs, tuning = [], begun
    for probability in (0.1, 0.4, 1.0, 1.0):
        tuning = gradient.adapt(tuning, flown(probability))
        logs.append(np.log(tuning.step))
    mean = logs[0]
    for n, value in enumerate(logs[1:], 2):
        mean += (value - mean) / n**0.75
    (of,) = tuning.tried
    assert (of.steps, of.times, of.probability) == (24, 4, pytest.approx(2.5))
    assert gradient.settled(tuning).step == of.step == pytest.approx(np.exp(mean), rel=1e-12)
    # Unless the last step is smaller.
    later = gradient.adapt(gradient.adapt(tuning, flown(0.0)), flown(0.0))
    assert gradient.settled(later).step == later.step < later.tried[0].step
    # A stage in which no trajectory was made says nothing.
    assert gradient.settled(begun) == begun


def test_a_length_has_a_mean_step_of_its_own():
    tuning, steps = GradientTuning(length=10, reach=1), {}
    for probability in (1.0, 1.0, 0.9, 0.1, 0.8, 0.95):  # of 1, 4, 10, 10, 2 and 8 steps
        length = tuning.steps
        tuning = gradient.adapt(tuning, flown(probability))
        steps.setdefault(length, []).append(tuning.step)
    assert {of.steps: of.times for of in tuning.tried} == {1: 1, 4: 1, 10: 2, 2: 1, 8: 1}
    for of in tuning.tried:
        first, *rest = steps[of.steps]
        mean = first if not rest else first * (rest[0] / first) ** 2**-0.75
        assert of.step == pytest.approx(mean, rel=1e-12)
    assert gradient.settled(tuning).step == next(of.step for of in tuning.tried if of.steps == 8)


@pytest.mark.parametrize(
    ("probabilities", "last", "kept"),
    [
        ([0.9, 0.9, 0.9, 0.1], 2, 10),  # one that does not arrive, after one that did
        ([0.9, 0.9, 0.9, 0.1, 0.1], 1, 10),
        ([0.9, 0.9, 0.9, 0.0, 0.9, 0.0, 0.9, 0.9, 0.0, 0.9], 8, 8),  # one of four by luck
        ([0.9, 0.1, 0.1], 1, 1),  # the whole length was never gone
        ([0.9, 0.4], 4, 4),  # nor did it fail
        ([0.9, 0.9], 10, 4),  # what nobody has gone is not dared
        ([], 1, 1),
    ],
)
def test_the_chain_proper_keeps_the_length_that_went_furthest(probabilities, last, kept):
    tuning = course(GradientTuning(length=10, reach=1), probabilities)
    assert tuning.reach == last
    assert gradient.settled(tuning).reach == kept
    everything = course(GradientTuning(length=10), probabilities)
    assert gradient.settled(everything).reach is None


def test_where_no_trajectory_arrived_the_shortest_is_kept():
    tuning = course(GradientTuning(length=24, reach=6), [0.0] * 4)
    assert [of.steps for of in tuning.tried] == [6, 1]
    assert gradient.settled(tuning).steps == 1
    hardly = [replace(of, probability=1e-9 * of.steps) for of in tuning.tried]
    assert gradient.settled(replace(tuning, tried=hardly)).steps == 1


def test_how_far_trajectories_go():
    one = Tried(3, 4, 2.5, 0.1)
    assert one.reached == pytest.approx(1.5)
    assert replace(one, steps=6).reached == pytest.approx(3.0)
    assert replace(one, probability=1.25).reached == pytest.approx(0.75)
    # Of one try nobody knows much.
    assert Tried(8, 1, 0.8, 0.1).reached < Tried(6, 9, 7.2, 0.1).reached


def test_trajectories_that_rounding_spoilt_are_not_counted():
    assert gradient.adapt(GradientTuning(reach=4), flown(0.9, rounding=1.0)).tried == []


@pytest.mark.parametrize("part", ["squares", "precisions"])
def test_a_metric_that_is_not_finite_is_forgotten(part):
    seen = replace(flown(0.3).seen, **{part: np.full((2, 2), np.nan)})
    after = gradient.adapt(GradientTuning(), Outcome(None, 0.3, seen, 0.0))
    assert after.metric is None
    assert after.step < 0.2


def test_what_nobody_saw_changes_no_metric():
    old = Metric(np.eye(2), np.eye(2))
    after = gradient.adapt(GradientTuning(metric=old), Outcome(None, 0.0, None, np.inf))
    assert after.metric is old
    assert gradient.adapt(GradientTuning(), Outcome(None, 0.0, None, np.inf)).metric is None


@pytest.mark.parametrize("i", [3, 50])
def test_gradient_moves_count_their_own_times(i):
    old = GradientTuning(metric=Metric(np.eye(2), np.eye(2)), times=4)
    after = sweep.adapt(Tuning(gradient_every=2, gradient=old), info_of(flown=flown(0.3)), i)
    expected = gradient.adapt(old, flown(0.3))
    assert (after.gradient.step, after.gradient.times) == (expected.step, 5)
    np.testing.assert_array_equal(after.gradient.metric.squares, expected.metric.squares)
    assert sweep.adapt(Tuning(gradient=old), info_of(), i).gradient is old


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
    ("every", "due"), [(0, []), (1, [1, 2, 3, 4, 5, 6]), (2, [2, 4, 6]), (3, [3, 6])]
)
def test_when_gradient_moves_are_made(every, due):
    tuning = Tuning(gradient_every=every)
    assert [i for i in range(1, 7) if tuning.gradients(i)] == due


@pytest.mark.parametrize(
    ("jumps", "exchanges", "taken"), [(0.4, np.nan, 0.4), (np.nan, 0.2, 0.2), (0.4, 0.2, 0.2)]
)
def test_the_pace_follows_what_candidates_took(jumps, exchanges, taken):
    info = info_of(accepted_jumps=jumps, accepted_exchanges=exchanges)
    assert info.taken == taken
    tuning = Tuning(gradient=GradientTuning(length=7), pace=Pace(0.1, 0.3))
    assert sweep.adapt(tuning, info, 5).pace == Pace(0.1, 0.3).after(taken, 7)
    assert sweep.adapt(Tuning(), info, 5).pace is None


def test_a_sweep_without_candidates_leaves_the_pace():
    info = info_of(accepted_jumps=float("nan"))
    assert np.isnan(info.taken)
    assert sweep.adapt(Tuning(pace=Pace(0.1, 0.3)), info, 5).pace == Pace(0.1, 0.3)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("stage", "reach"), [(0, 16), (1, 4), (3, 4)])
def test_what_a_stage_begins_with(stage, reach, whole):
    tuning = Tuning(lam_step=0.7, gradient=GradientTuning(reach=16), pace=Pace(0.1, 0.3, not whole))
    begun = sweep.entering(tuning, stage, whole)
    # The share of places that took candidates among other rows says nothing about these.
    # Until candidates have been seen among all rows there are no gradient moves.
    assert begun.pace == Pace(0.0 if whole else 0.1, None, whole)
    assert begun == replace(tuning, gradient=GradientTuning(reach=reach), pace=begun.pace)
    assert sweep.entering(replace(tuning, pace=None), stage, whole).pace is None


def test_only_gradient_moves_have_something_to_settle():
    tuned = course(GradientTuning(reach=1), [0.9, 0.9, 0.9, 0.9, 0.1])
    tuning = Tuning(lam_step=0.7, gradient=tuned)
    kept = replace(tuning, gradient=gradient.settled(tuned))
    assert (tuned.steps, kept.gradient.steps) == (6, 24)
    assert sweep.settled(tuning) == kept
    # Moves that are four times as long are a quarter as many.
    short = Pace(taken=0.3).of_length(6)
    settled = sweep.settled(replace(tuning, pace=short))
    assert settled == replace(kept, pace=Pace(taken=0.3).of_length(24))
    assert settled.pace.rate == pytest.approx(0.25 * short.rate)


def test_a_share_of_nothing_is_unknown():
    assert np.isnan(decisions.mean_of(np.array([], dtype=bool)))
    assert decisions.mean_of(np.array([True, False, False, True])) == 0.5
