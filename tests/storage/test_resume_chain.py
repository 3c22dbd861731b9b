"""A chain stopped after any sweep and resumed from its file ends with the same bits."""

import dataclasses
import importlib.util
import threading
from dataclasses import replace

import numpy as np
import pytest

from banklearn.engines.device import DeviceEngine
from banklearn.engines.memory import MemoryEngine
from banklearn.numerics.streams import Purpose, Streams
from banklearn.posterior.draws import classification_draw, regression_draw, weights_draw
from banklearn.sampler import joint_move, sweep
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.run import Plan, run_chain
from banklearn.sampler.schedule import Pace
from banklearn.sampler.sweep import Model, Tuning
from banklearn.storage.checkpoint import Identity, Shelf, file_name, write_chain
from banklearn.storage.fingerprint import Fingerprint
from helpers import make_problem
from trees import make_classes

IDENTITY = Identity("0", "test", 1, {}, {})
GRADIENTS = Tuning(gradient_every=2, gradient=GradientTuning(length=2))
PACED = replace(GRADIENTS, gradient_every=0, pace=Pace())
FURTHER = replace(GRADIENTS, gradient_every=1, gradient=GradientTuning(length=6, reach=1))
ALL_MOVES = replace(GRADIENTS, moves=Moves(switch=0.5), interweave_every=2)
NEVER = float("inf")  # but at the end
STAGES = ((15, 3), (25, 2), (40, 2))


class Killed(BaseException):
    """Stands for whatever ends a process without asking it."""


def regression(weighted=False):
    problem = make_problem(0, N=40, M=5, trend="linear", weighted=weighted)
    return problem, Model(problem.prior, problem.gaussian, problem.trend), regression_draw, sweep


def classes(C, kernel=sweep, weighted=False):
    problem = make_classes(1, N=40, M=5, C=C, trend="constant", weighted=weighted)
    keep = weights_draw if kernel is joint_move else classification_draw
    return problem, problem.model, keep, kernel


CASES = {
    "regression": (regression, (), Tuning()),
    "regression, weights, gradients": (regression, (True,), GRADIENTS),
    "regression, all moves": (regression, (), ALL_MOVES),
    "regression, gradients at a pace": (regression, (), PACED),
    "regression, gradients that go further": (regression, (), FURTHER),
    "regression, at once": (regression, (), Tuning(scheme="at-once")),
    "two classes": (classes, (2,), Tuning()),
    "two classes, gradients": (classes, (2,), GRADIENTS),
    "two classes, gradients at a pace": (classes, (2,), PACED),
    "three classes, all moves": (classes, (3,), ALL_MOVES),
    "three classes, weights": (classes, (3, sweep, True), Tuning()),
    "five classes, all moves": (classes, (5,), ALL_MOVES),
    "two classes, Laplace": (classes, (2, joint_move), Tuning()),
    "three classes, Laplace": (classes, (3, joint_move, True), Tuning()),
    "five classes, Laplace": (classes, (5, joint_move, True), Tuning()),
}


def run(case, plan, shelf=None, kill_after=None, engine=None, stop=None):
    make, arguments, tuning = CASES[case]
    problem, model, keep, kernel = make(*arguments)
    streams = Streams(7)

    def kept(chain, sweep):
        return keep(chain, model.prior, 0, sweep, streams.at(Purpose.PREDICT, sweep))

    seen = []

    def monitor(chain, sweep, plan, info):
        seen.append(sweep)
        if len(seen) == kill_after:
            raise Killed

    bookmark = None if shelf is None else shelf.chain(0)
    return run_chain(
        engine or problem.engine(),
        model,
        problem.state,
        plan,
        streams,
        kept,
        tuning,
        kernel,
        monitor,
        stop,
        bookmark,
    )


def bits(value):
    """A value with all its numbers as bytes."""
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value) if f.name != "link"]
        return {name: bits(getattr(value, name)) for name in names}
    if isinstance(value, list | tuple):
        return [bits(v) for v in value]
    return value if value is None else (np.asarray(value).tobytes(), np.shape(value))


class AllKept(Shelf):
    """Keeps the checkpoint of every sweep, each in a folder of its own."""

    def write(self, chain, stored):
        folder = self.folder / str(len(stored.trace))
        folder.mkdir(exist_ok=True)
        write_chain(folder / file_name(chain), self.identity, stored)


@pytest.mark.parametrize("case", CASES)
def test_killed_after_every_sweep(case, tmp_path):
    plan = Plan(7, 2, thin=2, stages=STAGES)
    whole = bits(run(case, plan))
    assert bits(run(case, plan, AllKept(IDENTITY, tmp_path))) == whole
    for k in range(1, plan.n_sweeps + 1):
        resumed = Shelf(IDENTITY, tmp_path / str(k), NEVER, resume=True)
        assert resumed.known[0].sweep == k
        assert bits(run(case, plan, resumed)) == whole, k


@pytest.mark.parametrize("case", ["regression, weights, gradients", "three classes, weights"])
def test_killed_again_and_again(case, tmp_path):
    plan = Plan(7, 4, stages=STAGES)
    for _ in range(plan.n_sweeps):
        with pytest.raises(Killed):
            run(case, plan, Shelf(IDENTITY, tmp_path, resume=True), kill_after=1)
    assert len(list(tmp_path.iterdir())) == 1
    again = run(case, plan, Shelf(IDENTITY, tmp_path, resume=True))
    assert bits(again) == bits(run(case, plan))


@pytest.mark.parametrize("case", ["regression", "two classes", "two classes, Laplace"])
@pytest.mark.parametrize("when", [0, 1, 3, 7, 8, 10])
def test_stopped_and_resumed(case, when, tmp_path):
    """Stopped as by Ctrl-C: the chain rounds off what it has, the checkpoint does not."""
    plan = Plan(7, 2, thin=2, stages=STAGES)
    stop = threading.Event()

    class StopsLater(Shelf):
        def write(self, chain, stored):
            super().write(chain, stored)
            if len(stored.trace) >= when:
                stop.set()

    if when == 0:
        stop.set()
    stopped = run(case, plan, StopsLater(IDENTITY, tmp_path), stop=stop)
    assert len(stopped.draws) >= 1
    assert len(stopped.trace) == when if when < plan.n_sweeps else plan.n_sweeps
    assert bits(run(case, plan, Shelf(IDENTITY, tmp_path, resume=True))) == bits(run(case, plan))


@pytest.mark.parametrize("n", [1, 4095, 4096, 9000])
def test_the_fingerprint_knows_rows_and_their_order_but_not_the_blocks(n):
    rng = np.random.default_rng(0)
    X, y, w = rng.standard_normal((n, 3)), rng.standard_normal(n), rng.random(n)

    def of(X, y, w, rows=4096):
        return MemoryEngine(X, y, w, rows).sum(Fingerprint())

    whole = of(X, y, w)
    assert {len(word) for word in whole.values()} == {32}
    for rows in (1000, 8192):
        assert of(X, y, w, rows) == whole
    turned = of(X[::-1], y[::-1], w)
    assert (turned != whole) == (n > 1)
    for part, name in ((X, "values of X"), (y, "values of y"), (w, "sample weights")):
        for row in (0, n - 1):
            before = part[row].copy()
            part[row] = np.nextafter(part[row], 9)
            assert {k for k, v in of(X, y, w).items() if v != whole[k]} == {name}
            part[row] = before


@pytest.mark.parametrize("case", ["regression", "three classes, Laplace"])
def test_more_draws_later(case, tmp_path):
    short, long = Plan(3, 2, thin=2), Plan(3, 5, thin=2)
    shelf = Shelf(IDENTITY, tmp_path)
    run(case, short, shelf)
    whole = bits(run(case, long))
    assert bits(run(case, long, Shelf(IDENTITY, memory=shelf.memory))) == whole
    assert bits(run(case, long, Shelf(IDENTITY, tmp_path, resume=True))) == whole


def test_time_runs_out_and_the_fit_goes_on_later(tmp_path):
    """The draw that rounds off a chain out of time is not part of its checkpoint."""
    plan = Plan(0, 4, thin=3)
    short = dataclasses.replace(plan, max_time=1e-9)
    first = run("regression", short, Shelf(IDENTITY, tmp_path))
    assert (first.cut, len(first.draws), len(first.trace)) == ("time", 1, 1)
    second = run("regression", plan, Shelf(IDENTITY, tmp_path, resume=True))
    assert bits(second) == bits(run("regression", plan))


@pytest.mark.parametrize("case", ["regression", "two classes", "three classes, weights"])
def test_a_chain_without_time_for_another_sweep_rounds_off_as_before(case, tmp_path):
    """Its draw has the factors of the last sweep, also when these come from the checkpoint."""
    plan = Plan(0, 4, thin=3, max_time=1e-9)
    first = run(case, plan, Shelf(IDENTITY, tmp_path))
    second = run(case, plan, Shelf(IDENTITY, tmp_path, resume=True))
    assert len(first.trace) == len(second.trace) == 1
    assert bits(second.draws) == bits(first.draws)


@pytest.mark.parametrize(
    "library",
    ["array_api_strict", pytest.param("torch", marks=pytest.mark.torch)],
)
@pytest.mark.parametrize("case", ["regression, weights, gradients", "three classes, weights"])
def test_the_device_engine_resumes_too(case, library, tmp_path):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    if library == "torch":
        from array_api_compat import torch as xp
    else:
        import array_api_strict as xp
    make, arguments, _ = CASES[case]
    problem = make(*arguments)[0]

    def engine():
        return DeviceEngine(problem.X, problem.y, problem.weight, xp=xp)

    plan = Plan(3, 2, stages=((15, 1), (40, 2)))
    whole = bits(run(case, plan, AllKept(IDENTITY, tmp_path), engine=engine()))
    for k in (1, 3, 4):
        shelf = Shelf(IDENTITY, tmp_path / str(k), NEVER, resume=True)
        assert bits(run(case, plan, shelf, engine=engine())) == whole, k
