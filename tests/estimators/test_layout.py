"""How chains share the machine: side by side where that helps, with work space of their own."""

import threading

import array_api_strict
import numpy as np
import pytest

from banklearn import BankClassifier, BankRegressor
from banklearn.engines.device import DeviceEngine
from banklearn.engines.memory import MemoryEngine
from banklearn.estimators import base, layout
from banklearn.estimators.layout import Layout, lay_out
from banklearn.sampler import run

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(60)
LIBRARIES = ["strict", pytest.param("torch", marks=pytest.mark.torch)]


def on_device(name, X=X, y=Y, weight=None):
    if name == "strict":
        return DeviceEngine(X, y, weight, xp=array_api_strict)
    from array_api_compat import torch

    return DeviceEngine(X, y, weight, xp=torch)


@pytest.fixture
def cores(monkeypatch):
    """Say how many cores there are."""

    def there_are(count):
        for module in (layout, run):
            monkeypatch.setattr(module, "available_cores", lambda: count)

    return there_are


@pytest.mark.parametrize(
    ("n_chains", "n_cores", "wanted"),
    [
        (4, 1, Layout(1, True, 1)),
        (4, 2, Layout(2, True, 2)),
        (2, 8, Layout(2, True, 4)),
        (1, 8, Layout(1, True, 4)),
    ],
)
def test_a_device_that_waits_serves_as_many_chains_as_there_are_cores(
    n_chains, n_cores, wanted, cores
):
    cores(n_cores)
    assert lay_out(on_device("strict"), n_chains, 5, False) == wanted


def test_a_device_that_is_busy_serves_one_chain(cores, monkeypatch):
    cores(8)
    monkeypatch.setattr(layout, "DEVICE_PHASES", 60 * 5)
    assert lay_out(on_device("strict"), 4, 5, False).at_once == 4
    assert lay_out(on_device("strict"), 4, 6, False).at_once == 1


@pytest.mark.parametrize(
    ("n_chains", "n_rows", "spread", "wanted"),
    [
        (2, 60, False, Layout(2, True)),
        (2, 20_000, False, Layout(1, True)),
        (4, 20_000, False, Layout(4, True)),
        (2, 60, True, Layout(2, False)),
        (4, 60, True, Layout(4, True)),
    ],
)
def test_rows_in_memory(n_chains, n_rows, spread, wanted, cores):
    cores(4)
    engine = MemoryEngine(np.zeros((n_rows, 1)), np.zeros(n_rows))
    assert lay_out(engine, n_chains, 5, spread) == wanted
    assert wanted.engine_of(engine) is engine


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
    real = run.run_chain

    def counted(*arguments, **options):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        try:
            return real(*arguments, **options)
        finally:
            with lock:
                running[0] -= 1

    monkeypatch.setattr("banklearn.sampler.job.run_chain", counted)
    y = Y if kind is BankRegressor else (Y > 0).astype(int)
    fits = []
    for n_cores in (1, 3):
        cores(n_cores)
        most[0] = 0
        model = kind(
            30, n_chains=3, n_warmup=8, n_draws=4, gradient_every=3, gradient_length=2,
            random_state=0,
        )  # fmt: skip
        fits.append(model.fit(X, y))
        assert most[0] == n_cores
    one, three = fits
    assert len(one.draws_) == 12
    for a, b in zip(one.draws_, three.draws_, strict=True):
        np.testing.assert_array_equal(a.W, b.W)
        np.testing.assert_array_equal(a.root, b.root)
