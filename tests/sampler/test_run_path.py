"""The path of a chain: on which rows it begins, what its bookmark is told, where it goes on."""

import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from banklearn.numerics.streams import Streams
from banklearn.sampler import leapfrog, run, sweep
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.run import Plan, Run, run_chain, run_chains
from banklearn.sampler.sweep import Model, Tuning
from banklearn.sampler.target import Target
from helpers import make_problem

N = 300
STAGES = ((100, 2), (200, 2), (N, 1))


class Watched:
    """A kernel that remembers on how many rows it began and went on, and a clock for its sweeps."""

    def __init__(self, most=40):
        self.began, self.went_on, self.swept, self.now, self.most = [], [], [], 1000.0, most
        self.pack = sweep.pack

    def monotonic(self):
        return self.now

    def init(self, engine, *rest):
        self.began.append(engine.n_rows)
        return sweep.init(engine, *rest)

    def unpack(self, packed, engine, model):
        self.went_on.append(engine.n_rows)
        return sweep.unpack(packed, engine, model)

    def step(self, chain, engine, *rest):
        assert len(self.swept) < self.most, "more sweeps than were asked for"
        self.swept.append(engine.n_rows)
        self.now += 1.0  # a second for each
        return sweep.step(chain, engine, *rest)


class Notes:
    """A bookmark that remembers all that it is told."""

    def __init__(self, stored=None):
        self.stored, self.told, self.kept = stored, [], []

    def load(self):
        return self.stored

    def save(self, run, pack, ended):
        self.told.append((ended, run.stage, run.done, run.sweep, len(run.draws)))
        self.kept.append(
            replace(run, draws=list(run.draws), trace=list(run.trace), link=pack(), cut=run.cut)
        )


@pytest.fixture
def watched(monkeypatch):
    kernel = Watched()
    monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=kernel.monotonic))
    return kernel


def go(kernel, plan, stop_at=None, bookmark=None, elapsed=0.0, tuning=None, stop=None):
    """A chain, stopped after sweep stop_at (0: before it begins)."""
    problem = make_problem(0, N=N, M=3)
    stop = stop or threading.Event()
    if stop_at == 0:
        stop.set()

    def monitor(chain, i, plan, info):
        if i == stop_at:
            stop.set()

    return run_chain(
        problem.engine(),
        Model(problem.prior, problem.gaussian, problem.trend),
        problem.state,
        plan,
        Streams(0),
        lambda chain, i: (i, float(chain.gram.n[0])),
        tuning or Tuning(),
        kernel,
        monitor,
        stop,
        bookmark,
        elapsed=elapsed,
    )


@pytest.mark.parametrize(
    ("plan", "options", "began", "cut"),
    [
        (Plan(5, 2, stages=STAGES), {}, [100, 200, N], ""),
        (Plan(2, 2), {}, [N], ""),
        (Plan(2, 2, stages=((100, 2),)), {}, [100, N], ""),
        # A stop, and the end of its time, leave a chain on some rows, and it begins on all;
        (Plan(5, 2, stages=STAGES), {"stop_at": 1}, [100, N], "stop"),
        (Plan(5, 2, stages=STAGES), {"stop_at": 3}, [100, 200, N], "stop"),
        (Plan(5, 2, stages=((100, 2), (200, 0), (N, 3))), {"stop_at": 1}, [100, N], "stop"),
        # or on all, where it goes on.
        (Plan(5, 2), {"stop_at": 1}, [N], "stop"),
        (Plan(5, 2, stages=STAGES), {"stop_at": 4}, [100, 200, N], "stop"),
        (Plan(10, 2, max_time=6.0), {}, [N], "time"),
        (Plan(4, 2, max_time=6.0), {}, [N], ""),
        (Plan(3, 2, max_time=6.0), {}, [N], ""),
        # No pass over the data is made for a warm-up that cannot begin.
        (Plan(5, 2, stages=STAGES), {"stop_at": 0}, [N], "stop"),
        (Plan(5, 2, stages=((100, 5), (N, 0))), {"stop_at": 0}, [N], "stop"),
        (Plan(5, 2, stages=STAGES, max_time=6.0), {"elapsed": 4.0}, [N], "time"),
        (Plan(5, 2, max_time=6.0), {"elapsed": 7.0}, [N], "time"),
        # One without sweeps is not cut short.
        (Plan(0, 1, max_time=6.0), {"elapsed": 7.0}, [N], ""),
        (Plan(0, 2, max_time=6.0), {"elapsed": 7.0}, [N], "time"),
    ],
)
def test_on_which_rows_a_chain_begins(plan, options, began, cut, watched):
    result = go(watched, plan, **options)
    assert watched.began == began
    assert result.cut == cut
    assert result.draws
    assert {rows for _, rows in result.draws} == {float(N)}


GRADIENTS = Tuning(gradient_every=1, gradient=GradientTuning(length=3))


class Ending(Watched):
    """In the midst of sweep `last` someone stops the chain, or its time is up."""

    def __init__(self, last, stop=None):
        super().__init__()
        self.last, self.stop = last, stop

    def step(self, chain, engine, model, tuning, streams, i, hurried):
        asks = 0

        def asked(ahead):
            nonlocal asks
            asks += 1
            if i == self.last and asks == 2:
                if self.stop is None:
                    self.now += 1000.0
                else:
                    self.stop.set()
            return hurried(ahead)

        return sweep.step(chain, engine, model, tuning, streams, i, asked)


@pytest.mark.parametrize("last", [2, 4, 6, 7])
def test_a_sweep_that_was_stopped_in_the_midst_of_a_trajectory_was_not_made(last, monkeypatch):
    """And a chain that goes on makes it as if it had never begun."""
    plan = Plan(5, 4, stages=STAGES)
    whole = go(Watched(), plan, tuning=GRADIENTS)
    stop = threading.Event()
    notes = Notes()
    cut = go(Ending(last, stop), plan, bookmark=notes, tuning=GRADIENTS, stop=stop)
    assert cut.cut == "stop"
    assert len(cut.trace) == last - 1
    assert cut.draws
    ended, *_, sweeps, _ = notes.told[-1]
    assert (ended, sweeps) == (True, last - 1)
    on = go(Watched(), plan, bookmark=Notes(notes.kept[-1]), tuning=GRADIENTS)
    assert [i.log_evidence for i in on.trace] == [i.log_evidence for i in whole.trace]
    assert on.draws == whole.draws


@pytest.mark.parametrize("last", [2, 4, 6, 7])
def test_where_time_is_up_a_sweep_is_made_without_its_trajectory(last, monkeypatch):
    kernel = Ending(last)
    monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=kernel.monotonic))
    cut = go(kernel, Plan(5, 4, stages=STAGES, max_time=500.0), tuning=GRADIENTS)
    assert cut.cut == "time"
    # One more where that was warm-up: there is at least one sweep of sampling.
    made = [bool(np.isfinite(info.gradient_acceptance)) for info in cut.trace]
    assert made == (last - 1) * [True] + [False] * (2 if last <= 5 else 1)
    assert len(cut.draws) == max(last - 5, 1)


def test_a_trajectory_for_which_time_would_not_do_is_left_out(monkeypatch):
    """By what its steps take: with three seconds for a step there is no time for all of them."""
    kernel = Watched()
    clock = SimpleNamespace(monotonic=kernel.monotonic, perf_counter=kernel.monotonic)
    monkeypatch.setattr(run, "time", clock)
    monkeypatch.setattr(leapfrog, "time", clock)
    real = Target.sloping

    def sloping(*arguments):
        kernel.now += 3.0
        return real(*arguments)

    monkeypatch.setattr(Target, "sloping", sloping)
    # A second for a sweep, and 3 + 3 * 3 for its trajectory.
    result = go(kernel, Plan(0, 9, max_time=30.0), tuning=GRADIENTS)
    made = [bool(np.isfinite(info.gradient_acceptance)) for info in result.trace]
    assert made == [True, True, False]
    assert kernel.now - 1000.0 == 13.0 + 13.0 + 1.0 + 6.0


def test_a_bookmark_is_told_every_sweep_and_the_end(watched):
    notes = Notes()
    go(watched, Plan(2, 2, thin=2, stages=((100, 1), (N, 1))), bookmark=notes)
    # (ended, stage, sweeps of it, address, draws)
    assert notes.told == [
        (False, 0, 1, 1, 0),
        (False, 1, 1, 2, 0),
        (False, 2, 1, 3, 0),
        (False, 2, 2, 4, 1),
        (False, 2, 3, 5, 1),
        (False, 2, 4, 6, 2),
        (True, 2, 4, 6, 2),
    ]


@pytest.mark.parametrize(
    ("stop_at", "told"),
    [
        (0, []),
        (1, [(False, 0, 1, 1, 0), (True, 0, 1, 1, 0)]),
        (3, [(False, 0, 1, 1, 0), (False, 1, 1, 2, 0), (False, 2, 1, 3, 0), (True, 2, 1, 3, 0)]),
    ],
)
def test_a_bookmark_of_a_chain_that_is_stopped(stop_at, told, watched):
    notes = Notes()
    result = go(watched, Plan(2, 2, thin=2, stages=((100, 1), (N, 1))), stop_at, bookmark=notes)
    assert notes.told == told
    assert len(result.draws) == 1
    assert result.cut == "stop"


def stored_after(sweeps, plan):
    """What a bookmark holds after so many sweeps of the plan."""
    notes = Notes()
    go(Watched(), plan, bookmark=notes)
    return notes.kept[sweeps - 1]


@pytest.mark.parametrize(
    ("after", "went_on", "began"),
    [(1, [100], [200, N]), (3, [200], [N]), (4, [200], [N]), (5, [N], []), (6, [N], [])],
)
def test_a_chain_goes_on_where_its_bookmark_says(after, went_on, began, watched):
    plan = Plan(5, 2, stages=STAGES)
    whole = go(Watched(), plan)
    result = go(watched, plan, bookmark=Notes(stored_after(after, plan)))
    assert (watched.went_on, watched.began) == (went_on, began)
    assert len(watched.swept) == 7 - after
    assert result.draws == whole.draws
    assert [info.lam for info in result.trace] == [info.lam for info in whole.trace]
    assert (result.warmup, result.sweep) == (5, 7)


def test_a_chain_that_goes_on_without_time_rounds_off(watched):
    """Even so it stands where its bookmark said, and its warm-up is over."""
    plan = Plan(5, 2, stages=STAGES, max_time=6.0)
    stored = stored_after(1, replace(plan, max_time=None))
    result = go(watched, plan, bookmark=Notes(stored), elapsed=7.0)
    assert (watched.went_on, watched.began, watched.swept) == ([100], [N], [N])
    assert (result.cut, result.warmup, len(result.draws)) == ("time", 1, 1)


@pytest.mark.parametrize(("n_draws", "n_warmup"), [(1, 2), (0, 2)])
def test_more_than_is_asked_for_is_left_as_it_is(n_draws, n_warmup, watched):
    stored = stored_after(8, Plan(n_warmup, 3, thin=2))
    assert (stored.done, len(stored.draws)) == (6, 3)
    notes = Notes(stored)
    result = go(watched, Plan(n_warmup, n_draws, thin=2), bookmark=notes)
    assert watched.swept == []
    assert len(result.draws) == 3
    assert notes.told == [(True, 1, 6, 8, 3)]


def test_a_warm_up_that_went_further_is_over(watched):
    stored = stored_after(3, Plan(4, 1))
    go(watched, Plan(2, 1), bookmark=Notes(stored))
    assert watched.swept == [N]


def test_what_a_run_and_a_plan_begin_with():
    empty = Run([])
    assert (empty.warmup, empty.stage, empty.done, empty.sweep) == (0, 0, 0, 0)
    assert (empty.trace, empty.cut, empty.link) == ([], "", None)
    plan = Plan(3, 4)
    assert (plan.thin, plan.max_time, plan.stages, plan.pause) == (1, None, (), None)
    assert (Plan(3, 1).n_sweeps, Plan(5, 3, 3).n_sweeps) == (4, 14)
    assert (Plan(3, 4, 5).sampling, Plan(3, 4, 5, pause=2).sampling) == (20, 10)


def test_a_subsample_by_places_holds_rows_once_and_in_order():
    engine = make_problem(0, N=40, M=4).engine()
    part = run._subsample(engine, 30, Streams(0), 0, None)
    places = [int(np.flatnonzero((engine.X == row).all(axis=1))[0]) for row in part.X]
    assert places == sorted(set(places))
    assert len(places) == 30
    for size in (40, 41):
        assert run._subsample(engine, size, Streams(0), 0, None) is engine
    assert run._subsample(engine, 39, Streams(0), 0, None).n_rows == 39


def test_a_chain_that_is_done_does_not_stop_the_others():
    stopped = []

    def one(chain, stop):
        if chain:
            time.sleep(0.3)  # the others are looked after every tenth of a second
            stopped.append(stop.is_set())
        return Run([chain])

    runs, interrupted = run_chains(one, 2, 2, True)
    assert [r.draws for r in runs] == [[0], [1]]
    assert (stopped, interrupted) == ([False], False)
