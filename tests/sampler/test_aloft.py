"""Trajectories that stay on a device: the density and the path are those of the memory."""

import gc
from dataclasses import replace
from weakref import ref

import numpy as np
import pytest

from banklearn.engines.device import DeviceEngine
from banklearn.engines.memory import MemoryEngine
from banklearn.gram import BLOCK_ROWS, Frozen
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.generative import draw_state
from banklearn.model.joint import State
from banklearn.model.niw import NIW
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.sampler import gradient
from banklearn.sampler.aloft import Aloft, Point, Spot
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
    aloft, asked = device.along(device.engine), []
    aloft.sloping(aloft.at(aloft.there(state.W)))
    monkeypatch.setattr(
        aloft.ops, "repeated", lambda leap: asked.append(leap) or leap, raising=False
    )
    assert aloft.again(max, length) is max
    monkeypatch.setattr(aloft.ops, "repeats", True, raising=False)
    leap = lambda *values: values  # noqa: E731
    step = aloft.again(leap, length)
    assert (asked == [leap]) == records == (step is not leap)
    assert aloft.steps_between_looks == (8 if lanes == 1 else 1)


def other(target, state, seed, K):
    """The density of another sweep on the same engine: components, lam, base and row weights."""
    rng = np.random.default_rng(seed)
    Z = np.sort(np.r_[np.arange(K), rng.integers(0, K, M - K)])
    mu, root = rng.standard_normal((K, D)), rng.standard_normal((K, D, D))
    Sigma = root @ root.transpose(0, 2, 1) + np.eye(D)
    state = state.with_(
        W=rng.standard_normal((M, D)), Z=Z, mu=mu, Sigma=Sigma, lam=rng.uniform(0.2, 0.9),
        psi=rng.uniform(0.5, 2.0, D),
    )  # fmt: skip
    likelihood = target.likelihood
    beta = rng.standard_normal((likelihood.tasks, 2 * M + 1))
    working = Frozen(likelihood.working(beta, Streams(seed), 5))
    parts = [likelihood, "constant", target.prior, state, working, JitterCount()]
    return Target(target.engine, *parts), state


def moved(target, state, tuning):
    """What one move makes of it."""
    here = target.at(state.W)
    rng = np.random.default_rng(4)
    return gradient.update(state, here.gram, here.solved, target, tuning, rng)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("kind", KINDS)
def test_moves_of_other_sweeps_are_those_of_the_memory(name, kind):
    """One path serves them all, however many components there are; short ones and long ones."""
    memory, device, state = targets(name, kind, rows=500)
    paths, tuning = [], GradientTuning(0.15, 4, single=False)
    for seed, K in enumerate((3, 1, 5, 3)):
        pairs = [other(target, state, seed, K) for target in (memory, device)]
        expected, seen = (moved(target, at, tuning) for target, at in pairs)
        assert expected.probability > 0.0
        assert seen.probability == pytest.approx(expected.probability, abs=1e-6)
        close(seen.place.W, expected.place.W, 1e-6, 1e-7)
        paths.append(pairs[1][0].along(device.engine))
    assert all(path is paths[0] for path in paths)


class Traced:
    """Stands for a CUDA graph: the kernels that a step led to, on the tensors that it found."""

    def __init__(self, function, log):
        self.function, self.log, self.graph = function, log, None

    def __call__(self, *values):
        from torch.fx.experimental.proxy_tensor import make_fx

        def flat(*inputs):
            point, q, energy = self.function(*inputs)
            return point.place.W, point.place.height, point.slope, point.pull, q, energy

        if self.graph is None:
            self.graph = make_fx(flat)(*values)
        self.log.append(self)
        W, height, slope, pull, q, energy = self.graph(*values)
        return Point(Spot(W, height, (), (), None, None), slope, pull), q, energy


@pytest.mark.torch
@pytest.mark.parametrize("kind", KINDS)
def test_a_record_serves_the_moves_of_other_sweeps(kind, monkeypatch):
    """What differs between sweeps lies where the record looks for it."""
    memory, device, state = targets("torch", kind, rows=500)
    log, ops = [], device.engine.ops
    monkeypatch.setattr(ops, "repeats", True)
    monkeypatch.setattr(ops, "repeated", lambda function: Traced(function, log))
    tuning = GradientTuning(0.15, 5, single=False)
    for seed, K in enumerate((3, 1, 5, 3)):
        pairs = [other(target, state, seed, K) for target in (memory, device)]
        expected, seen = (moved(target, at, tuning) for target, at in pairs)
        assert expected.probability > 0.0
        assert seen.probability == pytest.approx(expected.probability, abs=1e-6)
        close(seen.place.W, expected.place.W, 1e-6, 1e-7)
        close(seen.seen.squares, expected.seen.squares, 1e-7, 1e-10)
        assert seen.rounding < 1e-6
    assert len(set(map(id, log))) == 1
    # Row weights of a classifier have to be moved before a record may start with them.
    starts = 3 if memory.likelihood.fixed_weights else 0
    assert len(log) == 4 * 5 + starts


@pytest.mark.parametrize("name", LIBRARIES)
def test_paths_are_kept_for_sizes_that_were_needed_last(name):
    _, device, _ = targets(name, "gaussian")
    engine = device.engine
    assert engine.paths == {}
    first = device.along(engine)
    assert device.along(engine) is first
    device.members = [np.array([j]) for j in range(M)]
    assert device.along(engine) is first
    device.trend = "none"
    second = device.along(engine)
    assert second is not first
    assert list(engine.paths.values()) == [first, second]
    device.trend = "linear"
    third = device.along(engine)
    assert list(engine.paths.values()) == [second, third]
    assert engine.beside().paths == {}
    assert list(engine.paths.values()) == [second, third]


def test_an_engine_that_nobody_needs_takes_its_paths_with_it():
    """Its memory is a GPU's: nobody can wait until Python looks for circles."""
    _, device, state = targets("strict", "gaussian")
    moved(device, state, GradientTuning(0.1, 4))
    path = ref(next(iter(device.engine.paths.values())))
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
    start = aloft.sloping(aloft.at(aloft.there(state.W)))
    assert aloft.working.all_there
    monkeypatch.setattr(aloft.ops, "host", None)
    monkeypatch.setattr(aloft.ops, "_move", None, raising=False)
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
