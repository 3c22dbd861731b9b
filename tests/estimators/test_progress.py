"""The progress bar says when a fit will end, from its first sweep on."""

from types import SimpleNamespace

import pytest

from banklearn.estimators.progress import BESIDE_ROWS, Progress, time_column, work
from banklearn.sampler.run import Plan

INFO = SimpleNamespace(accepted_jumps=0.5, accepted_local=0.5, log_likelihood=-1.0, K=2)


@pytest.fixture
def clock(monkeypatch):
    """Time that stands still until it is moved."""
    now = [100.0]
    monkeypatch.setattr("banklearn.estimators.progress.time.monotonic", lambda: now[0])
    return now


def predicted(progress, chain=0):
    task = progress._bar.tasks[chain]
    return task.fields["end"], task.fields["begin"]


def test_the_end_is_predicted_from_the_first_sweep_on(clock):
    plan = Plan(3, 2)
    with Progress(plan, 1, 1) as progress:
        for sweep in range(1, 6):
            clock[0] += 7.0
            progress(0, sweep, plan, INFO)
            assert predicted(progress) == (pytest.approx(100 + 5 * 7.0), 100.0)


def test_small_subsamples_do_not_promise_too_much(clock):
    plan = Plan(3, 2, stages=((1000, 2), (98_000, 1)))
    assert work(plan, 2) == 2 * (1000 + BESIDE_ROWS)
    with Progress(plan, 1, 1) as progress:
        for sweep, seconds in ((1, 3.0), (2, 3.0), (3, 100.0)):
            clock[0] += seconds
            progress(0, sweep, plan, INFO)
            assert predicted(progress)[0] == pytest.approx(100 + 2 * 3.0 + 3 * 100.0)


def test_a_resumed_chain_is_not_taken_to_be_fast(clock):
    plan = Plan(10, 10)
    with Progress(plan, 1, 1) as progress:
        clock[0] += 5.0
        progress(0, 15, plan, INFO)
        assert predicted(progress)[0] == pytest.approx(105 + 5 * 5.0)


def test_a_chain_that_waited_for_another_begins_when_that_ends(clock):
    plan = Plan(0, 2)
    with Progress(plan, 2, 1) as progress:
        for chain in (0, 1):
            for sweep in (1, 2):
                clock[0] += 4.0
                progress(chain, sweep, plan, INFO)
        assert predicted(progress, 0) == (108.0, 100.0)
        assert predicted(progress, 1) == (116.0, 108.0)


def test_the_time_left_counts_down(clock):
    task = SimpleNamespace(fields={"begin": 10.0, "end": 200.0})
    left = time_column(lambda begin, end, now: end - now)
    clock[0] = 130.4
    assert left.render(task).plain == "0:01:10"
    clock[0] = 260.0
    assert left.render(task).plain == "0:00:00"
