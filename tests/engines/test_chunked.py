"""The chunked engine gives the memory engine's bits, reads once for all, and holds little."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from banklearn.engines import chunked
from banklearn.engines.chunked import ChunkedEngine, PickedEngine
from banklearn.engines.memory import MemoryEngine
from banklearn.engines.pieces import Piece, SharedReader, piece_rows, recut
from banklearn.gram import BLOCK_ROWS, GramSum, Redrawn
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.likelihoods.logistic import Logistic
from banklearn.numerics.streams import Streams

N = 2 * BLOCK_ROWS + 700


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, 3))
    return Piece(X, rng.integers(0, 2, N).astype(float), rng.uniform(0.5, 2.0, N))


def engine(rows, size=1000):
    def read():
        for start in range(0, len(rows), size):
            yield rows[start : start + size]

    return ChunkedEngine(read, len(rows), rows.X.shape[1], rows.weight is not None)


def memory(rows):
    return MemoryEngine(rows.X, rows.y, rows.weight)


def statistic(working, tasks=1):
    W = np.random.default_rng(2).standard_normal((4, 3))
    return GramSum(W, "constant", working, tasks)


@pytest.mark.parametrize("sizes", [[1], [5, 3], [4, 4], [1, 1, 9, 2], [30]])
def test_pieces_are_cut_anew(sizes, monkeypatch):
    monkeypatch.setattr("banklearn.engines.pieces.BLOCK_ROWS", 4)
    values = np.arange(float(sum(sizes)))
    ends = np.cumsum(sizes)
    given = [
        Piece(values[e - s : e, None], values[e - s : e], None)
        for s, e in zip(sizes, ends, strict=True)
    ]
    cut = list(recut(given, 8))
    assert all(len(p) in (4, 8) for p in cut[:-1])
    assert len(cut[-1]) <= 8
    np.testing.assert_array_equal(np.concatenate([p.y for p in cut]), values)
    np.testing.assert_array_equal(np.concatenate([p.X for p in cut])[:, 0], values)


def test_whole_blocks_are_not_copied():
    X = np.zeros((3 * BLOCK_ROWS + 5, 2))
    first, second, rest = recut([Piece(X, X[:, 0], None)], 2 * BLOCK_ROWS)
    assert (len(first), len(second), len(rest)) == (2 * BLOCK_ROWS, BLOCK_ROWS, 5)
    assert np.shares_memory(first.X, X)
    assert np.shares_memory(second.X, X)
    assert not np.shares_memory(rest.X, X)


@pytest.mark.parametrize("size", [777, BLOCK_ROWS, N])
def test_sums_have_the_same_bits(rows, size):
    for working in (
        Gaussian(1.0, 1.0).working(None, Streams(0), 1),
        Logistic(2).working(np.full((1, 9), 0.2), Streams(0), 1),
    ):
        one, two = (e.sum(statistic(working)) for e in (memory(rows), engine(rows, size)))
        np.testing.assert_array_equal(one.G, two.G)
        np.testing.assert_array_equal(one.r, two.r)
        np.testing.assert_array_equal(one.tt, two.tt)


@pytest.mark.parametrize("large", [False, True])
def test_a_subset_has_the_chosen_rows(rows, large, monkeypatch):
    if large:
        monkeypatch.setattr(chunked, "SUBSET_BYTES", 0)
    chosen = np.sort(np.random.default_rng(0).choice(N, 5000, replace=False))
    part = engine(rows).subset(chosen)
    assert isinstance(part, PickedEngine if large else MemoryEngine)
    assert part.n_rows == 5000
    working = Logistic(2).working(np.full((1, 9), 0.2), Streams(0), 1)
    reference = memory(rows).subset(chosen)
    one, two = (e.sum(statistic(working)) for e in (reference, part))
    np.testing.assert_array_equal(one.G, two.G)
    again = part.subset(np.arange(0, 5000, 7))
    one, two = (e.sum(statistic(working)) for e in (reference.subset(np.arange(0, 5000, 7)), again))
    np.testing.assert_array_equal(one.G, two.G)


def test_rows_of_a_small_subset_may_come_in_any_order(rows):
    chosen = np.array([7000, 2, 4100, 3])
    part = engine(rows).subset(chosen)
    np.testing.assert_array_equal(part.X, rows.X[chosen])
    np.testing.assert_array_equal(part.weight, rows.weight[chosen])


def test_weights_drawn_anew_are_those_that_would_have_been_kept(rows):
    W = np.random.default_rng(2).standard_normal((4, 3))
    working = Logistic(2).working(np.full((1, 9), 0.2), Streams(0), 1)
    frozen, redrawn = (e.freeze(working, W, "constant") for e in (memory(rows), engine(rows)))
    assert isinstance(redrawn, Redrawn)
    first = memory(rows).sum(GramSum(W, "constant", frozen, 1))
    other = GramSum(W + 1.0, "constant", frozen, 1)
    kept = memory(rows).sum(other)
    np.testing.assert_array_equal(engine(rows).sum(GramSum(W, "constant", redrawn, 1)).G, first.G)
    again = engine(rows).sum(GramSum(W + 1.0, "constant", redrawn, 1))
    np.testing.assert_array_equal(again.G, kept.G)


def pieces(count):
    return [Piece(np.full((1, 1), float(i)), np.array([float(i)]), None) for i in range(count)]


def test_members_share_each_read_and_do_not_wait_for_those_who_left():
    reader = SharedReader(lambda: iter(pieces(5)))
    reader.expect(3)
    got = {}

    def take_part(name, reads):
        with reader.member():
            got[name] = [[p.y[0] for p in reader.pieces()] for _ in range(reads)]

    threads = [
        threading.Thread(target=take_part, args=item) for item in (("a", 1), ("b", 3), ("c", 2))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert got == {name: [[0, 1, 2, 3, 4]] * n for name, n in (("a", 1), ("b", 3), ("c", 2))}
    assert reader.reads == 3


class Counting:
    """A statistic that counts blocks, and fails at one of them, or before the first."""

    def __init__(self, fail_at=None):
        self.fail_at = fail_at

    def zero(self, ops):
        if self.fail_at == 0:
            raise MemoryError("no room for sums")
        return [0]

    def add(self, ops, total, block):
        total[0] += 1
        if total[0] == self.fail_at:
            raise MemoryError("no room for features")

    def finish(self, ops, total):
        return total[0]


@pytest.mark.parametrize("fail_at", [0, 3])
@pytest.mark.parametrize("picked", [False, True])
def test_a_chain_that_fails_in_a_sum_does_not_hang_the_others(fail_at, picked):
    rows = 40 * BLOCK_ROWS
    piece = Piece(np.ones((BLOCK_ROWS, 64)), np.ones(BLOCK_ROWS), None)
    engine = ChunkedEngine(lambda: iter([piece] * 40), rows, 64, False)
    engine.expect(2)
    part = PickedEngine(engine, np.arange(rows)) if picked else engine

    def chain(statistic):
        with engine.member():
            return [part.sum(statistic), part.sum(statistic)]

    # The failed future keeps its traceback, and with it everything that the sum had in hand.
    with ThreadPoolExecutor(2) as pool:
        bad, good = pool.submit(chain, Counting(fail_at)), pool.submit(chain, Counting())
        assert isinstance(bad.exception(timeout=30), MemoryError)
        assert good.result(timeout=30) == [40, 40]


def test_a_member_that_fails_in_the_middle_holds_nobody_up():
    reader = SharedReader(lambda: iter(pieces(50)), ahead=1)
    reader.expect(2)
    got = []

    def fail():
        with reader.member():
            for piece in reader.pieces():
                if piece.y[0] == 3:
                    return

    def stay():
        with reader.member():
            got.append(sum(1 for _ in reader.pieces()))
            got.append(sum(1 for _ in reader.pieces()))

    threads = [threading.Thread(target=f) for f in (fail, stay)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert got == [50, 50]


def test_an_error_while_reading_reaches_everybody():
    def read():
        yield from pieces(2)
        raise OSError("the disk is gone")

    reader = SharedReader(read)
    for _ in range(2):
        with pytest.raises(OSError, match="the disk is gone"):
            list(reader.pieces())


def test_reading_stays_a_few_pieces_ahead():
    made = []

    def read():
        for piece in pieces(100):
            made.append(piece)
            yield piece

    stream = SharedReader(read, ahead=3).pieces()
    next(stream)
    time.sleep(0.2)
    assert len(made) <= 6
    assert sum(1 for _ in stream) == 99


def test_who_has_closed_hears_nothing_more():
    stream = SharedReader(lambda: iter(pieces(5))).pieces()
    next(stream)
    stream.close()
    assert list(stream) == []


@pytest.mark.parametrize("there", [N - 1, N + 1, N + 2 * BLOCK_ROWS])
def test_rows_that_come_or_go_during_a_fit_are_noticed(rows, there):
    longer = Piece(*(np.resize(a, (there, *a.shape[1:])) for a in (rows.X, rows.y, rows.weight)))
    changed = ChunkedEngine(lambda: iter([longer]), N, 3, True)
    with pytest.raises(RuntimeError, match=f"{N} rows at first, {there} now"):
        changed.sum(statistic(Gaussian(1.0, 1.0).working(None, Streams(0), 1)))


def test_rows_without_weights_are_gathered_without(rows):
    plain = Piece(rows.X, rows.y, None)
    part = engine(plain).subset(np.array([5, 4100]))
    assert part.weight is None
    np.testing.assert_array_equal(part.y, rows.y[[5, 4100]])


def test_a_large_subset_is_in_order_and_draws_weights_as_the_whole_does(rows, monkeypatch):
    monkeypatch.setattr(chunked, "SUBSET_BYTES", 0)
    whole = engine(rows)
    with pytest.raises(ValueError, match="must be in increasing order"):
        whole.subset(np.array([5, 4]))
    W = np.zeros((4, 3))
    working = Logistic(2).working(np.full((1, 9), 0.2), Streams(0), 1)
    frozen = whole.subset(np.arange(100)).freeze(working, W, "constant")
    assert isinstance(frozen, Redrawn)


def test_pieces_hold_whole_blocks_and_few_bytes():
    for d in (1, 20, 1000):
        assert piece_rows(d) % BLOCK_ROWS == 0
    assert piece_rows(20) * 20 * 8 <= 8 << 20
    assert piece_rows(10_000) == BLOCK_ROWS
