"""Products in single precision: close to those in double precision by the bound that is claimed."""

import numpy as np
import pytest

from banklearn.engines.chunked import ChunkedEngine, Gather, PickedEngine
from banklearn.engines.dask import partial_sum
from banklearn.engines.host import HostOps
from banklearn.engines.memory import MemoryEngine
from banklearn.engines.mixed import MixedOps, Products
from banklearn.engines.pieces import Piece
from banklearn.gram import BLOCK_ROWS, GradientSum, GramSum, ProposalSum
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.evidence import ridge
from banklearn.model.features import feature_rows
from banklearn.numerics import single, trig
from banklearn.numerics.streams import Streams
from helpers import close

#: More than a block, and more than two slices of a block's columns.
N, M, D = BLOCK_ROWS + 300, 7, 3


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return Piece(rng.standard_normal((N, D)), rng.standard_normal(N), rng.uniform(0.2, 3.0, N))


def frequencies(seed):
    return np.random.default_rng(seed).standard_normal((M, D))


def engines(rows, weighted):
    weight = rows.weight if weighted else None
    return [MemoryEngine(rows.X, rows.y, weight, arithmetic=how) for how in ("mixed", "double")]


def working(weighted=False):
    return Gaussian(2.0, 0.5).working(None, Streams(0), 0)


def bound(rows, W, weighted, slices):
    """(COLUMNS + 2) 2^-24 of the sum of absolute terms, and the rounding of two factors."""
    Phi = np.abs(feature_rows(rows.X, W, "linear"))
    weight = rows.weight if weighted else 1.0
    return (slices + 2 + 4) * 2.0**-24 * ((Phi * weight) @ Phi.T)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_statistic_is_within_the_bound(rows, weighted):
    W = frequencies(1)
    found, exact = (e.sum(GramSum(W, "linear", working(), 1)) for e in engines(rows, weighted))
    error = np.abs(found.G[0] - exact.G[0])
    assert 0 < error.max()
    assert (error <= bound(rows, W, weighted, single.COLUMNS)).all()
    # Errors of slices do not go all one way: nowhere near the bound.
    assert (error <= bound(rows, W, weighted, 30)).all()
    assert found.G.dtype == found.r.dtype == np.float64
    close(found.r, exact.r, 1e-6, 1e-5)
    np.testing.assert_array_equal(found.tt, exact.tt)
    np.testing.assert_array_equal(found.n, exact.n)


@pytest.mark.parametrize("weighted", [False, True])
def test_what_proposals_add_is_what_a_new_sum_gives(rows, weighted):
    W, W_star = frequencies(1), frequencies(2)
    mixed, double = engines(rows, weighted)
    known = mixed.sum(GramSum(W, "linear", working(), 1))
    found = mixed.sum(ProposalSum(known, W, W_star, "linear", working()))
    both = np.concatenate([W, W_star])
    exact = double.sum(GramSum(both, "linear", working(), 1, current=M))
    np.testing.assert_array_equal(found.G[0, : len(known.G[0]), : len(known.G[0])], known.G[0])
    close(found.G, exact.G, 1e-6, 1e-3)
    close(found.r, exact.r, 1e-6, 1e-5)


def test_a_classifier_sees_latent_values_to_single_precision(rows):
    labels = Piece(rows.X, (rows.y > 0) * 1.0 + (rows.y > 1), rows.weight)
    beta = np.random.default_rng(3).standard_normal((2, 2 * M + 1))
    likelihood = Logistic(3)
    found, exact = (
        e.sum(GramSum(frequencies(1), "constant", likelihood.newton(beta), 2))
        for e in engines(labels, True)
    )
    close(found.G, exact.G, 1e-5, 1e-3)
    close(found.r, exact.r, 1e-5, 1e-3)
    close(found.tt, exact.tt, 1e-6, 1e-3)


@pytest.mark.parametrize("tasks", [1, 2])
def test_gradients_are_near_those_of_double_precision(rows, tasks):
    labels = Piece(rows.X, np.floor(3 * np.random.default_rng(0).random(N)), rows.weight)
    weights = np.random.default_rng(3).standard_normal((tasks, 2 * M))
    sums = working() if tasks == 1 else Logistic(3).newton(weights)
    mixed, double = engines(rows if tasks == 1 else labels, True)
    gram = double.sum(GramSum(frequencies(1), "none", sums, tasks))
    solved = [ridge(G, r, 1.0) for G, r in zip(gram.G, gram.r, strict=True)]
    L, mu_n = [s.L for s in solved], [s.mu_n for s in solved]
    statistic = GradientSum(frequencies(1), "none", sums, L, mu_n, 1.0)
    found, exact = mixed.sum(statistic), double.sum(statistic)
    close(found, exact, 0.0, 1e-4 * np.abs(exact).max())
    assert not np.array_equal(found, exact)


def test_what_is_no_product_of_features_stays_in_double_precision():
    gram = GramSum(frequencies(1), "none", working(), 1)
    slope = GradientSum(frequencies(1), "none", working(), [np.eye(2 * M)], [np.ones(2 * M)], 1.0)
    for statistic in (gram, slope):
        assert type(Products("mixed")(statistic)) is MixedOps
        assert type(Products("double")(statistic)) is HostOps
    assert type(Products("mixed")(Gather(np.arange(3), D, False))) is HostOps


@pytest.mark.parametrize("kind", ["memory", "chunked", "picked"])
def test_from_one_arithmetic_to_the_other_and_back(rows, kind, monkeypatch):
    monkeypatch.setattr("banklearn.engines.chunked.SUBSET_BYTES", 0)
    engine = engines(rows, True)[0] if kind == "memory" else chunked(rows)
    engine = engine.subset(np.arange(0, N, 3)) if kind == "picked" else engine
    statistic = GramSum(frequencies(1), "linear", working(), 1)
    double = engine.exact()
    assert (engine.arithmetic, double.arithmetic) == ("mixed", "double")
    assert double.rough().arithmetic == "mixed"
    assert engine.rough() is engine
    assert double.exact() is double
    np.testing.assert_array_equal(double.rough().sum(statistic).G, engine.sum(statistic).G)
    assert not np.array_equal(double.sum(statistic).G, engine.sum(statistic).G)


def chunked(rows):
    return ChunkedEngine(lambda: iter([rows]), len(rows), D, True, "mixed")


@pytest.mark.parametrize("kind", ["memory", "chunked", "picked", "dask"])
def test_all_engines_give_the_same_bits(rows, kind, monkeypatch):
    statistic = GramSum(frequencies(1), "linear", working(), 1)
    mixed, double = engines(rows, True)
    some = np.arange(0, N, 3)
    if kind == "dask":
        parts = [partial_sum(rows, 0, statistic, how) for how in ("mixed", "double")]
        found, exact = (statistic.finish(HostOps(), part) for part in parts)
    else:
        engine = {"memory": mixed.subset(some), "chunked": chunked(rows)}.get(kind)
        if kind == "picked":
            monkeypatch.setattr("banklearn.engines.chunked.SUBSET_BYTES", 0)
            engine = chunked(rows).subset(some)
            assert isinstance(engine, PickedEngine)
        assert engine.arithmetic == "mixed"
        assert engine.exact().arithmetic == "double"
        found, exact = engine.sum(statistic), engine.exact().sum(statistic)
        assert engine.arithmetic == "mixed"
    if kind in ("memory", "picked"):
        mixed, double = (e.subset(some) for e in (mixed, double))
    np.testing.assert_array_equal(found.G, mixed.sum(statistic).G)
    np.testing.assert_array_equal(exact.G, double.sum(statistic).G)
    assert not np.array_equal(found.G, exact.G)


def test_a_small_subset_of_rows_on_disk_keeps_the_arithmetic(rows):
    assert chunked(rows).subset(np.arange(5)).arithmetic == "mixed"
    assert chunked(rows).exact().subset(np.arange(5)).arithmetic == "double"


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("n", [1, 900, 1024, 2500])
def test_products_of_all_sizes(n, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(single, "compiled", lambda: False)
        monkeypatch.setattr(trig, "compiled", lambda: False)
    rng = np.random.default_rng(n)
    A, B = (rng.standard_normal((p, n)).astype(np.float32) for p in (5, 3))
    a, b = A.astype(float), B.astype(float)
    square, cross = np.full((5, 5), 2.0), np.full((5, 3), 3.0)
    single.add_square(square, A, 0.5)
    single.add_cross(cross, A, B, -2.0)
    close(np.tril(square), np.tril(2.0 + 0.5 * a @ a.T), 1e-5, 1e-4)
    np.testing.assert_array_equal(np.triu(square, 1), np.triu(np.full((5, 5), 2.0), 1))
    close(cross, 3.0 - 2.0 * a @ b.T, 1e-5, 1e-4)
    v, beta = rng.standard_normal((n, 2)), rng.standard_normal((2, 5))
    close(single.rows_times(A, v), a @ v, 1e-12, 1e-12)
    close(single.times_rows(beta, A), beta @ a, 1e-12, 1e-12)


def test_features_are_rounded_once(rows):
    W = 30.0 * frequencies(4)
    found, unit = MixedOps().features(rows.X, W, "linear", 0.3, "Phi")
    exact = feature_rows(rows.X, W, "linear", None, 0.3)
    assert found.dtype == np.float32
    assert unit == 1.0
    np.testing.assert_array_equal(found, exact.astype(np.float32))
