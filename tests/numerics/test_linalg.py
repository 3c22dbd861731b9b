"""Factors, triangular solves, products in place, and what happens when a factor fails."""

import numpy as np
import pytest

from banklearn.numerics import blas, threads
from banklearn.numerics.linalg import (
    JitterCount,
    NumericalError,
    cholesky,
    log_det_from_cholesky,
)
from helpers import close


@pytest.fixture(params=[1, 2, 5, 8], autouse=True)
def team(request, monkeypatch):
    """All of it alone and by a team, which shares what would be too little otherwise."""
    monkeypatch.setattr(blas, "SHARED", 1)
    monkeypatch.setattr(blas, "WIDTH", 4)
    with threads.team(request.param):
        yield request.param


def definite(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n + 2))
    return A @ A.T + 0.1 * np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 31, 33, 70])
def test_factor_and_solves(n):
    A, rng = definite(n), np.random.default_rng(1)
    L = cholesky(A)
    assert np.array_equal(L, np.tril(L))
    close(L @ L.T, A, 1e-10, 1e-10)
    B = rng.standard_normal((n, 3))
    kept = B.copy()
    close(L @ blas.solve_lower(L, B), B, 1e-8, 1e-10)
    close(L.T @ blas.solve_lower_transposed(L, B), B, 1e-8, 1e-10)
    np.testing.assert_array_equal(B, kept)
    close(log_det_from_cholesky(L), np.linalg.slogdet(A)[1], 1e-10)


@pytest.mark.parametrize("n", [1, 5, 32, 33, 100])
def test_products_in_place(n):
    rng = np.random.default_rng(2)
    A, B, D = rng.standard_normal((n, 7)), rng.standard_normal((4, 7)), rng.standard_normal((7, n))
    close(blas.times_transposed(A, B), A @ B.T, 1e-12, 1e-12)
    C = rng.standard_normal((n, 4))
    expected = C + A @ B.T
    blas.add_times_transposed(C, A, B)
    close(C, expected, 1e-12, 1e-12)
    wide = rng.standard_normal((4, 100))
    close(blas.times(B.T, wide), B.T @ wide, 1e-12, 1e-12)
    C = rng.standard_normal((4, n))
    expected = C - 0.5 * B @ A.T
    blas.add_times_transposed(C, B, A, -0.5)
    close(C, expected, 1e-12, 1e-12)
    S = definite(n)
    expected, above = S + A @ A.T, np.triu(S, 1)
    blas.add_square(S, A)
    close(np.tril(S), np.tril(expected), 1e-12, 1e-12)
    np.testing.assert_array_equal(np.triu(S, 1), above)
    close(blas.mirror(S), expected, 1e-12, 1e-12)
    expected = S - D.T @ D
    blas.subtract_inner(S, D)
    close(blas.mirror(S), expected, 1e-12, 1e-12)


@pytest.mark.parametrize("n", [1, 5, 32, 33, 100])
def test_products_in_single_precision(n):
    rng = np.random.default_rng(3)
    A, B = (rng.standard_normal((rows, 7)).astype(np.float32) for rows in (n, 20))
    C = np.full((n, 20), np.nan, np.float32)
    blas.single_product(C, A, B)
    close(C, A @ B.T, 1e-5, 1e-5)
    close(blas.single_times(B, np.ascontiguousarray(A.T)), B @ A.T, 1e-5, 1e-5)
    S = np.full((n, n), np.nan, np.float32)
    blas.single_square(S, A)
    close(np.tril(S), np.tril(A @ A.T), 1e-5, 1e-5)
    assert np.isnan(S[np.triu_indices(n, 1)]).all()
    blas.single_square(S, A[:, :0])
    assert not np.tril(S).any()


@pytest.mark.parametrize("n", [1, 5, 64, 65, 200])
def test_solves_in_place_and_inverses(n):
    A, rng = definite(n), np.random.default_rng(4)
    L, space = np.full((n, n + 3), np.nan), rng.standard_normal((n, 90))
    L[:, :n], kept = cholesky(A), space.copy()
    blas.solve_lower_in_place(L[:, :n], space[:, :77])
    close(L[:, :n] @ space[:, :77], kept[:, :77], 1e-8, 1e-9)
    np.testing.assert_array_equal(space[:, 77:], kept[:, 77:])
    inverse = blas.inverse_from_cholesky(np.ascontiguousarray(L[:, :n]))
    by_columns, again = np.asfortranarray(L[:, :n]), kept.copy()
    np.testing.assert_array_equal(blas.inverse_from_cholesky(by_columns), inverse)
    blas.solve_lower_in_place(by_columns, again[:, :77])
    np.testing.assert_array_equal(again, space)
    np.testing.assert_array_equal(inverse, inverse.T)
    close(A @ inverse, np.eye(n), 0.0, 1e-7)


def test_a_team_cuts_large_work_into_equal_shares(team, monkeypatch):
    monkeypatch.setattr(blas, "SHARED", 1000)
    assert (blas._parts(999), blas._parts(1000)) == (1, team)
    monkeypatch.setattr(blas, "WIDTH", 16)
    for power in (1.0, 0.5):
        cuts = blas._cuts(800, team, power)
        assert [cut.stop for cut in cuts[:-1]] == [cut.start for cut in cuts[1:]]
        assert (cuts[0].start, cuts[-1].stop, len(cuts)) == (0, 800, team)
        shares = [
            (cut.stop / 800) ** (1 / power) - (cut.start / 800) ** (1 / power) for cut in cuts
        ]
        close(np.array(shares), 1 / team, 0.0, 0.05)
    assert blas._cuts(5, team) == [slice(0, 5)]


def test_a_factor_that_needs_no_help_is_not_counted():
    count = JitterCount()
    cholesky(definite(5), count)
    assert (count.times, count.largest) == (0, 0.0)


def test_help_is_counted():
    v = np.random.default_rng(0).standard_normal((6, 2))
    count = JitterCount()
    L = cholesky(v @ v.T - 1e-14 * np.eye(6), count)
    assert count.times == 1
    assert 0 < count.largest <= 1e-9
    close(L @ L.T, v @ v.T, 0, 1e-7)


def test_help_need_not_be_counted():
    v = np.random.default_rng(0).standard_normal((6, 2))
    L = cholesky(v @ v.T - 1e-14 * np.eye(6))
    close(L @ L.T, v @ v.T, 0, 1e-7)


def test_products_without_rows_or_columns():
    assert blas.times(np.zeros((0, 3)), np.ones((3, 2))).shape == (0, 2)
    assert blas.times(np.ones((2, 3)), np.ones((3, 0))).shape == (2, 0)


def test_a_factor_with_a_zero_on_its_diagonal_has_no_inverse():
    with pytest.raises(np.linalg.LinAlgError, match="zero on its diagonal"):
        blas.inverse_from_cholesky(np.array([[1.0, 0.0], [2.0, 0.0]]))


@pytest.mark.parametrize(
    "A",
    [
        -np.eye(3),
        np.array([[1.0, 2.0], [2.0, 1.0]]),
        np.full((3, 3), np.nan),
        np.diag([1.0, np.nan]),
        np.diag([1.0, np.inf]),
        np.full((40, 40), np.nan),
    ],
    ids=["negative", "indefinite", "nan", "nan pivot", "inf pivot", "large nan"],
)
def test_what_cannot_be_factored_says_so(A):
    with pytest.raises(NumericalError, match=r"could not be factored.*Usual causes"):
        cholesky(A)
