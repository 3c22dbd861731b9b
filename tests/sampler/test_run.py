"""Chains: stages, thinning, time, interruption."""

import gc
import signal
import threading
import time
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from banklearn.numerics import threads
from banklearn.numerics.row_keys import RowKeys
from banklearn.numerics.streams import Streams
from banklearn.sampler import run, sweep
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.run import Plan, Run, chains_at_once, growing_stages, run_chain, run_chains
from banklearn.sampler.schedule import Pace
from banklearn.sampler.sweep import Model, Tuning
from helpers import make_problem


def chain_of(plan, n=40, monitor=None, stop=None, seed=0, kernel=sweep, tuning=None):
    problem = make_problem(0, N=n, M=4)
    model = Model(problem.prior, problem.gaussian, problem.trend)
    return run_chain(
        problem.engine(),
        model,
        problem.state,
        plan,
        Streams(seed),
        lambda chain, sweep: (sweep, chain.state, float(chain.gram.n[0])),
        tuning or Tuning(),
        kernel,
        monitor,
        stop,
    )


class Clock:
    """Time in which every sweep takes a second, and nothing else any."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    def __call__(self, chain, sweep, plan, info):
        self.now += 1.0


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(run, "time", clock)
    return clock


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


def test_stages_are_those_of_their_description():
    # Two thirds of 300 sweeps, shared as 1, 1/2, ..., 1/5; the rest on all rows.
    sizes = [2500, 5000, 10_000, 20_000, 40_000]
    shares = [1 / k for k in range(1, 6)]
    sweeps = [int(200 * share / sum(shares)) for share in shares]
    assert sweeps == [87, 43, 29, 21, 17]
    assert growing_stages(80_000, 300) == (*zip(sizes, sweeps, strict=True), (80_000, 103))
    assert growing_stages(79_999, 300)[-2][0] == 20_000
    assert growing_stages(10**9, 3000)[-2][0] == 640_000
    assert growing_stages(4999, 300) == ((4999, 300),)
    assert growing_stages(5000, 300) == ((2500, 200), (5000, 100))
    assert growing_stages(5000, 6) == ((2500, 4), (5000, 2))
    assert growing_stages(5000, 5) == ((5000, 5),)
    # A stage without a sweep is none.
    assert growing_stages(40_000, 6) == ((2500, 1), (40_000, 5))


def test_the_length_of_a_plan():
    assert Plan(3, 4, 5).n_sweeps == 23
    assert Plan(3, 4).n_sweeps == 7


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


def test_time_left_by_warm_up_is_used_for_draws(clock):
    # 60 % of 20 seconds are 12: the sweep that passes them is the last of warm-up.
    result = chain_of(Plan(100, 100, max_time=20.0), monitor=clock)
    assert result.cut == "time"
    assert result.warmup == 13
    assert [kept[0] for kept in result.draws] == list(range(101, 109))  # as after a whole warm-up


def test_a_real_clock_ends_a_chain():
    result = chain_of(Plan(10**6, 10**6, max_time=0.05))
    assert result.cut == "time"
    assert result.draws[0][0] == 10**6 + 1


def test_each_stage_has_its_share_of_the_time(clock):
    rows = []

    def step(chain, engine, *rest):
        rows.append(engine.n_rows)
        return sweep.step(chain, engine, *rest)

    watched = SimpleNamespace(init=sweep.init, step=step)
    stages = ((10, 50), (20, 30), (40, 20))
    result = chain_of(Plan(100, 3, max_time=21.0, stages=stages), monitor=clock, kernel=watched)
    # The shares end after 4.2, 8.4 and 12.6 seconds.
    assert rows == 5 * [10] + 4 * [20] + 4 * [40] + 3 * [40]
    assert (result.warmup, result.cut, len(result.draws)) == (13, "time", 3)


@pytest.mark.parametrize("stages", [((10, 3), (40, 2)), ((40, 5),), ()])
def test_the_pace_knows_whether_sweeps_see_all_rows(stages):
    seen = []

    def step(chain, engine, model, tuning, *rest):
        seen.append((engine.n_rows == 40, tuning.pace.whole, tuning.pace.taken is None))
        return sweep.step(chain, engine, model, tuning, *rest)

    watched = SimpleNamespace(init=sweep.init, step=step)
    chain_of(Plan(5, 2, stages=stages), kernel=watched, tuning=Tuning(pace=Pace()))
    rows, told, unknown = zip(*seen, strict=True)
    assert told == rows
    begins = {0, 3} if len(stages) == 2 else {0}
    assert {i for i, new in enumerate(unknown) if new} == begins


@pytest.mark.parametrize("cut", [False, True])
def test_warm_up_settles_the_tuning_once(cut, clock):
    """What sampling begins with is not what the last sweep of warm-up left, and does not change."""
    seen = []

    def step(chain, engine, model, tuning, *rest):
        chain, info = sweep.step(chain, engine, model, tuning, *rest)
        seen.append((tuning, info))
        return chain, info

    tuning = Tuning(gradient_every=1, gradient=GradientTuning(step=0.5, length=2, reach=1))
    plan = Plan(100, 3, max_time=20.0) if cut else Plan(12, 3)
    watched = SimpleNamespace(init=sweep.init, step=step)
    result = chain_of(plan, kernel=watched, tuning=tuning, monitor=clock)
    last, info = seen[result.warmup - 1]
    kept = sweep.settled(sweep.adapt(last, info, result.warmup))
    sampled = [tuning for tuning, _ in seen[result.warmup :]]
    assert len(sampled) >= 3
    for tuning in [*sampled, result.tuning]:
        assert tuning.gradient.step == kept.gradient.step != last.gradient.step
        assert tuning.gradient.reach == kept.gradient.reach


def test_a_stage_leaves_no_statistic_behind():
    """A statistic on a device holds on to the work space of its engine."""
    grams, alive = [], []

    def init(*given):
        gc.collect()
        alive.append(sum(gram() is not None for gram in grams))
        return sweep.init(*given)

    def step(*given):
        chain, info = sweep.step(*given)
        grams.extend([weakref.ref(chain.gram), weakref.ref(info.flown.place.gram)])
        return chain, info

    watched, told = SimpleNamespace(init=init, step=step), []
    chain_of(
        Plan(4, 2, stages=((20, 2), (40, 2))),
        kernel=watched,
        tuning=Tuning(gradient_every=1, gradient=GradientTuning(step=0.1, length=2)),
        monitor=lambda chain, i, plan, info: told.append((info.gradient_acceptance, info.flown)),
    )
    assert len(grams) == 12
    assert alive == [0, 0]
    assert len(told) == 6
    assert all(np.isfinite(acceptance) and flown is None for acceptance, flown in told)


@pytest.mark.parametrize("seconds", [1.0, 8.0, 14.0])
def test_a_pace_that_has_not_seen_all_rows_makes_no_gradient_moves(clock, seconds):
    """Warm-up is over in the first stage, in the second, or as soon as the last has begun."""
    tuning = Tuning(pace=Pace(1.0), gradient=GradientTuning(reach=16))
    plan = Plan(100, 3, max_time=seconds, stages=((10, 50), (20, 30), (40, 0)))
    result = chain_of(plan, monitor=clock, tuning=tuning)
    assert 0 < result.warmup
    assert result.tuning.pace == Pace(0.0, None, True)
    assert result.tuning.gradient.reach < 16


def test_an_end_between_two_draws_keeps_the_last_state(clock):
    result = chain_of(Plan(2, 10, thin=4, max_time=10.0), monitor=clock)
    assert [kept[0] for kept in result.draws] == [6, 10, 11]


@pytest.mark.parametrize(("at", "warmup", "draws"), [(3, 3, [10]), (16, 10, [14])])
def test_a_stop_is_not_an_end_in_time(at, warmup, draws):
    stop = threading.Event()

    def monitor(chain, i, plan, info):
        if i == at:
            stop.set()

    result = chain_of(Plan(10, 10, thin=4), monitor=monitor, stop=stop)
    assert (result.cut, result.warmup) == ("stop", warmup)
    assert [kept[0] for kept in result.draws] == draws


def test_a_subsample_holds_each_row_once():
    engine = make_problem(0, N=40, M=4).engine()
    keys = RowKeys.of(engine.X, None)
    part = run._subsample(engine, 30, Streams(0), 0, keys)
    assert part.n_rows == 30
    assert len(np.unique(part.X, axis=0)) == 30
    assert run._subsample(engine, 40, Streams(0), 0, keys) is engine
    other = run._subsample(engine, 30, Streams(0), 1, keys)
    assert not np.array_equal(part.X, other.X)


def test_an_interrupt_from_the_keyboard_stops_all_chains_and_keeps_what_they_have():
    def one(chain, stop):
        if chain == 0:
            time.sleep(0.5)  # until all chains are at work
            signal.raise_signal(signal.SIGINT)
        assert stop.wait(20)
        return Run([chain])

    runs, interrupted = run_chains(one, 2, 2, True)
    assert interrupted
    assert [r.draws for r in runs] == [[0], [1]]


def test_an_interrupt_before_all_chains_have_begun_leaves_a_draw_of_each(monkeypatch):
    begun, real = [], run.ThreadPoolExecutor.submit

    def submit(pool, *arguments):
        begun.append(arguments[1])
        if len(begun) == 2:
            raise KeyboardInterrupt
        return real(pool, *arguments)

    def one(chain, stop):
        assert stop.wait(20)
        return Run([chain])

    monkeypatch.setattr(run.ThreadPoolExecutor, "submit", submit)
    runs, interrupted = run_chains(one, 3, 3, True)
    assert interrupted
    assert [r.draws for r in runs] == [[0], [1], [2]]
    assert begun == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("workers", "one_core_each", "limited"), [(1, True, False), (2, True, True), (2, False, False)]
)
def test_chains_side_by_side_have_a_core_each(workers, one_core_each, limited):
    free, of_blas, seen = threads.threads(), threads.blas_threads(), []

    def one(chain, stop):
        seen.append((threads.threads(), threads.blas_threads()))
        return Run([chain])

    runs, interrupted = run_chains(one, 3, workers, one_core_each)
    assert [r.draws for r in runs] == [[0], [1], [2]]
    assert not interrupted
    assert set(seen) == {(1, 1) if limited else (free, of_blas)}
    assert (threads.threads(), threads.blas_threads()) == (free, of_blas)


def test_fits_that_overlap_keep_their_limits():
    """The first to end lifts no limit of the other, and none is left at the end."""
    before, begun, seen = (threads.threads(), threads.blas_threads()), threading.Barrier(2), []
    ended = threading.Event()

    def long(chain, stop):
        if chain == 0:
            begun.wait(60.0)
            assert ended.wait(60.0)
            seen.append((threads.threads(), threads.blas_threads()))
        return Run([chain])

    other = threading.Thread(target=lambda: run_chains(long, 2, 2, True))
    other.start()

    def short(chain, stop):
        if chain == 0:
            begun.wait(60.0)
        return Run([chain])

    run_chains(short, 2, 2, True)
    ended.set()
    other.join(60.0)
    assert seen == [(1, 1)]
    assert (threads.threads(), threads.blas_threads()) == before


def test_no_more_chains_run_than_a_limit_has_cores(monkeypatch):
    monkeypatch.setattr(run, "available_cores", lambda: 16)
    for large in (False, True):
        with threads.limited_to(2):
            assert run.chains_at_once(4, large) == 2
            assert run.chains_at_once(1, large) == 1
        with threads.one_thread_each():  # another fit's chains
            assert run.chains_at_once(4, large) == 4


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
    [
        (1, False, 4, 1),
        (1, True, 4, 1),
        (2, False, 4, 2),
        (2, True, 4, 2),
        (3, False, 4, 3),
        (3, True, 4, 1),
        (4, True, 4, 4),
        (9, True, 4, 4),
    ],
)
def test_chains_run_side_by_side_where_that_helps(n_chains, large, cores, at_once, monkeypatch):
    monkeypatch.setattr(run, "available_cores", lambda: cores)
    assert run.chains_at_once(n_chains, large) == at_once
    running, most, lock = [0], [0], threading.Lock()
    gate = threading.Barrier(at_once)

    def one(chain, stop):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        if chain < at_once:
            gate.wait(60.0)
        time.sleep(0.1)
        with lock:
            running[0] -= 1
        return Run([chain])

    runs, interrupted = run_chains(one, n_chains, chains_at_once(n_chains, large), True)
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
        run_chains(one, 2, 2, True)
    assert all(seen)
