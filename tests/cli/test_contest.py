"""A comparison keeps its time, whatever a method does."""

import operator
import os
import time

import numpy as np
import pytest

from banklearn.cli.contest import METHODS, Cell, Clock, Contest, run
from banklearn.cli.worker import Unfinished, Worker

GENEROUS = 120.0  # a bound for a busy machine; nothing here needs it


def test_a_worker_calls_and_is_killed_when_time_is_up():
    with Worker() as worker:
        worker.share(30.0)
        assert worker.call(operator.add, 1.0, seconds=GENEROUS) == 31.0
        assert worker.call(operator.mul, 2.0, seconds=None) == 60.0
        start = time.monotonic()
        found = worker.call(time.sleep, seconds=0.5)
        assert found == Unfinished("it was stopped after 0 seconds")
        assert time.monotonic() - start < 20.0
        assert worker.call(operator.add, 1.0, seconds=GENEROUS) == 31.0  # by a fresh process
        assert worker.call(operator.add, 1.0, seconds=0.0) == Unfinished("there was no time left")
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            worker.call(operator.truediv, 0.0, seconds=GENEROUS)
        assert worker.call(operator.add, 2.0, seconds=GENEROUS) == 32.0


def test_a_worker_that_dies_is_no_end():
    with Worker() as worker:
        worker.share(7)
        found = worker.call(os._exit, seconds=GENEROUS)
        assert "ended with code 7" in found.reason
        assert worker.call(operator.neg, seconds=GENEROUS) == -7


def table(rows, folds=2):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(rows)
    return [(X[f::2], y[f::2], X[1 - f :: 2], y[1 - f :: 2]) for f in range(folds)]


@pytest.mark.alone
def test_the_time_is_kept_where_there_is_too_little():
    limit, told = 6.0, []
    begin = time.monotonic()
    with Worker() as worker:
        clock = Clock(limit, begin)
        contest = run(worker, table(40_000), "regression", 384, 0, clock, told.append)
    took = time.monotonic() - begin
    assert len(told) == 2 * len(METHODS)
    assert len(contest.unfinished["RKS"]) == 2
    assert "earlier fold" in contest.unfinished["RKS"][1]
    assert took < limit + 3.0  # killing and tidying up


def test_shares_of_time():
    clock = Clock(1000.0, time.monotonic())
    clock.go()
    first = clock.rival(15).whole
    assert first == pytest.approx(0.5 * 0.45 * 980.0, rel=0.01)
    assert clock.rival(1).whole == pytest.approx(2 * first, rel=0.01)
    limits = clock.bank(5)
    assert limits.fit == pytest.approx(0.8 * 980.0 / 5, rel=0.01)
    assert limits.whole == pytest.approx(980.0, rel=0.01)
    clock.learn(limits, limits.fit + 10.0)  # predictions took ten seconds
    assert clock.bank(5).fit == pytest.approx(980.0 / 5 - 12.0, rel=0.01)
    clock.learn(limits, 1.0)  # a fit that ended by itself says nothing new
    assert clock.bank(5).fit == pytest.approx(980.0 / 5 - 12.0, rel=0.01)
    assert Clock(None, 0.0).bank(3) == Clock(None, 0.0).rival(3) == (None, None)


def test_cells_are_put_down():
    contest = Contest(2)
    contest.note("BaNK", Cell({"mse": 1.0}, ["max_time = 3 s ended the fit early: ..."]))
    contest.note("BaNK", Unfinished("it was stopped after 3 seconds"))
    assert contest.results["BaNK"] == [{"mse": 1.0}, None]
    assert contest.unfinished == {"BaNK": ["it was stopped after 3 seconds"]}
    assert contest.ended_early == 1
