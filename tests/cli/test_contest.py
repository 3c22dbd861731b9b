"""A comparison keeps its time, whatever a method does."""

import multiprocessing
import operator
import os
import signal
import threading
import time

import numpy as np
import pytest

from banklearn.cli.contest import METHODS, Cell, Clock, Contest, run, score
from banklearn.cli.rivals import make_rival
from banklearn.cli.worker import Unfinished, Worker, serve

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


def test_a_worker_whose_modules_are_not_there_says_so():
    with Worker(("banklearn.no_such_module",)) as worker:
        assert not worker.ready(GENEROUS)
        found = worker.call(operator.neg, seconds=GENEROUS)  # by a process that fails as well
    assert found == Unfinished("its process was not ready in time")


@pytest.fixture
def interrupts():
    """What this process does on an interrupt, put back after a test."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_what_the_process_of_a_worker_does(interrupts):
    here, there = multiprocessing.Pipe()
    jobs = [(operator.add, (1.0,)), (operator.truediv, (0.0,)), (operator.mul, (2.0,))]
    answers = []

    def other_side():
        with here:
            answers.append(here.recv())
            here.send(30.0)
            for job in jobs:
                here.send(job)
                answers.append(here.recv())

    thread = threading.Thread(target=other_side)
    thread.start()
    serve(there, ("banklearn.cli.durations",))  # returns when the other side has gone
    thread.join()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ready, added, failed, multiplied = answers
    assert ready is True
    assert added == (31.0, None)
    assert failed[0] is None
    assert failed[1].endswith("ZeroDivisionError: float division by zero\n")
    assert multiplied == (60.0, None)


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


class Hours:
    """A clock that goes on only when it is told to, in the place of the module time."""

    now = 0.0

    def monotonic(self):
        return self.now


class SlowStarter:
    """A worker without a process: RKS needs too long, and a fresh start takes some time."""

    def __init__(self, hours, start):
        self.hours, self.start, self.gone = hours, start, False

    def ready(self, seconds):
        if self.gone:
            self.hours.now += min(self.start, seconds)
        self.gone = False
        return True

    def share(self, parts):
        pass

    def call(self, function, name, *args, seconds):
        if seconds <= 0:
            return Unfinished("there was no time left")
        self.gone = name == "RKS"
        self.hours.now += seconds if self.gone else 1.0
        return Unfinished("it was stopped") if self.gone else Cell({"mse": 1.0}, [])


def contest_with(limit, start, monkeypatch):
    hours = Hours()
    monkeypatch.setattr("banklearn.cli.contest.time", hours)
    worker = SlowStarter(hours, start)
    clock = Clock(limit, 0.0)
    return run(worker, table(10), "regression", 4, 0, clock, lambda words: None)


def test_a_fresh_process_is_not_the_time_of_the_rivals(monkeypatch):
    contest = contest_with(100.0, 30.0, monkeypatch)
    assert contest.unfinished == {
        "RKS": ["it was stopped", "an earlier fold had needed more time than was left"]
    }


def test_a_fold_is_blamed_only_if_there_was_one(monkeypatch):
    contest = contest_with(0.0, 0.0, monkeypatch)
    assert contest.unfinished == {name: ["there was no time left"] * 2 for name in METHODS}


def test_a_cell_is_a_fit_judged_on_the_other_rows():
    parts = table(120)
    X, y, X_test, y_test = parts[1]
    found = score(parts, "linear", 1, "regression", 4, 0, None)
    rival = make_rival("linear", "regression", 4, 0, y).fit(X, y)
    assert found.scores["mse"] == pytest.approx(np.mean((rival.predict(X_test) - y_test) ** 2))
    assert found.scores["seconds"] > 0
    assert found.warned == []
    hurried = score(parts, "BaNK", 0, "regression", 4, 0, 0.05)
    assert any("max_time" in sentence for sentence in hurried.warned)
    assert hurried.scores["mse"] < hurried.scores["trivial_mse"]


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


def test_an_interrupt_keeps_what_is_there():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    parts = [(X, X[:, 0], X, X[:, 0])] * 2
    seen = []

    def tell(what):
        seen.append(what)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with Worker() as worker:
        clock = Clock(None, time.monotonic())
        contest = run(worker, parts, "regression", 4, 0, clock, tell)
    assert contest.interrupted
    done = [fold for each in contest.results.values() for fold in each if fold is not None]
    assert len(done) == 2
    assert all(len(each) == 2 for each in contest.results.values())
    assert contest.unfinished["BaNK"] == ["it was interrupted"] * 2
