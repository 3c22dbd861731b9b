"""The inverse of a factor by halves is the inverse."""

import numpy as np
import pytest

from banklearn.engines.device import DeviceEngine
from banklearn.engines.triangular import LEAF, blocks_of, inverse_by_halves
from helpers import close
from libraries import library


@pytest.mark.parametrize("P", [1, 2, LEAF - 1, LEAF, LEAF + 1, 2 * LEAF, 2 * LEAF + 1, 774, 1000])
def test_blocks_cover_all_rows_and_are_small(P):
    size, number = blocks_of(P)
    assert size <= LEAF
    assert number == 2 ** (number.bit_length() - 1)
    assert P <= size * number < P + number
    assert number == 1 or 2 * size > LEAF


@pytest.mark.torch
@pytest.mark.parametrize("P", [1, 3, LEAF, LEAF + 1, 3 * LEAF, 4 * LEAF + 1, 311])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_it_is_the_inverse(P, dtype):
    import torch

    rng = np.random.default_rng(P)
    A = rng.standard_normal((2 * P + 3, P))
    L = np.linalg.cholesky(A.T @ A + 1e-3 * np.eye(P))
    inverse = inverse_by_halves(torch, torch.from_numpy(L).to(getattr(torch, dtype)))
    assert inverse.shape == (P, P)
    assert str(inverse.dtype) == f"torch.{dtype}"
    eps = np.finfo(dtype).eps
    close(inverse.numpy() @ L, np.eye(P), 0.0, 100 * eps * np.linalg.cond(L))
    np.testing.assert_array_equal(np.triu(inverse.numpy(), 1), 0.0)


@pytest.mark.torch
@pytest.mark.parametrize("P", [LEAF + 1, 801])
def test_what_is_added_beyond_the_last_row_can_be_inverted(P, monkeypatch):
    """At 801 whole blocks are of it. A solver may do anything with a zero on the diagonal."""
    import torch

    solve, sizes = torch.linalg.solve_triangular, []

    def watched(blocks, eye, upper):
        assert (blocks.diagonal(dim1=-2, dim2=-1) != 0.0).all()
        sizes.append(tuple(blocks.shape))
        return solve(blocks, eye, upper=upper)

    monkeypatch.setattr(torch.linalg, "solve_triangular", watched)
    L = torch.tril(torch.ones((P, P), dtype=torch.float64)) + P * torch.eye(P, dtype=torch.float64)
    close((inverse_by_halves(torch, L) @ L).numpy(), np.eye(P), 0.0, 1e-13)
    size, number = blocks_of(P)
    assert sizes == [(number, size, size)]
    assert (size * number - P > size) == (P == 801)


@pytest.mark.torch
def test_operations_invert_by_halves_where_they_are_told_to(monkeypatch):
    """On a GPU, and one factor alone; a batch of small ones is one solve."""
    import torch

    from banklearn.engines import torch_ops

    asked = []

    def counted(torch, L):
        asked.append(L.shape)
        return inverse_by_halves(torch, L)

    monkeypatch.setattr(torch_ops, "inverse_by_halves", counted)
    ops = DeviceEngine(np.zeros((3, 1)), np.zeros(3), xp=library("torch")).ops
    rng = np.random.default_rng(0)
    L = np.tril(rng.standard_normal((2, 120, 120))) / 120 + np.eye(120)
    expected, there = np.linalg.inv(L), torch.from_numpy(L)
    for halves in (False, True):
        ops.halves = halves
        assert ops.lanes(2)[1].halves == halves
        close(ops.inverse_factor(there).numpy(), expected, 1e-10, 1e-12)
        close(ops.inverse_factor(there[0]).numpy(), expected[0], 1e-10, 1e-12)
        close(ops.inverse(L[0]).numpy(), expected[0].T @ expected[0], 1e-10, 1e-12)
    assert [tuple(shape) for shape in asked] == 2 * [(120, 120)]
