"""Features that are kept from the statistic to the gradient: the same sums, formed once."""

import pickle

import numpy as np
import pytest

from banklearn.engines.chunked import ChunkedEngine
from banklearn.engines.device import DeviceEngine
from banklearn.engines.host import HostOps
from banklearn.engines.memory import MemoryEngine
from banklearn.engines.mixed import MixedOps
from banklearn.engines.pieces import Piece
from banklearn.gram import BLOCK_ROWS, Frozen, GradientSum, GramSum
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.kept_features import KeptFeatures
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.sampler import ascent, gradient, precision
from banklearn.sampler import target as target_module
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.target import Target, evidence_slope
from helpers import close, make_problem
from libraries import library
from trees import HALVES

N, D, M = 2 * BLOCK_ROWS + 300, 3, 5
RNG = np.random.default_rng(0)
X, Y, WEIGHT = RNG.standard_normal((N, D)), RNG.standard_normal(N), RNG.uniform(0.5, 2.0, N)
LIKELIHOODS = {
    "regression": (Gaussian(1.0, 0.1), "linear", Y),
    "two classes": (Logistic(2), "constant", (Y > 0).astype(float)),
    "five classes": (Logistic(HALVES), "none", RNG.integers(0, 5, N).astype(float)),
}
ENGINES = {
    "double": lambda y: MemoryEngine(X, y, WEIGHT),
    "mixed": lambda y: MemoryEngine(X, y, WEIGHT, arithmetic="mixed"),
    "read anew": lambda y: ChunkedEngine(lambda: iter([Piece(X, y, WEIGHT)]), N, D, True),
    "device": lambda y: DeviceEngine(X, y, WEIGHT, xp=library("strict"), block_rows=BLOCK_ROWS),
}


@pytest.fixture
def formed(monkeypatch):
    """The rows that features were formed of, block by block."""
    rows = []
    real = HostOps.features_into

    def counted(self, X, *rest):
        rows.append(len(X))
        real(self, X, *rest)

    monkeypatch.setattr(HostOps, "features_into", counted)
    return rows


def frequencies(seed):
    return np.random.default_rng(seed).standard_normal((M, D))


def sums(engine, likelihood, trend, W, working, kept):
    gram = engine.sum(GramSum(W, trend, working, likelihood.tasks, kept=kept))
    solved = precision.solve(gram, 0.4, likelihood, JitterCount())
    slope = evidence_slope(engine, likelihood, trend, working, W, gram, solved, kept)
    return gram.in_memory(), gram.r, slope


def working_of(likelihood, trend):
    P = {"linear": 1 + D, "constant": 1, "none": 0}[trend] + 2 * M
    beta = None if likelihood.fixed_weights else 0.3 * np.ones((likelihood.tasks, P))
    return Frozen(likelihood.working(beta, Streams(3), 5))


@pytest.mark.parametrize("where", ENGINES)
@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_the_sums_are_the_same_to_the_bit(kind, where):
    likelihood, trend, y = LIKELIHOODS[kind]
    engine, kept = ENGINES[where](y), KeptFeatures()
    for seed in (1, 2):  # at the second frequencies nothing of the first is left
        W = frequencies(seed)
        working = working_of(likelihood, trend)
        wanted = sums(engine, likelihood, trend, W, working, None)
        found = sums(engine, likelihood, trend, W, working, kept)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("room", "times"), [(1 << 30, 1), (8 * 14 * BLOCK_ROWS, 2), (0, 2)])
def test_features_are_formed_once_where_they_find_room(room, times, formed):
    likelihood, trend, y = LIKELIHOODS["regression"]
    engine, kept, working = ENGINES["double"](y), KeptFeatures(room), working_of(likelihood, trend)
    for seed in (1, 2):
        formed.clear()
        W = frequencies(seed)
        wanted = sums(engine, likelihood, trend, W, working, None)
        assert formed == 2 * [BLOCK_ROWS, BLOCK_ROWS, 300]
        formed.clear()
        found = sums(engine, likelihood, trend, W, working, kept)
        again = [BLOCK_ROWS, 300] if room else [BLOCK_ROWS, BLOCK_ROWS, 300]
        assert formed == [BLOCK_ROWS, BLOCK_ROWS, 300, *(again if times == 2 else [])]
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


def test_other_frequencies_take_the_same_room():
    likelihood, trend, y = LIKELIHOODS["regression"]
    engine, kept, working = ENGINES["double"](y), KeptFeatures(), working_of(likelihood, trend)
    sums(engine, likelihood, trend, frequencies(1), working, kept)
    left = kept.room
    assert left == KeptFeatures().room - 8 * (1 + D + 2 * M) * N
    sums(engine, likelihood, trend, frequencies(2), working, kept)
    assert kept.room == left


def test_they_do_not_travel():
    kept, W = KeptFeatures(), frequencies(1)
    assert pickle.loads(pickle.dumps(GramSum(W, "none", None, 1, kept=kept))).kept is None
    statistic = GradientSum(W, "none", None, [np.eye(2 * M)], [np.ones(2 * M)], 1.0, kept)
    assert pickle.loads(pickle.dumps(statistic)).kept is None
    assert statistic.kept is kept


@pytest.mark.parametrize("single", [False, True])
def test_a_trajectory_forms_them_once_at_each_place(single, formed, monkeypatch):
    problem = make_problem(1, N=20, M=5)
    working = problem.gaussian.working(None, Streams(0), 0)
    outcomes, counts = [], []
    for room in (0, 1 << 20):
        monkeypatch.setattr(target_module, "KeptFeatures", lambda room=room: KeptFeatures(room))
        target = Target(
            problem.engine(20), problem.gaussian, problem.trend, problem.prior, problem.state,
            working, JitterCount(),
        )  # fmt: skip
        here = target.at(problem.state.W)
        formed.clear()
        tuning = GradientTuning(step=0.1, length=3, single=single)
        rng = np.random.default_rng(2)
        moved = gradient.update(problem.state, here.gram, here.solved, target, tuning, rng)
        outcomes.append(moved.place.W)
        counts.append(len(formed))
        assert target.kept is None
    np.testing.assert_array_equal(*outcomes)
    assert not np.array_equal(outcomes[0], problem.state.W)
    # In double precision the first place's statistic is known; in single, the last is checked.
    assert counts == ([9, 5] if single else [7, 4])


def test_a_climb_forms_them_once_at_each_place(formed, monkeypatch):
    problem = make_problem(1, N=20, M=5)
    model = ascent.Model(problem.prior, problem.gaussian, problem.trend)
    working, summits, counts = problem.gaussian.working(None, Streams(0), 0), [], []
    for room in (0, 1 << 20):
        monkeypatch.setattr(ascent, "KeptFeatures", lambda room=room: KeptFeatures(room))
        formed.clear()
        state, _ = ascent.climb_frequencies(problem.engine(20), model, problem.state, working, 5)
        summits.append(state.W)
        counts.append(len(formed))
    np.testing.assert_array_equal(*summits)
    assert counts[0] == 2 * counts[1] > 0


def test_two_matrices_in_double_precision_are_multiplied_in_it():
    A, B = RNG.standard_normal((4, 50)), RNG.standard_normal((50, 3))
    found = MixedOps().times(A, B)
    assert found.dtype == np.float64
    close(found, A @ B, 1e-14, 1e-14)
