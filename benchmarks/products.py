"""The matrix products of a sweep alone: the floor that a sweep is measured against."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import dgemm, dsyrk, sgemm, ssyrk


class InBlocks:
    """A product with p x q numbers for each of N rows and a symmetric one with p x p.

    In blocks whose memory is used again, in the layouts of which BLAS may like either best:
    features as rows, as the package has them, or as columns.
    """

    def __init__(self, N: int, p: int, q: int, block_rows: int) -> None:
        self.N, self.p, self.q, self.block_rows = N, p, q, block_rows

    @property
    def flops(self) -> float:
        return float(self.N) * (2.0 * self.p * self.q + self.p * (self.p + 1.0))

    def ways(self) -> dict[str, Callable[[], None]]:
        """Every way to compute them, by name."""
        return {
            "blocks, features as rows": lambda: self._blocks(True),
            "blocks, features as columns": lambda: self._blocks(False),
        }

    def _blocks(self, feature_rows: bool) -> None:
        for start in range(0, self.N, self.block_rows):
            self._add(min(self.block_rows, self.N - start), feature_rows)

    def _add(self, n: int, feature_rows: bool) -> None:
        """Both products of n rows."""
        raise NotImplementedError


class Products(InBlocks):
    """A cross product C (p, q) += A B' and a symmetric product S (p, p) += A A' over N rows.

    In blocks, or in one call. There is only the symmetric product when q is 0.
    """

    def __init__(self, N: int, p: int, q: int, block_rows: int) -> None:
        super().__init__(N, p, q, block_rows)
        rng = np.random.default_rng(0)
        self.flat = rng.standard_normal(N * (p + q))
        self.C = np.zeros((q, p), order="F")
        self.S = np.zeros((p, p), order="F")

    def ways(self) -> dict[str, Callable[[], None]]:
        """Every way to compute them, by name."""
        return {
            **super().ways(),
            "one call, features as rows": lambda: self._add(self.N, True),
            "one call, features as columns": lambda: self._add(self.N, False),
        }

    def _add(self, n: int, feature_rows: bool) -> None:
        # Fortran order with n rows is what C order with n columns is: features as rows.
        A, B = self.flat[: n * self.p], self.flat[n * self.p : n * (self.p + self.q)]
        if feature_rows:
            A, B, t = A.reshape(n, self.p, order="F"), B.reshape(n, self.q, order="F"), 1
        else:
            A, B, t = A.reshape(self.p, n, order="F"), B.reshape(self.q, n, order="F"), 0
        if self.q:
            dgemm(1.0, B, A, beta=1.0, c=self.C, trans_a=t, trans_b=1 - t, overwrite_c=1)
        dsyrk(1.0, A, beta=1.0, c=self.S, trans=t, overwrite_c=1)


def of_regression(N: int, M: int, h: int, block_rows: int) -> Products:
    """Phi*'Phi and Phi*'Phi*; Phi'Phi is carried over from the last sweep."""
    return Products(N, 2 * M, h + 2 * M, block_rows)


def of_classification(N: int, M: int, h: int, block_rows: int) -> Products:
    """One symmetric product of all columns, current and proposed: the row weights are new."""
    return Products(N, h + 4 * M, 0, block_rows)


class OfGradient(InBlocks):
    """The products of a step along the gradient: Phi'Phi, and A_n^-1 Phi for the rows, in blocks.

    One for all columns of Phi, one for those that a frequency has.
    """

    def __init__(self, N: int, M: int, h: int, block_rows: int, single: bool) -> None:
        super().__init__(N, h + 2 * M, 2 * M, min(block_rows, N))
        dtype = np.float32 if single else np.float64
        rng = np.random.default_rng(0)
        self.gemm, self.syrk = (sgemm, ssyrk) if single else (dgemm, dsyrk)
        self.flat = rng.standard_normal(self.block_rows * self.p).astype(dtype)
        self.inverse = np.asfortranarray(rng.standard_normal((self.q, self.p)), dtype)
        self.S = np.zeros((self.p, self.p), dtype, order="F")
        self.R = np.zeros(self.block_rows * self.q, dtype)

    def _add(self, n: int, feature_rows: bool) -> None:
        Phi, R = self.flat[: n * self.p], self.R[: n * self.q]
        if feature_rows:
            Phi, R = Phi.reshape(n, self.p, order="F"), R.reshape(n, self.q, order="F")
            self.gemm(1.0, Phi, self.inverse, trans_b=1, c=R, overwrite_c=1)
        else:
            Phi, R = Phi.reshape(self.p, n, order="F"), R.reshape(self.q, n, order="F")
            self.gemm(1.0, self.inverse, Phi, c=R, overwrite_c=1)
        self.syrk(1.0, Phi, beta=1.0, c=self.S, trans=int(feature_rows), overwrite_c=1)
