"""Every engine gives the sums of the memory engine, whatever array library it computes with."""

import contextlib
from typing import ClassVar
from weakref import ref

import array_api_strict
import numpy as np
import pytest

from banklearn.engines.device import ArrayOps, DeviceEngine
from banklearn.engines.host import HostOps
from banklearn.engines.memory import MemoryEngine
from banklearn.gram import BLOCK_ROWS, Frozen, GradientSum, GramSum, ProposalSum
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.generative import draw_state
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.sampler import precision, sweep
from banklearn.sampler.gradient import GradientTuning
from libraries import LIBRARIES, library
from trees import HALVES

STREAMS = Streams(3)
LIKELIHOODS = [
    ("gaussian", "linear"),
    ("binary", "constant"),
    ("classes", "none"),
    ("tree", "none"),
]


def problem(kind, weighted, N=3 * BLOCK_ROWS + 17, d=3, M=6):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, d))
    likelihood, y = {
        "gaussian": (Gaussian(1.0, 1e-3), rng.standard_normal(N)),
        "binary": (Logistic(2), rng.integers(0, 2, N).astype(float)),
        "classes": (Logistic(3), rng.integers(0, 3, N).astype(float)),
        "tree": (Logistic(HALVES), rng.integers(0, 5, N).astype(float)),
    }[kind]
    weight = rng.uniform(0.5, 2.0, N) if weighted else None
    state = draw_state(Prior(np.zeros(d), 1.0, d + 2.0, np.ones(d)), M, rng).with_(lam=0.4)
    return X, y, weight, likelihood, state


def engines(name, X, y, weight, **options):
    xp = library(name)
    cut = DeviceEngine(X, y, weight, xp=xp, block_rows=2 * BLOCK_ROWS, **options)
    return MemoryEngine(X, y, weight), cut


def same(a, b, tolerance):
    for field in ("G", "r", "tt", "n"):
        x, y = (g.in_memory() if field == "G" else getattr(g, field) for g in (a, b))
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * np.abs(x).max())


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("kind", "trend"), LIKELIHOODS)
def test_statistic_and_gradient_are_those_of_the_memory_engine(name, kind, trend, weighted):
    X, y, weight, likelihood, state = problem(kind, weighted)
    beta = None
    if kind != "gaussian":
        P = {"constant": 13, "none": 12}[trend]
        beta = np.random.default_rng(2).standard_normal((likelihood.tasks, P))
    grams, slopes = [], []
    for engine in engines(name, X, y, weight):
        working = Frozen(likelihood.working(beta, STREAMS, 5))
        gram = engine.sum(GramSum(state.W, trend, working, likelihood.tasks))
        solved = precision.solve(gram, state.lam, likelihood, JitterCount())
        L = [s.L for s in solved.solutions]
        mu_n = [s.mu_n for s in solved.solutions]
        factor = likelihood.residual_factor(gram, solved.solutions)
        slopes.append(engine.sum(GradientSum(state.W, trend, working, L, mu_n, factor)))
        grams.append(gram)
    same(*grams, 1e-11)
    np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_proposals_extend_a_known_statistic(name, weighted):
    X, y, weight, likelihood, state = problem("gaussian", weighted)
    star = state.W + 0.3
    working = likelihood.working(None, STREAMS, 1)
    extended = []
    for engine in engines(name, X, y, weight):
        known = engine.sum(GramSum(state.W, "linear", working, 1))
        extension = engine.sum(ProposalSum(known, state.W, star, "linear", working))
        extended.append(extension)
    same(*extended, 1e-11)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize(("kind", "trend"), LIKELIHOODS)
def test_chains_take_the_same_decisions(name, kind, trend):
    X, y, weight, likelihood, state = problem(kind, False)
    prior = Prior(np.zeros(3), 1.0, 5.0, np.ones(3))
    model = sweep.Model(prior, likelihood, trend)
    ends = []
    for engine in engines(name, X, y, weight):
        chain = sweep.init(engine, model, state, STREAMS)
        # In memory trajectories would follow gradients of single precision, a device has none.
        tuning = sweep.Tuning(gradient_every=2, gradient=GradientTuning(single=False))
        for i in range(1, 5):
            chain, _ = sweep.step(chain, engine, model, tuning, STREAMS, i)
        ends.append(chain)
    np.testing.assert_allclose(ends[1].state.W, ends[0].state.W, rtol=1e-8)
    np.testing.assert_array_equal(ends[1].state.Z, ends[0].state.Z)
    assert ends[1].solved.log_evidence == pytest.approx(ends[0].solved.log_evidence, rel=1e-9)


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_subset_has_the_chosen_rows(name):
    X, y, weight, likelihood, state = problem("gaussian", True)
    rows = np.sort(np.random.default_rng(0).choice(len(X), 5000, replace=False))
    working = likelihood.working(None, STREAMS, 1)
    parts = [e.subset(rows) for e in engines(name, X, y, weight)]
    assert [p.n_rows for p in parts] == [5000, 5000]
    same(*(p.sum(GramSum(state.W, "linear", working, 1)) for p in parts), 1e-11)


@pytest.mark.parametrize("name", LIBRARIES)
def test_single_precision_features_are_summed_in_double(name):
    X, y, weight, likelihood, state = problem("gaussian", False)
    working = likelihood.working(None, STREAMS, 1)
    exact, single = (
        e.sum(GramSum(state.W, "linear", working, 1))
        for e in (MemoryEngine(X, y), engines(name, X, y, weight, dtype="float32")[1])
    )
    worst = np.abs(single.in_memory() - exact.G).max() / np.abs(exact.G).max()
    assert 1e-9 < worst < 1e-5


@pytest.mark.torch
@pytest.mark.parametrize("trend", ["none", "constant", "linear"])
@pytest.mark.parametrize("parts", [1, 4, 7])
def test_every_way_to_sum_on_a_device_gives_the_same(trend, parts):
    X, y, weight, likelihood, state = problem("gaussian", False)
    working = likelihood.working(None, STREAMS, 1)
    memory, device = engines("torch", X, y, weight)
    wanted = memory.sum(GramSum(state.W, trend, working, 1))
    wanted = memory.sum(ProposalSum(wanted, state.W, state.W + 0.3, trend, working))
    device.ops.square_parts = parts
    at_once, answers = device.ops.add_proposals, []

    def add_proposals(*arguments):
        answers.append(at_once(*arguments))
        return answers[-1]

    device.ops.add_proposals = add_proposals
    for joined in (False, True):
        device.ops.joined = joined
        known = device.sum(GramSum(state.W, trend, working, 1))
        same(wanted, device.sum(ProposalSum(known, state.W, state.W + 0.3, trend, working)), 1e-11)
    assert answers == [False, False, True, True]  # two blocks


@pytest.mark.torch
@pytest.mark.parametrize("joined", [False, True])
def test_lanes_share_the_blocks_of_proposals(joined):
    X, y, _, likelihood, state = problem("gaussian", False, N=5 * BLOCK_ROWS + 5)
    working = likelihood.working(None, STREAMS, 1)
    device = DeviceEngine(X, y, xp=library("torch"), block_rows=BLOCK_ROWS)
    device.n_lanes, device.ops.joined = 3, joined
    results = []
    for engine in (MemoryEngine(X, y), device):
        known = engine.sum(GramSum(state.W, "linear", working, 1))
        proposed = ProposalSum(known, state.W, state.W + 0.3, "linear", working)
        results.append(engine.sum(proposed))
    same(*results, 1e-11)
    assert [lane.joined for lane in device.ops.lanes(3)] == [joined] * 3


@pytest.mark.torch
@pytest.mark.parametrize("shape", [(5,), (3, 16), (3, 17), (2, 4, 33)])
def test_rows_of_accumulators_begin_aligned(shape):
    _, device = engines("torch", np.zeros((2, 3)), np.zeros(2), None)
    zeros = device.ops.zeros(*shape)
    assert tuple(zeros.shape) == shape
    assert zeros.dtype == device.xp.float64
    assert not zeros.any()
    assert all(step % 16 == 0 for step in zeros.stride()[:-1])


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["gaussian", "classes"])
@pytest.mark.parametrize("lanes", [2, 3])
def test_lanes_share_the_blocks(kind, lanes):
    X, y, weight, likelihood, state = problem(kind, True, N=6 * BLOCK_ROWS + 5)
    beta = None if kind == "gaussian" else np.ones((likelihood.tasks, 13))
    memory = MemoryEngine(X, y, weight)
    device = DeviceEngine(X, y, weight, xp=library("torch"), block_rows=BLOCK_ROWS)
    device.n_lanes = lanes
    results = []
    for engine in (memory, device):
        working = Frozen(likelihood.working(beta, STREAMS, 5))
        gram = engine.sum(GramSum(state.W, "constant", working, likelihood.tasks))
        solved = precision.solve(gram, state.lam, likelihood, JitterCount())
        L = [s.L for s in solved.solutions]
        mu_n = [s.mu_n for s in solved.solutions]
        slope = engine.sum(GradientSum(state.W, "constant", working, L, mu_n, 0.7))
        results.append((gram, slope))
    assert len(device.ops.lanes(lanes)) == lanes
    same(results[0][0], results[1][0], 1e-11)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-9, atol=1e-10)


@pytest.mark.torch
def test_a_kernel_that_does_not_work_here_is_not_used():
    import torch

    from banklearn.engines.fused import KERNELS, cos_sin_kernel, first_kernel

    def wrong():
        return lambda U, out: out.fill_(0.5)

    def right():
        def kernel(U, out):
            torch.cos(U, out=out[0::2])
            torch.sin(U, out=out[1::2])

        return kernel

    cpu = torch.device("cpu")
    assert cos_sin_kernel("nvrtc", cpu) is None  # there is no CUDA on a CPU
    try:
        KERNELS |= {"wrong": wrong, "right": right}
        assert cos_sin_kernel("wrong", cpu) is None
        assert cos_sin_kernel("right", cpu) is not None
        assert first_kernel(("nvrtc", "wrong", "right"), cpu) is cos_sin_kernel("right", cpu)
        assert first_kernel(("nvrtc", "wrong"), cpu) is None
        assert first_kernel((), cpu) is None
    finally:
        del KERNELS["wrong"], KERNELS["right"]


@pytest.mark.parametrize("name", LIBRARIES)
def test_no_rows_sum_to_zero(name):
    _, _, _, likelihood, state = problem("gaussian", False)
    working = likelihood.working(None, STREAMS, 1)
    memory, device = engines(name, np.empty((0, 3)), np.empty(0), None)
    for engine in (memory, device):
        gram = engine.sum(GramSum(state.W, "linear", working, 1))
        assert gram.in_memory().shape == (1, 16, 16)
        assert not gram.in_memory().any()


@pytest.mark.torch
def test_plain_operations_bring_tensors_to_memory():
    import torch

    values = ArrayOps(library("torch"), dtype="float32").host(torch.arange(6.0).view(2, 3))
    assert isinstance(values, np.ndarray)
    assert values.dtype == np.float64
    assert values.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


@pytest.mark.torch
def test_without_the_library_s_symmetric_product_there_are_others():
    from banklearn.engines.fused import _dsyrk

    if _dsyrk() is not None:
        pytest.skip("cuBLAS is here, and would be called with places in memory")
    X, y, weight, likelihood, state = problem("gaussian", False)
    working = likelihood.working(None, STREAMS, 1)
    memory, device = engines("torch", X, y, weight)
    device.ops.square_parts = 0
    same(*(e.sum(GramSum(state.W, "linear", working, 1)) for e in (memory, device)), 1e-11)


@pytest.mark.torch
def test_a_matrix_that_a_device_cannot_factor_gets_jitter_in_memory():
    from banklearn.engines.torch_ops import TorchOps

    ops = TorchOps(library("torch"))
    rng = np.random.default_rng(0)
    A, r = rng.standard_normal((2, 6)), rng.standard_normal(6)
    G = A.T @ A - 1e-13 * np.eye(6)  # not quite positive definite
    count, there = JitterCount(), JitterCount()
    wanted, found = HostOps().ridge(G, r, 1e-15, count), ops.ridge(ops.array(G), r, 1e-15, there)
    assert count.times == there.times == 1
    assert count.largest == there.largest
    np.testing.assert_array_equal(found.L, wanted.L)
    healthy = ops.ridge(ops.array(G), r, 1.0, there)
    np.testing.assert_allclose(healthy.L, HostOps().ridge(G, r, 1.0, count).L, atol=1e-12)
    assert there.times == 1


@pytest.mark.torch
@pytest.mark.parametrize("on_host", [0, 384])
def test_columns_are_eliminated_on_the_device(on_host, monkeypatch):
    from banklearn.engines import torch_ops

    monkeypatch.setattr(torch_ops, "ON_HOST", on_host)
    ops = torch_ops.TorchOps(library("torch"))
    rng = np.random.default_rng(0)
    A, r = rng.standard_normal((20, 9)), rng.standard_normal(9)
    S = A.T @ A
    keep, drop = np.r_[0:2, 5:9], np.array([4, 2, 3])
    slices = (slice(0, 2), slice(5, 9))
    reduced, new_r, quadratic = ops.eliminate(ops.array(S), r, slices, drop)
    assert isinstance(reduced, np.ndarray) == (on_host > 0)
    solved = np.linalg.solve(S[np.ix_(drop, drop)], np.column_stack([S[drop][:, keep], r[drop]]))
    wanted = S[np.ix_(keep, keep)] - S[keep][:, drop] @ solved[:, :-1]
    np.testing.assert_allclose(np.asarray(reduced), wanted, rtol=1e-10)
    np.testing.assert_allclose(new_r, r[keep] - S[keep][:, drop] @ solved[:, -1], rtol=1e-9)
    assert quadratic == pytest.approx(r[drop] @ solved[:, -1])
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        ops.eliminate(ops.array(-S), r, slices, drop)


def test_columns_that_are_none_are_not_selected():
    C = np.arange(16.0).reshape(1, 4, 4)
    assert HostOps().select(C, np.array([3, 1])).tolist() == [[[15.0, 13.0], [7.0, 5.0]]]
    for columns in ([0, 4], [-1, 2]):
        with pytest.raises(IndexError, match=r"columns go from .* of 4"):
            HostOps().select(C, np.array(columns))


def test_blocks_must_hold_whole_cells():
    with pytest.raises(ValueError, match="multiple of 4096"):
        DeviceEngine(np.ones((4, 1)), np.ones(4), xp=array_api_strict, block_rows=5000)


@pytest.mark.torch
def test_factorisations_are_loaded_before_chains_run_in_threads(monkeypatch):
    """Of PyTorch's threads on a GPU that load them at the same time one fails."""
    import torch

    from banklearn.engines import torch_ops

    torch_ops._load_factorisations.cache_clear()
    used = []
    for module, name in (
        (torch.linalg, "cholesky_ex"),
        (torch.linalg, "solve_triangular"),
    ):
        real = getattr(module, name)

        def noted(*arguments, real=real, name=name, **options):
            used.append(name)
            return real(*arguments, **options)

        monkeypatch.setattr(module, name, noted)
    engine = DeviceEngine(np.zeros((3, 2)), np.zeros(3), xp=library("torch"))
    assert set(used) == {"cholesky_ex", "solve_triangular"}
    loaded = len(used)
    engine.beside()
    assert len(used) == loaded


@pytest.mark.torch
def test_a_kernel_is_tried_by_one_thread_at_a_time(monkeypatch):
    """Chains side by side all get what the first one found, also where a second try would fail."""
    import threading
    import time

    import torch

    from banklearn.engines import fused

    tries, found = [], []

    def slow():
        tries.append(1)
        time.sleep(0.2)
        if len(tries) > 1:
            raise RuntimeError("there are two")

        def kernel(U, out):
            out[0::2], out[1::2] = torch.cos(U), torch.sin(U)

        return kernel

    monkeypatch.setitem(fused.KERNELS, "slow", slow)
    jobs = [
        threading.Thread(
            target=lambda: found.append(fused.cos_sin_kernel("slow", torch.device("cpu")))
        )
        for _ in range(4)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert len(tries) == 1
    assert found[0] is not None
    assert len(set(map(id, found))) == 1


@pytest.mark.torch
def test_the_memory_that_is_left_is_that_of_the_device(monkeypatch):
    from contextlib import contextmanager

    import torch

    ops = DeviceEngine(np.zeros((3, 2)), np.zeros(3), xp=library("torch")).ops
    assert ops.free_bytes() == np.inf
    entered = []

    @contextmanager
    def current(device):
        entered.append(device)
        yield

    monkeypatch.setattr(torch.cuda, "device", current)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (12 << 30, 16 << 30))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda: 3 << 30)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 2 << 30)
    for name in ("cuda", "cuda:1"):
        ops.device = torch.device(name)
        assert ops.free_bytes() == 13 << 30
    assert entered == [torch.device("cuda"), torch.device("cuda:1")]


@pytest.mark.parametrize("name", LIBRARIES)
def test_equations_come_to_memory_as_rows(name):
    X, y, weight, _, state = problem("gaussian", False, N=300)
    working = Gaussian(1.0, 1e-3).working(None, STREAMS, 5)
    found, wanted = (
        e.sum(GramSum(state.W, "linear", working, 1)).ridge(0, 0.3, JitterCount())
        for e in reversed(engines(name, X, y, weight))
    )
    for a, b in ((found.L, wanted.L), (found.v, wanted.v)):
        assert a.flags.c_contiguous
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(b).max())


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_step_costs_what_its_products_do_unless_a_gpu_waits(name):
    """With few rows a twentieth of a sweep, with very many more than one."""
    works = []
    for rows in (1000, 14_000, 500_000):
        y = np.zeros(rows)
        engine = DeviceEngine(np.zeros((rows, 1)), y, xp=library(name))
        assert engine.work_of_step is None
        engine.ops.waits = True
        works.append(engine.work_of_step)
    np.testing.assert_allclose(works, [0.0462, 0.0842, 0.8237], rtol=1e-3)
    assert getattr(MemoryEngine(np.zeros((3, 1)), np.zeros(3)), "work_of_step", None) is None


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_chain_beside_others_works_where_it_is_without_a_gpu(name):
    engine = DeviceEngine(np.zeros((3, 1)), np.zeros(3), xp=library(name))
    with engine.ops.apart() as nothing:
        assert nothing is None


class Stream:
    """What stands for a CUDA stream; there is no GPU here."""

    log: ClassVar[list] = []

    def __init__(self, priority=0):
        self.priority = priority

    def wait_stream(self, other):
        self.log.append(("wait", self.priority))


@pytest.fixture
def without_gpu(monkeypatch):
    """Operations that record, and a function that takes the place of what only a GPU has."""
    import torch

    from banklearn.engines import repeated

    def stand_in(graph):
        Stream.log.clear()
        monkeypatch.setattr(repeated, "_failed", [])
        values = {"CUDAGraph": graph, "Stream": Stream, "current_stream": Stream}
        values |= {"current_device": lambda: 0, "graph_pool_handle": lambda: "a new pool"}
        values |= {"device": lambda _: contextlib.nullcontext()}
        values |= {"stream": lambda _: contextlib.nullcontext()}
        for name, value in values.items():
            monkeypatch.setattr(torch.cuda, name, value)
        ops = DeviceEngine(np.zeros((3, 1)), np.zeros(3), xp=library("torch")).ops
        assert ops.repeated(lambda x: (-x,))(3.0) == (-3.0,)  # nothing is recorded here
        ops.repeats = True
        return ops

    return stand_in


@pytest.mark.torch
def test_what_cannot_be_recorded_runs_as_it_is(without_gpu, monkeypatch):
    """It is tried once, and PyTorch is told that no memory is taken for it any more."""
    import torch

    from banklearn.engines import repeated

    tried, ended = [], []

    class Graph:
        def capture_begin(self, pool, capture_error_mode):
            tried.append((pool, capture_error_mode))

        def capture_end(self):
            raise RuntimeError("operation not permitted when stream is capturing")

    ops = without_gpu(Graph)
    ending = lambda *arguments: ended.append(arguments)  # noqa: E731
    monkeypatch.setattr(torch._C, "_cuda_endAllocateToPool", ending, raising=False)
    twice = ops.repeated(lambda x: (2.0 * x,))
    with pytest.warns(RuntimeWarning, match=r"could not be recorded .*not permitted"):
        assert float(twice(torch.tensor(1.0))[0]) == 2.0
    assert float(twice(torch.tensor(3.0))[0]) == 6.0
    assert tried == [("a new pool", "thread_local")]
    assert ended == [(0, "a new pool")]
    assert len(repeated._failed) == 1
    assert not ops.repeats
    assert ops.repeated(lambda x: (-x,))(3.0) == (-3.0,)


@pytest.mark.torch
def test_work_space_must_not_be_made_in_a_record(without_gpu):
    """It would lie in memory that other records write to."""
    import torch

    class Graph:
        capture_begin = capture_end = lambda self, *_, **__: None

    ops = without_gpu(Graph)

    def careless(x):
        return (ops._space("Phi", 3, 7)[0, 0] * 0.0 + x,)

    with pytest.warns(RuntimeWarning, match="work space was made while it was recorded"):
        ops.repeated(careless)(torch.tensor(1.0))
    assert not ops.repeats


@pytest.mark.torch
def test_what_was_recorded_is_done_again_with_new_values(without_gpu):
    """The graph of this test does what the function did, on the tensors that it was shown."""
    import torch

    log, functions = Stream.log, []

    class Graph:
        def capture_begin(self, pool, capture_error_mode):
            log.append(("begin", pool))

        def capture_end(self):
            log.append(("end",))

        def pool(self):
            return "the last one's"

        def replay(self):
            functions[-1]()

    ops, out = without_gpu(Graph), torch.zeros(2)
    assert ops.recorder is None

    def double(x):
        functions.append(lambda: torch.mul(x, 2.0, out=out))
        return (out,)

    for pool in ("a new pool", "the last one's"):
        twice = ops.repeated(double)
        log.clear()
        for values in ([1.0, 5.0], [3.0, -2.0]):
            (found,) = twice(torch.tensor(values))
            assert found is out
            assert found.tolist() == [2.0 * value for value in values]
        # On a stream of these operations alone, after what was told before and before what follows.
        assert log == [("wait", -1), ("begin", pool), ("end",), ("wait", 0)]
        assert ops.recorder.priority == -1
    assert len(functions) == 2


@pytest.mark.torch
def test_a_record_keeps_the_work_space_that_it_uses_and_not_what_it_did(without_gpu):
    """Work space that grows is another; whoever was recorded may keep the record itself."""
    import torch

    class Graph:
        capture_begin = capture_end = lambda self, *_, **__: None

        def replay(self):
            return None

    ops = without_gpu(Graph)
    space = ref(ops._space("Phi", 3, 5).untyped_storage())
    function = lambda x: (x,)  # noqa: E731
    again, seen = ops.repeated(function), ref(function)
    again(torch.zeros(2))
    del function
    assert seen() is None
    ops._space("Phi", 30, 50)
    again(torch.zeros(2))
    assert space() is not None
    del again
    assert space() is None
