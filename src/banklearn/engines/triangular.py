"""The inverse of a triangular matrix on a GPU, by halves.

A solver goes through a matrix block after block, each of which waits for the one before. With
L = [[A, 0], [C, B]] the inverse is [[A^-1, 0], [-B^-1 C A^-1, B^-1]]: the small blocks along the
diagonal are inverted all together, then every two neighbours become one by two products, until
there is one left.
"""

from __future__ import annotations

from typing import Any

#: Blocks of up to so many rows are inverted by a solver: a GPU takes them in one kernel.
LEAF = 50


def blocks_of(P: int) -> tuple[int, int]:
    """The size of blocks, and how many of them, a power of two, cover P rows."""
    size, number = P, 1
    while size > LEAF:
        size, number = -(-size // 2), 2 * number
    return size, number


def inverse_by_halves(torch: Any, L: Any) -> Any:
    """L^-1 of one lower triangular tensor (P, P)."""
    P = L.shape[-1]
    size, number = blocks_of(P)
    whole = size * number
    # Beyond P it is the identity, which does not mix with the rest.
    source = torch.zeros((whole, whole), dtype=L.dtype, device=L.device)
    source[:P, :P] = L
    source.diagonal()[P:] = 1.0
    inverse = torch.zeros_like(source)

    def blocks(of: Any, row: int, column: int, apart: int) -> Any:
        """One batch: the block that begins there, and those further along the diagonal."""
        strides = (apart * (whole + 1), whole, 1)
        return of.as_strided((whole // apart, size, size), strides, row * whole + column)

    eye = torch.eye(size, dtype=L.dtype, device=L.device).expand(number, size, size)
    leaves = torch.linalg.solve_triangular(blocks(source, 0, 0, size), eye, upper=False)
    blocks(inverse, 0, 0, size).copy_(leaves)
    while size < whole:
        A = blocks(inverse, 0, 0, 2 * size)
        B = blocks(inverse, size, size, 2 * size)
        C = blocks(source, size, 0, 2 * size)
        blocks(inverse, size, 0, 2 * size).copy_((B @ (C @ A)).neg_())
        size *= 2
    return inverse[:P, :P]
