"""Chains: stages, thinning, time, interruption."""

import threading
import time

import numpy as np
import pytest

from banklearn.numerics import threads
from banklearn.numerics.streams import Streams
from banklearn.sampler import run, sweep
from banklearn.sampler.run import Plan, Run, chains_at_once, growing_stages, run_chain, run_chains
from banklearn.sampler.sweep import Model, Tuning
from helpers import make_problem


def chain_of(plan, n=40, monitor=None, stop=None, seed=0):
    problem = make_problem(0, N=n, M=4)
    model = Model(problem.prior, problem.gaussian, problem.trend)
    return run_chain(
        problem.engine(),
        model,
        problem.state,
        plan,
        Streams(seed),
        lambda chain, sweep: (sweep, chain.state, float(chain.gram.n[0])),
        Tuning(),
        sweep,
        monitor,
        stop,
    )


@pytest.mark.parametrize("n_rows", [1, 4999, 5000, 20_000, 10**6, 10**9])
@pytest.mark.parametrize("n_warmup", [0, 1, 5, 6, 7, 30, 300])
def test_stages_grow_and_add_up(n_rows, n_warmup):
    stages = growing_stages(n_rows, n_warmup)
    rows, sweeps = zip(*stages, strict=True)
    assert sum(sweeps) == n_warmup
    assert rows[-1] == n_rows
    assert list(rows) == sorted(set(rows))
    assert min(sweeps) >= 0
    assert sweeps[-1] >= n_warmup / 3 - 1e-9


@pytest.mark.parametrize(("n_warmup", "n_draws", "thin"), [(0, 1, 1), (3, 4, 1), (2, 3, 5)])
def test_draws_are_those_that_were_asked_for(n_warmup, n_draws, thin):
    result = chain_of(Plan(n_warmup, n_draws, thin))
    sweeps = [kept[0] for kept in result.draws]
    assert sweeps == [n_warmup + thin * (i + 1) for i in range(n_draws)]
    assert (result.warmup, len(result.trace), result.cut) == (
        n_warmup,
        n_warmup + n_draws * thin,
        "",
    )


def test_warm_up_on_few_rows_ends_on_all_of_them():
    seen = []
    plan = Plan(5, 2, stages=((10, 2), (20, 2), (40, 1)))
    result = chain_of(plan, monitor=lambda chain, i, plan, info: seen.append(i))
    assert seen == list(range(1, 8))
    assert [kept[2] for kept in result.draws] == [40.0, 40.0]


def test_warm_up_that_never_reaches_all_rows_is_continued_on_all():
    result = chain_of(Plan(2, 2, stages=((10, 2),)))
    assert [kept[2] for kept in result.draws] == [40.0, 40.0]


def test_only_warm_up_adapts():
    short, long = chain_of(Plan(4, 1)), chain_of(Plan(4, 30))
    assert short.tuning.lam_step == long.tuning.lam_step != Tuning().lam_step


def test_a_longer_chain_begins_like_a_shorter_one():
    short, long = chain_of(Plan(3, 2)), chain_of(Plan(3, 5))
    for a, b in zip(short.draws, long.draws[:2], strict=True):
        np.testing.assert_array_equal(a[1].W, b[1].W)


@pytest.mark.parametrize("n_draws", [1, 5])
def test_no_time_at_all_still_gives_a_draw_and_says_so(n_draws):
    result = chain_of(Plan(10, n_draws, max_time=1e-9))
    assert len(result.draws) == 1
    assert result.cut == "time"
    assert result.warmup == 0


def test_time_left_by_warm_up_is_used_for_draws():
    begin = time.monotonic()
    result = chain_of(Plan(10**6, 10**6, max_time=0.3))
    assert time.monotonic() - begin < 1.5
    assert result.cut == "time"
    assert result.warmup > 5
    assert len(result.draws) > 5
    assert result.draws[0][0] == 10**6 + 1  # addresses of streams are those of a whole warm-up


def test_a_stop_before_the_start_keeps_one_state():
    stop = threading.Event()
    stop.set()
    result = chain_of(Plan(10, 10), stop=stop)
    assert (len(result.draws), len(result.trace), result.cut) == (1, 0, "stop")


def test_a_stop_while_sampling_keeps_the_draws_so_far():
    stop = threading.Event()

    def monitor(chain, sweep, plan, info):
        if sweep == 12:
            stop.set()

    result = chain_of(Plan(10, 10), monitor=monitor, stop=stop)
    assert [kept[0] for kept in result.draws] == [11, 12]
    assert result.cut == "stop"


@pytest.mark.parametrize(
    ("n_chains", "large", "cores", "at_once"),
    [(1, False, 4, 1), (2, False, 4, 2), (2, True, 4, 1), (4, True, 4, 4), (9, True, 4, 4)],
)
def test_chains_run_side_by_side_where_that_helps(n_chains, large, cores, at_once, monkeypatch):
    monkeypatch.setattr(run, "available_cores", lambda: cores)
    assert run.chains_at_once(n_chains, large) == at_once
    running, most, lock = [0], [0], threading.Lock()

    def one(chain, stop):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.1)
        with lock:
            running[0] -= 1
        return Run([chain])

    runs, interrupted = run_chains(one, n_chains, chains_at_once(n_chains, large))
    assert [r.draws for r in runs] == [[c] for c in range(n_chains)]
    assert most[0] == at_once
    assert not interrupted
    assert threads.threads() == threads.available_cores()


def test_an_error_in_one_chain_stops_the_others_and_is_raised():
    seen = []

    def one(chain, stop):
        if chain == 0:
            raise ArithmeticError("broken")
        seen.append(stop.wait(5))
        return Run([chain])

    with pytest.raises(ArithmeticError, match="broken"):
        run_chains(one, 2, 2)
    assert all(seen)
