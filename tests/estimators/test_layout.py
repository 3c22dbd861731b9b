"""How chains share the machine: side by side where that helps, with work space of their own."""

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from banklearn import BankClassifier, BankRegressor
from banklearn.engines.chunked import ChunkedEngine
from banklearn.engines.device import ArrayOps, DeviceEngine
from banklearn.engines.memory import MemoryEngine
from banklearn.estimators import base, layout
from banklearn.estimators.layout import Layout, lay_out
from banklearn.estimators.moves import tuning_of
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.priors import Prior
from banklearn.numerics import blas, threads, trig
from banklearn.sampler import run, sweep
from banklearn.sampler.schedule import STEP
from banklearn.sampler.sweep import Model
from helpers import close
from libraries import LIBRARIES, library

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(60)


def on_device(name, X=X, y=Y, weight=None):
    return DeviceEngine(X, y, weight, xp=library(name))


@pytest.fixture
def cores(monkeypatch):
    """Say how many cores there are."""

    def there_are(count):
        for module in (layout, run):
            monkeypatch.setattr(module, "available_cores", lambda: count)
        monkeypatch.setattr(layout, "blas_threads", lambda: 64)

    return there_are


def laid_out(engine, n_chains, M=5, spread=False, trend="constant", likelihood=None):
    prior = Prior(np.zeros(2), 1.0, 4.0, np.ones(2))
    model = Model(prior, likelihood or Gaussian(1.0, 1e-6), trend)
    return lay_out(engine, model, n_chains, M, spread)


@pytest.mark.parametrize(
    ("n_chains", "n_cores", "wanted"),
    [
        (4, 1, Layout(1, True, 1)),
        (4, 2, Layout(2, True, 1)),
        (2, 8, Layout(2, True, 1)),
        (1, 8, Layout(1, True, 4)),
        (np.uint8(4), 3, Layout(3, True, 1)),
    ],
)
def test_a_device_that_waits_serves_as_many_chains_as_there_are_cores(
    n_chains, n_cores, wanted, cores
):
    cores(n_cores)
    assert laid_out(on_device("strict"), n_chains) == wanted


def test_a_device_that_is_busy_serves_one_chain(cores, monkeypatch):
    cores(8)
    monkeypatch.setattr(layout, "DEVICE_PHASES", 60 * 5)
    assert laid_out(on_device("strict"), 4, 5) == Layout(4, True, 1)
    assert laid_out(on_device("strict"), 4, 6) == Layout(1, True, 4)


def test_a_library_that_threads_cannot_share_serves_one_chain(cores, monkeypatch):
    cores(8)
    monkeypatch.setattr(ArrayOps, "for_many_threads", lambda self: False)
    assert laid_out(on_device("strict"), 4) == Layout(1, True, 4)


@pytest.mark.parametrize(
    ("version", "guarded"),
    [("2.4.0", False), ("2.9.1+cu128", False), ("2.10.0", True), ("2.13.0+cpu", True),
     ("3.0.0a0+git12", True)],
)  # fmt: skip
@pytest.mark.torch
def test_older_pytorch_multiplies_in_one_thread_on_a_gpu(version, guarded):
    from banklearn.engines import torch_ops

    assert torch_ops.guards_products(version) is guarded
    ops = on_device("torch").ops
    ops.torch = SimpleNamespace(__version__=version, device=lambda name: SimpleNamespace(type=name))
    for where, many in (("cpu", True), ("cuda", guarded)):
        ops.device = where
        assert ops.for_many_threads() is many


@pytest.mark.parametrize("M", [5, np.uint8(5), np.int32(5)])
def test_frequencies_may_be_counted_by_small_integers(M, cores):
    cores(4)
    rows = np.zeros((2_000_000, 1))
    assert laid_out(on_device("strict", rows, rows[:, 0]), 4, M).at_once == 4
    assert laid_out(on_device("strict", rows, rows[:, 0]), 4, type(M)(100)).at_once == 1


@pytest.mark.parametrize(("chains", "at_once"), [(0.5, 1), (1.5, 1), (2.5, 2), (9.0, 4)])
def test_no_more_chains_than_find_room_on_the_device(chains, at_once, cores, monkeypatch):
    """How many threads they have is the same: these decide on rounding."""
    cores(4)
    engine = on_device("strict")
    for trend, h in (("constant", 1), ("linear", 3)):
        for likelihood in (Gaussian(1.0, 1e-6), Logistic(4)):
            room = chains * engine.bytes_of_chain(5, h, likelihood.tasks)
            monkeypatch.setattr(ArrayOps, "free_bytes", lambda self, room=room: room)
            found = laid_out(engine, 4, trend=trend, likelihood=likelihood)
            assert found == Layout(at_once, True, 1)


@pytest.mark.parametrize(
    ("n_chains", "n_rows", "spread", "wanted"),
    [
        (1, 60, False, Layout(1, True)),
        (1, 20_000, False, Layout(1, True)),
        (2, 60, False, Layout(2, True, team=2)),
        (2, 20_000, False, Layout(2, True, team=2)),
        (3, 60, False, Layout(3, True, team=1)),
        (3, 20_000, False, Layout(1, True)),
        (4, 20_000, False, Layout(4, True)),
        (9, 20_000, False, Layout(4, True)),
        (2, 60, True, Layout(2, False)),
        (4, 60, True, Layout(4, True)),
    ],
)
def test_rows_in_memory(n_chains, n_rows, spread, wanted, cores):
    cores(4)
    engine = MemoryEngine(np.zeros((n_rows, 1)), np.zeros(n_rows))
    assert laid_out(engine, n_chains, spread=spread) == wanted
    assert wanted.engine_of(engine) is engine


@pytest.mark.parametrize(
    ("n_chains", "n_rows", "wanted"),
    [
        (1, 20_000, Layout(1, False)),
        (2, 60, Layout(2, True, team=2)),
        (2, 20_000, Layout(2, True, team=2)),
        (3, 60, Layout(3, True)),
        (3, 20_000, Layout(3, False)),
        (9, 20_000, Layout(9, True)),
    ],
)
def test_chains_on_files_share_reads_and_have_the_threads_of_those_in_memory(
    n_chains, n_rows, wanted, cores
):
    cores(4)
    assert laid_out(ChunkedEngine(lambda: iter(()), n_rows, 1, False), n_chains) == wanted


@pytest.mark.parametrize(("of_blas", "size"), [(1, 1), (4, 1), (7, 1), (8, 2), (64, 4)])
def test_teams_are_no_larger_than_blas_would_be(of_blas, size, cores, monkeypatch):
    """Where several processes share the cores, each is told so by what BLAS may use."""
    cores(16)
    monkeypatch.setattr(layout, "blas_threads", lambda: of_blas)
    engine = MemoryEngine(np.zeros((60, 1)), np.zeros(60))
    assert laid_out(engine, 4) == Layout(4, True, team=size)


@pytest.mark.parametrize(
    ("classes", "gradient_every", "tolerance"), [(0, 0, 1e-9), (3, 0, 1e-9), (0, 2, 1e-3)]
)
def test_chains_with_teams_end_where_others_do(
    classes, gradient_every, tolerance, cores, monkeypatch
):
    """What products are cut into shows in rounding, which trajectories amplify."""
    seen, at_once = set(), blas.at_once
    monkeypatch.setattr(blas, "SHARED", 1)
    monkeypatch.setattr(trig, "_PARALLEL_FROM", 1)
    X = np.random.default_rng(1).standard_normal((300, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * np.random.default_rng(2).standard_normal(300)
    y = np.digitize(y, [-0.5, 0.5]) if classes else y

    def spied(task, arguments):
        seen.add((threads.team_size(), len(arguments)))
        at_once(task, arguments)

    monkeypatch.setattr(blas, "at_once", spied)
    fits = []
    for n_cores, shared in ((2, False), (6, True)):
        cores(n_cores)
        seen.clear()
        model = (BankClassifier if classes else BankRegressor)(
            24, n_chains=2, n_warmup=4, n_draws=4, thin=1, gradient_every=gradient_every,
            gradient_length=2, random_state=0,
        )  # fmt: skip
        fits.append(model.fit(X, y))
        assert {team for team, _ in seen} == ({3} if shared else set())
        assert max((shares for _, shares in seen), default=1) == (3 if shared else 1)
    for one, other in zip(fits[0].draws_, fits[1].draws_, strict=True):
        close(one.W, other.W, tolerance, tolerance)


@pytest.mark.parametrize(("n_chains", "part"), [(1, 1), (3, 1), (4, 2), (np.uint8(7), 3)])
def test_chains_that_wait_for_others_share_the_time(n_chains, part):
    assert Layout(3, True).share(60.0, n_chains) == 60.0 / part


@pytest.mark.parametrize("name", LIBRARIES)
def test_chains_beside_each_other_share_rows_and_no_work_space(name):
    engine = on_device(name)
    assert Layout(1, True).engine_of(engine) is engine
    one, two = (Layout(2, True).engine_of(engine) for _ in range(2))
    assert one.X is two.X is engine.X
    assert len({id(e.ops) for e in (engine, one, two)}) == 3
    W = RNG.standard_normal((3, 2))
    Phi, _ = one.ops.features(one.X, W, "linear", 1.0, "Phi")
    before = one.ops.host(Phi)
    two.ops.features(two.X, -2.0 * W, "linear", 1.0, "Phi")
    np.testing.assert_array_equal(one.ops.host(Phi), before)
    np.testing.assert_array_equal(
        one.ops.host(one.subset(np.arange(7)).X), engine.ops.host(engine.X)[:7]
    )


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("kind", [BankRegressor, BankClassifier])
@pytest.mark.filterwarnings("ignore:The chains have not settled")
def test_chains_on_a_device_are_the_same_side_by_side(name, kind, cores, monkeypatch):
    monkeypatch.setattr(
        base, "make_engine", lambda device, X, y, weight, **_: on_device(name, X[:], y, weight)
    )
    running, most, lock = [0], [0], threading.Lock()
    seen, real = [], run.run_chain

    def counted(engine, model, start, plan, *rest, **options):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
            seen.append((engine.ops, threads.threads(), plan.max_time))
            first = len(seen) <= gate.parties
        if first:
            gate.wait(60.0)
        try:
            return real(engine, model, start, plan, *rest, **options)
        finally:
            with lock:
                running[0] -= 1

    monkeypatch.setattr("banklearn.sampler.job.run_chain", counted)
    y = Y if kind is BankRegressor else (Y > 0).astype(int)
    fits = []
    cores(3)
    for phases, room, at_once, host_threads, spaces in (
        (0, np.inf, 1, 3, 1),
        (2**25, 0.0, 1, 1, 1),
        (2**25, np.inf, 3, 1, 4),
    ):
        most[0] = 0
        seen.clear()
        gate = threading.Barrier(at_once)
        with monkeypatch.context() as patch:
            patch.setattr(layout, "DEVICE_PHASES", phases)
            patch.setattr(type(on_device(name).ops), "free_bytes", lambda self, room=room: room)
            model = kind(
                30, n_chains=4, n_warmup=4, n_draws=2, thin=2, gradient_every=3, gradient_length=2,
                spectral_scale=1.0, trend="linear", input_scaling="none", random_state=0,
                max_time=400.0,
            )  # fmt: skip
            fits.append(model.fit(X, y))
        assert most[0] == at_once
        operations, limits, times = zip(*seen, strict=True)
        assert len({id(ops) for ops in operations}) == spaces
        assert set(limits) == {host_threads}
        waves = -(-4 // at_once)
        assert all(0.9 * 400.0 / waves < given <= 400.0 / waves for given in times)
    _, in_turn, side_by_side = fits
    assert len(in_turn.draws_) == 8
    for a, b in zip(in_turn.draws_, side_by_side.draws_, strict=True):
        np.testing.assert_array_equal(a.W, b.W)
        np.testing.assert_array_equal(a.root, b.root)


CASES = {
    "regression": {},
    "gradient": {"gradient_every": 1},
    "weights": {"gradient_every": 1, "weighted": True},
    "two classes": {"classes": 2, "gradient_every": 1},
    "five classes": {"classes": 5, "gradient_every": 1},
    "many inputs": {"d": 60, "trend": "linear", "gradient_every": 1},
    "few rows": {"N": 200, "M": 96, "gradient_every": 1},
    "few rows, five classes": {"N": 200, "M": 96, "classes": 5},
}


@pytest.mark.torch
@pytest.mark.parametrize("name", CASES)
def test_a_chain_takes_no_more_than_was_reckoned_with(name, monkeypatch):
    from torch.profiler import ProfilerActivity, profile

    how = {"N": 4096, "M": 24, "d": 3, "classes": 0, "weighted": False, "trend": "constant"}
    how |= {"gradient_every": 0, **CASES[name]}
    N, M, d, classes = (how[key] for key in ("N", "M", "d", "classes"))
    X = np.random.default_rng(1).standard_normal((N, d))
    y = np.digitize(X[:, 0], np.linspace(-1, 1, classes - 1)) if classes else X[:, 0]
    made = []

    def make_engine(device, X, y, weight, **_):
        made.append(on_device("torch", X[:], y, weight))
        return made[-1]

    def here(one, n_chains, *_):  # the profiler sees one thread
        return [one(chain, threading.Event()) for chain in range(n_chains)], False

    monkeypatch.setattr(base, "make_engine", make_engine)
    monkeypatch.setattr(base, "run_chains", here)
    model = (BankClassifier if classes else BankRegressor)(
        M, n_chains=1, n_warmup=0, n_draws=2, thin=1, trend=how["trend"], spectral_scale=1.0,
        input_scaling="none", growing_warmup=False, gradient_every=how["gradient_every"],
        gradient_length=1, random_state=0,
    )  # fmt: skip
    weight = np.random.default_rng(2).uniform(1, 3, N) if how["weighted"] else None
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        model.fit(X, y, sample_weight=weight)
    events = [e for e in watched.profiler.kineto_results.events() if e.name() == "[memory]"]
    events.sort(key=lambda e: e.start_ns())
    peak = max(np.cumsum([e.nbytes() for e in events]))
    h = {"constant": 1, "linear": 1 + d}[how["trend"]]
    reckoned = made[0].bytes_of_chain(M, h, max(classes - 1, 1))
    assert 0.15 * reckoned < peak < reckoned


@pytest.mark.parametrize(("n_chains", "wanted"), [(1, 0), (3, 3)])
def test_chains_beside_others_on_a_device_work_apart(n_chains, wanted, cores, monkeypatch):
    """Each in a context that its own operations give it."""
    cores(4)
    entered, inside = [], threading.local()

    @contextmanager
    def apart(self):
        entered.append(self)
        inside.now = True
        yield
        inside.now = False

    def step(*arguments):
        assert getattr(inside, "now", False) == (n_chains > 1)
        return real(*arguments)

    real = sweep.step
    monkeypatch.setattr(ArrayOps, "apart", apart)
    monkeypatch.setattr(sweep, "step", step)
    monkeypatch.setattr(
        base, "make_engine", lambda device, X, y, weight, **_: on_device("strict", X[:], y, weight)
    )
    BankRegressor(3, n_chains=n_chains, n_warmup=1, n_draws=1, random_state=0).fit(X, Y)
    assert len({id(ops) for ops in entered}) == len(entered) == wanted


@pytest.mark.parametrize(("work", "rate"), [(0.01, 1.0), (None, 0.0), (5.0, 0.0)])
def test_where_a_device_says_that_steps_are_cheap_there_are_gradient_moves(work, rate, monkeypatch):
    """Nowhere is a step more work than where its work is that of its products."""
    monkeypatch.setattr(DeviceEngine, "work_of_step", work)
    monkeypatch.setattr(
        base, "make_engine", lambda device, X, y, weight, **_: on_device("strict", X[:], y, weight)
    )
    model = BankRegressor(3, n_chains=1, n_warmup=5, n_draws=1, random_state=0)
    tuning = tuning_of(model, on_device("strict"))
    assert tuning.pace.step == (0.01 if work == 0.01 else STEP)
    assert model.fit(X, Y).schedule_[0]["gradient_rate"] == rate
