"""Trajectories that stay on a device: the density and the path are those of the memory."""

import gc
from dataclasses import replace
from functools import partial
from weakref import ref

import numpy as np
import pytest

from banklearn.engines.device import DeviceEngine
from banklearn.engines.memory import MemoryEngine
from banklearn.gram import BLOCK_ROWS, Frozen, Working
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.generative import draw_state
from banklearn.model.joint import State
from banklearn.model.niw import NIW
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.sampler import gradient
from banklearn.sampler.aloft import Aloft, Point, Resident, Spot
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.target import Target
from helpers import close
from libraries import LIBRARIES, library
from trees import HALVES

KINDS = ["gaussian", "weighted", "binary", "classes", "tree"]
N, M, D = 2 * BLOCK_ROWS + 31, 7, 3


def targets(name, kind, seed=0, hurried=None, dtype="float64", rows=N):
    """The same density in memory and on a device, which sees the rows in three blocks."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, D))
    classes = {"binary": 2, "classes": 3, "tree": 5}.get(kind)
    y = (
        rng.standard_normal(rows)
        if classes is None
        else rng.integers(0, classes, rows).astype(float)
    )
    weight = rng.uniform(0.5, 2.0, rows) if kind == "weighted" else None
    likelihood = (
        Gaussian(1.0, 1e-3) if classes is None else Logistic(HALVES if kind == "tree" else classes)
    )
    prior = Prior(np.zeros(D), 1.0, D + 2.0, np.ones(D))
    state = draw_state(prior, M, rng).with_(lam=0.4)
    state = in_three_components(state, rng)
    beta = None if classes is None else 0.1 * rng.standard_normal((likelihood.tasks, 2 * M + 1))
    working = Frozen(likelihood.working(beta, Streams(seed), 5))
    parts = [likelihood, "constant", prior, state, working, JitterCount()]
    parts += [] if hurried is None else [hurried]
    device = DeviceEngine(X, y, weight, xp=library(name), block_rows=BLOCK_ROWS, dtype=dtype)
    return Target(MemoryEngine(X, y, weight), *parts), Target(device, *parts), state


def in_three_components(state: State, rng) -> State:
    """Components of one, two and four members; the last has none."""
    Z = np.array([0, 1, 1, 2, 2, 2, 2])
    mu, root = rng.standard_normal((4, D)), rng.standard_normal((4, D, D))
    return state.with_(Z=Z, mu=mu, Sigma=root @ root.transpose(0, 2, 1) + np.eye(D))


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [500, N])
def test_heights_and_gradients_are_those_of_the_memory(name, kind, rows):
    """In one block, whose features are there already, and in three."""
    memory, device, state = targets(name, kind, rows=rows)
    aloft, rng = device.along(device.engine), np.random.default_rng(1)
    assert isinstance(aloft, Aloft)
    heights = []
    for _ in range(3):
        W = state.W + 0.3 * rng.standard_normal(state.W.shape)
        expected, seen = memory.sloping(memory.at(W)), aloft.sloping(aloft.at(aloft.there(W)))
        heights.append((expected.place.height, float(seen.place.height)))
        close(aloft.back(seen.slope), expected.slope, 1e-8, 1e-9 * np.abs(expected.slope).max())
        close(aloft.back(seen.pull), expected.pull, 1e-8, 1e-9 * np.abs(expected.pull).max())
        q = rng.standard_normal(W.shape)
        kinetic = float(aloft.energy(seen.place, aloft.there(q))) + heights[-1][1]
        assert kinetic == pytest.approx(0.5 * (q**2).sum(), rel=1e-9)
    close(*np.diff(heights, axis=0).T, 1e-7, 1e-7)


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_prior_is_that_of_every_component(name):
    """With little data, and a base measure that is not the plainest."""
    memory, device, state = targets(name, "gaussian", rows=2)
    base = NIW(np.array([0.5, -1.0, 2.0]), 0.7, np.diag([0.3, 2.0, 1.0]) + 0.2, 6.5)
    memory.base = device.base = base
    aloft = device.along(device.engine)
    heights = []
    for shift in (0.0, 0.4):
        W = state.W + shift * np.arange(M)[:, None]
        place, spot = memory.at(W), aloft.at(aloft.there(W))
        heights.append((place.height, float(spot.height)))
        expected = memory.sloping(place)
        close(aloft.back(spot.prior_pull), expected.pull - expected.slope, 1e-9, 1e-9)
    close(*np.diff(heights, axis=0).T, 1e-9)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [3, 19])
def test_a_move_is_that_of_the_memory(name, kind, length):
    memory, device, state = targets(name, kind)
    tuning = GradientTuning(0.15, length, single=False)
    outcomes = []
    for target in (memory, device):
        here = target.at(state.W)
        outcomes.append(
            gradient.update(state, here.gram, here.solved, target, tuning, np.random.default_rng(4))
        )
    expected, seen = outcomes
    assert seen.probability == pytest.approx(expected.probability, abs=1e-6)
    close(seen.place.W, expected.place.W, 1e-6, 1e-7)
    close(seen.place.gram.in_memory(), expected.place.gram.in_memory(), 1e-6, 1e-6)
    close(seen.seen.squares, expected.seen.squares, 1e-8, 1e-12)
    close(seen.seen.precisions, expected.seen.precisions, 1e-12)
    assert seen.rounding < 1e-6
    assert expected.probability > 0.0


@pytest.mark.torch
def test_a_device_in_single_precision_is_judged_by_its_own_sums():
    """Products are rounded, factors and heights are not."""
    _, device, state = targets("torch", "gaussian", dtype="float32")
    aloft, here = device.along(device.engine), device.at(state.W)
    spot = aloft.at(aloft.there(state.W))
    assert str(spot.height.dtype) == "torch.float64"
    tuning = GradientTuning(0.1, 4, single=False)
    outcome = gradient.update(
        state, here.gram, here.solved, device, tuning, np.random.default_rng(4)
    )
    assert 0.0 < outcome.rounding < 1e-2
    assert outcome.probability > 0.5


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_factor_that_fails_loses_the_path(name):
    _, device, state = targets(name, "gaussian")
    ops = device.engine.ops
    bad = ops.zeros(2, 3, 3) - 1.0
    assert np.isnan(np.diagonal(ops.host(ops.factor(bad)), axis1=1, axis2=2)).all()
    here = device.at(state.W)
    device.lam = -1e12
    outcome = gradient.update(
        state, here.gram, here.solved, device, GradientTuning(0.1, 12), np.random.default_rng(4)
    )
    assert outcome.place.W is state.W
    assert outcome.probability == 0.0
    assert np.isnan(outcome.rounding)
    assert not outcome.seen.is_finite


@pytest.mark.parametrize("name", LIBRARIES)
def test_factors_are_factors_and_nan_where_there_is_none(name):
    _, device, _ = targets(name, "gaussian")
    ops = device.engine.ops
    good = np.array([[4.0, 2.0], [2.0, 3.0]])
    L = ops.factor(ops.zeros(2, 2) + ops.array(good), 0.5)
    close(ops.host(L), np.linalg.cholesky(good + 0.5 * np.eye(2)), 1e-12)
    close(ops.host(ops.inverse_factor(L)), np.linalg.inv(ops.host(L)), 1e-12)
    both = np.stack([good, -good])
    L = ops.host(ops.factor(ops.zeros(2, 2, 2) + ops.array(both)))
    assert np.isnan(np.diagonal(L[1])).all()
    if name == "torch":
        close(L[0], np.linalg.cholesky(good), 1e-12)


@pytest.mark.parametrize("name", LIBRARIES)
def test_nobody_waits_for_a_step_and_time_is_asked_for_at_every_one(name, monkeypatch):
    """Energies are read after every eighth step and the last; what is asked then knows its time."""
    asked, read = [], []
    _, device, state = targets(name, "gaussian", hurried=lambda ahead: asked.append(ahead))
    here, energy = device.at(state.W), Aloft.energy

    class Read:
        def __init__(self, value):
            self.value = value

        def __add__(self, other):
            return self

        def __float__(self):
            read.append(len(asked))
            return float(self.value)

    monkeypatch.setattr(Aloft, "energy", lambda *a: Read(energy(*a)))
    tuning = GradientTuning(0.05, 19)
    outcome = gradient.update(
        state, here.gram, here.solved, device, tuning, np.random.default_rng(4)
    )
    assert outcome.probability > 0.5
    assert len(asked) == 19
    assert read == [0] + 8 * [8] + 8 * [16] + 3 * [19]
    assert asked[:8] == 8 * [0.0]
    assert all(ahead > 0.0 for ahead in asked[8:])
    assert asked[8] / 11 == pytest.approx(asked[15] / 4)


def test_a_path_without_time_is_left_out():
    _, device, state = targets("strict", "gaussian", hurried=lambda ahead: ahead > 0.0)
    here = device.at(state.W)
    update = [state, here.gram, here.solved, device]
    rng = np.random.default_rng
    assert gradient.update(*update, GradientTuning(0.05, 9), rng(4)) is None
    assert gradient.update(*update, GradientTuning(0.05, 8), rng(4)) is not None


def test_a_lost_path_is_not_followed_further_than_the_next_look(monkeypatch):
    _, device, state = targets("strict", "gaussian")
    here, at, asked = device.at(state.W), Aloft.at, []

    def counted(self, W):
        asked.append(1)
        spot = at(self, W)
        return replace(spot, height=spot.height - 2e3) if len(asked) == 4 else spot

    monkeypatch.setattr(Aloft, "at", counted)
    outcome = gradient.update(
        state, here.gram, here.solved, device, GradientTuning(0.05, 40), np.random.default_rng(4)
    )
    assert outcome.probability == 0.0
    assert np.isnan(outcome.rounding)
    assert len(asked) == 1 + 8


def test_energies_are_those_of_their_own_steps(monkeypatch):
    """What a recorded step returns is overwritten by the next; a lost path is seen all the same."""
    _, device, state = targets("strict", "gaussian")
    here, ops, energy = device.at(state.W), device.engine.ops, Aloft.energy
    made, lowered = [], []

    def repeated(leap):
        def step(*values):
            point, q, height = leap(*values)
            if not made:
                made.append(height)
            made[0][...] = height
            return point, q, made[0]

        return step

    def sinking(self, place, q):
        lowered.append(1)
        return energy(self, place, q) + (2e3 if len(lowered) == 4 else 0.0)

    monkeypatch.setattr(ops, "repeated", repeated, raising=False)
    monkeypatch.setattr(ops, "repeats", True, raising=False)
    update = [state, here.gram, here.solved, device, GradientTuning(0.05, 8)]
    assert gradient.update(*update, np.random.default_rng(4)).probability > 0.5
    monkeypatch.setattr(Aloft, "energy", sinking)
    assert gradient.update(*update, np.random.default_rng(4)).probability == 0.0


@pytest.mark.parametrize(
    ("kind", "lanes", "length", "records"),
    [
        ("gaussian", 1, 4, True),
        ("gaussian", 1, 3, False),
        ("gaussian", 2, 4, False),
        ("classes", 1, 4, False),
    ],
)
def test_short_steps_that_need_no_memory_are_recorded(kind, lanes, length, records, monkeypatch):
    """Where arrays follow the standard alone, sums over some of the rows need it."""
    monkeypatch.setattr(DeviceEngine, "lanes_at_work", lanes)
    _, device, state = targets("strict", kind)
    asked, ops = [], device.engine.ops
    monkeypatch.setattr(ops, "repeated", lambda leap: asked.append(leap) or leap, raising=False)
    device.along(device.engine).start(state.W, length)
    assert not asked
    monkeypatch.setattr(ops, "repeats", True, raising=False)
    aloft = device.along(device.engine)
    aloft.start(state.W, length)
    assert len(asked) == records
    assert isinstance(aloft.again(length), partial) != records
    assert aloft.steps_between_looks == (8 if lanes == 1 else 1)


MANY = 20


def other(target, state, seed, K):
    """The density of another sweep on the same engine: components, lam, base and row weights."""
    rng = np.random.default_rng(seed)
    Z = np.sort(np.r_[np.arange(K), rng.integers(0, K, MANY - K)])
    mu, root = rng.standard_normal((K, D)), rng.standard_normal((K, D, D))
    Sigma = root @ root.transpose(0, 2, 1) + np.eye(D)
    state = state.with_(
        W=rng.standard_normal((MANY, D)), Z=Z, mu=mu, Sigma=Sigma, lam=rng.uniform(0.2, 0.9),
        psi=rng.uniform(0.5, 2.0, D),
    )  # fmt: skip
    likelihood = target.likelihood
    beta = rng.standard_normal((likelihood.tasks, 2 * MANY + 1))
    working = Frozen(likelihood.working(beta, Streams(seed), 5))
    parts = [likelihood, "constant", target.prior, state, working, JitterCount()]
    return Target(target.engine, *parts), state


def moved(target, state, tuning):
    """What one move makes of it."""
    here = target.at(state.W)
    rng = np.random.default_rng(4)
    return gradient.update(state, here.gram, here.solved, target, tuning, rng)


def moves_in_turn(memory, device, state, length, numbers=(3, 12, 3, 17, 12, 5, 1)):
    """Moves of sweeps with so many components: those of a device are those of the memory."""
    tuning = GradientTuning(0.1, length, single=False)
    for seed, K in enumerate(numbers):
        pairs = [other(target, state, seed, K) for target in (memory, device)]
        expected, seen = (moved(target, at, tuning) for target, at in pairs)
        assert expected.probability > 0.0
        assert seen.probability == pytest.approx(expected.probability, abs=1e-6)
        close(seen.place.W, expected.place.W, 1e-6, 1e-7)
        close(seen.seen.squares, expected.seen.squares, 1e-7, 1e-10)
        assert seen.rounding < 1e-6
        yield pairs[1][0]


class Overwritten:
    """A record whose results take the place of those before, as a GPU's do; arguments are copied.

    trace makes of a function of arrays one that does the same again.
    """

    def __init__(self, function, log, trace=lambda function, *_: function):
        self.log, self.results, self.again = log, None, None
        self.trace, self.function = trace, function

    def flat(self, *values):
        point, q, energy = self.function(*values)
        return point.place.W, point.place.height, point.slope, point.pull, q, energy

    def __call__(self, *values):
        values = [value + 0.0 for value in values]
        if self.again is None:
            self.again = self.trace(self.flat, *values)
        self.log.append(self)
        results = self.again(*values)
        if self.results is None:
            self.results = [result + 0.0 for result in results]
        for mine, result in zip(self.results, results, strict=True):
            mine[...] = result
        W, height, slope, pull, q, energy = self.results
        return Point(Spot(W, height, (), (), None, None), slope, pull), q, energy


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("kind", KINDS)
def test_moves_of_other_sweeps_are_those_of_the_memory(name, kind):
    memory, device, state = targets(name, kind, rows=500)
    for _ in moves_in_turn(memory, device, state, 4):
        assert not device.engine.paths


@pytest.mark.parametrize("kind", ["gaussian", "weighted", "binary"])
def test_repeated_moves_of_other_sweeps_are_those_of_the_memory(kind, monkeypatch):
    memory, device, state = targets("strict", kind, rows=500)
    log, ops = [], device.engine.ops
    monkeypatch.setattr(ops, "repeats", True, raising=False)
    make = lambda function: Overwritten(function, log)  # noqa: E731
    monkeypatch.setattr(ops, "repeated", make, raising=False)
    paths = [target.along(device.engine) for target in moves_in_turn(memory, device, state, 4)]
    assert len(log) == 7 * (1 + 4)
    # One record for up to 8 components, one for up to 16, one for up to 24.
    assert len(set(map(id, log))) == len(set(map(id, paths))) == 3
    assert [path.K for path in paths] == [8, 16, 8, 24, 16, 8, 8]


@pytest.mark.torch
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_record_serves_the_moves_of_other_sweeps(kind, dtype, monkeypatch):
    """What differs between sweeps lies where the record looks for it.

    What stands for a CUDA graph: the kernels that a step led to, on the tensors that it found.
    """
    from torch.fx.experimental.proxy_tensor import make_fx

    memory, device, state = targets("torch", kind, rows=500, dtype=dtype)
    log, ops = [], device.engine.ops
    if dtype == "float32":
        memory = targets("torch", kind, rows=500, dtype=dtype)[1]
    monkeypatch.setattr(ops, "repeats", True)
    trace = lambda function, *values: make_fx(function)(*values)  # noqa: E731
    monkeypatch.setattr(ops, "repeated", lambda function: Overwritten(function, log, trace))
    if dtype == "float64":
        list(moves_in_turn(memory, device, state, 5))
        assert len(set(map(id, log))) == 3
        assert len(log) == 7 * (1 + 5)
        return
    tuning = GradientTuning(0.05, 5, single=False)
    for seed, K in enumerate((3, 12, 3)):
        both = [moved(*other(target, state, seed, K), tuning) for target in (memory, device)]
        np.testing.assert_array_equal(both[0].place.W, both[1].place.W)
        assert both[0].probability == both[1].probability
    assert len(log) == 3 * 6


@pytest.mark.parametrize("name", LIBRARIES)
def test_paths_are_kept_for_kinds_that_were_needed_last(name, monkeypatch):
    _, device, state = targets(name, "gaussian")
    engine, device = device.engine, other(device, state, 0, 1)[0]
    monkeypatch.setattr(engine.ops, "repeats", True, raising=False)

    def of(K, trend="constant"):
        device.members, device.trend = np.array_split(np.arange(MANY), K), trend
        return device.along(engine)

    assert engine.paths == {}
    first, second = of(1), of(9)
    assert first is not second
    assert of(8) is first
    assert of(16) is second
    kinds = [of(1, "none"), of(17)]
    assert of(2) is first
    fifth = of(1, "linear")
    assert list(engine.paths.values()) == [*kinds, first, fifth]
    assert engine.beside().paths == {}
    assert len(engine.paths) == 4
    device.likelihood = Gaussian(1.0, 1e-3)
    assert of(1) is not first
    device.members = [np.arange(MANY - 1)]
    assert device.along(engine).shape == (MANY - 1, D)


@pytest.mark.parametrize("name", LIBRARIES)
def test_row_weights_of_another_sweep_are_written_to_nobody_elses_memory(name):
    _, device, _ = targets(name, "binary", rows=40)
    resident, (block, *_) = Resident(device.engine.ops, False), device.engine.blocks()
    given = [Working(np.full(40, a), np.full(40, -a), 0.0, 40.0) for a in (1.0, 2.0)]
    for work in given:
        resident.settle(lambda block, latent, work=work: [work])
        assert not resident.all_there
        (there,) = resident(block, None)
        assert resident.all_there
        for part, expected in ((there.A, work.A), (there.At, work.At)):
            np.testing.assert_array_equal(device.engine.ops.host(part), expected)
    assert (given[0].A == 1.0).all()
    assert (given[0].At == -1.0).all()


def test_a_path_is_asked_for_time_of_its_own_move(monkeypatch):
    _, device, state = targets("strict", "gaussian", hurried=lambda ahead: False)
    monkeypatch.setattr(device.engine.ops, "repeats", True, raising=False)
    monkeypatch.setattr(device.engine.ops, "repeated", lambda leap: leap, raising=False)
    assert moved(device, state, GradientTuning(0.1, 4)) is not None
    device.hurried = lambda ahead: True
    assert moved(device, state, GradientTuning(0.1, 4)) is None
    assert len(device.engine.paths) == 1


class Forgets:
    """A record that, once made, does not know what it was made of."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *values):
        point, q, energy = self.function(*values)
        self.function = lambda *values: (point, q, energy)
        return point, q, energy


@pytest.mark.parametrize("kind", ["gaussian", "binary"])
def test_a_recorded_trajectory_begins_without_another_pass(kind, monkeypatch):
    """Row weights of another sweep are brought, and nothing else is computed beside the record."""
    _, device, state = targets("strict", kind)
    monkeypatch.setattr(device.engine.ops, "repeats", True, raising=False)
    monkeypatch.setattr(device.engine.ops, "repeated", Forgets, raising=False)
    passes, at = [], Aloft.at
    monkeypatch.setattr(Aloft, "at", lambda self, W: passes.append(W) or at(self, W))
    for seed in range(3):
        target, other_state = other(device, state, seed, 3)
        aloft = target.along(device.engine)
        aloft.start(other_state.W, 8)
        assert aloft.working.all_there
        assert len(passes) == 2  # as it is, and to record it


@pytest.mark.parametrize("repeats", [False, True])
def test_a_path_keeps_no_row_weights_in_memory(repeats, monkeypatch):
    _, device, state = targets("strict", "binary")
    monkeypatch.setattr(device.engine.ops, "repeats", repeats, raising=False)
    monkeypatch.setattr(device.engine.ops, "repeated", Forgets, raising=False)
    target, state = other(device, state, 0, 3)
    working, aloft = ref(target.working), target.along(device.engine)
    aloft.start(state.W, 8)
    del target
    gc.collect()
    assert working() is None
    block = replace(next(iter(device.engine.blocks())), start=1)
    with pytest.raises(RuntimeError, match="rows from 1 on"):
        aloft.working(block, None)


def test_a_record_keeps_no_matrices(monkeypatch):
    """Those of the end of a step were needed for its gradient alone."""
    _, device, state = targets("strict", "binary")
    kept = []

    def recorded(function):
        return lambda *values: kept.append(function(*values)) or kept[-1]

    monkeypatch.setattr(device.engine.ops, "repeats", True, raising=False)
    monkeypatch.setattr(device.engine.ops, "repeated", recorded, raising=False)
    point = device.along(device.engine).start(state.W, 8)
    ((found, _, _),) = kept
    assert found is point
    place = found.place
    assert (place.inverse, place.mu_n, place.c, place.prior_pull) == ((), (), None, None)
    close(device.engine.ops.host(place.W), state.W, 0.0)
    assert np.isfinite(float(place.height))


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("fails", [False, True])
def test_an_engine_that_nobody_needs_takes_its_paths_with_it(late, fails, monkeypatch):
    """Its memory is a GPU's: nobody can wait until Python looks for circles."""
    _, device, state = targets("strict", "gaussian", hurried=lambda ahead: late)
    ops = device.engine.ops
    monkeypatch.setattr(ops, "repeats", True, raising=False)

    def failing(function):
        ops.repeats = False
        return function

    monkeypatch.setattr(ops, "repeated", failing if fails else Forgets, raising=False)
    outcome = moved(device, state, GradientTuning(0.1, 4))
    assert (outcome is None) == late
    path = ref(next(iter(device.engine.paths.values())))
    del outcome
    monkeypatch.undo()
    gc.disable()
    try:
        assert path() is not None
        del device
        assert path() is None
    finally:
        gc.enable()


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["classes", "tree"])
def test_with_pytorch_no_class_needs_memory(kind, monkeypatch):
    _, device, state = targets("torch", kind)
    aloft = device.along(device.engine)
    start = aloft.start(state.W, 9)
    assert aloft.working.all_there
    monkeypatch.setattr(aloft.ops, "host", None)
    monkeypatch.setattr(Resident, "_move", None)
    q = aloft.there(np.ones(state.W.shape))
    assert gradient.trajectory(aloft, start, q, aloft.there(np.eye(D)), 1e-3, 9) is not None


@pytest.mark.parametrize("name", LIBRARIES)
def test_what_the_target_factors_with_jitter_has_a_path(name):
    """Equal frequencies and next to no lam: their columns are the same."""
    _, device, state = targets(name, "gaussian")
    state = state.with_(W=np.repeat(state.W[:1], M, axis=0))
    device.lam = 1e-18
    aloft = device.along(device.engine)
    spot = aloft.at(aloft.there(state.W))
    assert np.isfinite(float(spot.height))
    assert np.isfinite(aloft.back(aloft.sloping(spot).pull)).all()
