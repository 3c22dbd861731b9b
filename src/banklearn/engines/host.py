"""Operations on NumPy arrays: BLAS and compiled loops, in reused work space."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.model.evidence import Ridge, ridge
from banklearn.model.features import Trend, feature_rows, trend_columns
from banklearn.numerics import blas
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.scratch import scratch
from banklearn.numerics.threads import in_parts, team_size

Array = NDArray[np.float64]


def _spare(columns: int) -> bool:
    """Whether threads may share a copy: those of BLAS wait on their cores for its next product."""
    return columns > 300 and team_size() > 1


class HostOps:
    """The reference implementation of :class:`banklearn.gram.Ops`."""

    #: Of features.
    dtype: Any = np.float64

    def zeros(self, *shape: int) -> Array:
        """An accumulator."""
        return np.zeros(shape)

    def array(self, values: Array) -> Array:
        """Nothing to move."""
        return values

    def host(self, values: Array) -> Array:
        """Nothing to move."""
        return values

    def features(
        self, X: Array, W: Array, trend: Trend, scale: float, name: str
    ) -> tuple[Array, float]:
        """Compiled cosines and sines."""
        P = trend_columns(trend, X.shape[1]) + 2 * len(W)
        out = scratch(name, (P, len(X)), self.dtype)
        self.features_into(X, W, trend, scale, out)
        return out, 1.0

    def features_into(self, X: Array, W: Array, trend: Trend, scale: float, out: Array) -> None:
        """The same in memory that somebody else keeps."""
        feature_rows(X, W, trend, out, scale)

    def take(self, A: Array, rows: NDArray[np.intp]) -> Array:
        """Some of the columns, copied."""
        return np.take(A, rows, axis=1)

    def weigh(self, A: Array, weight: Array) -> Array:
        """Columns times the square roots of weights."""
        root = np.sqrt(weight).astype(self.dtype, copy=False)
        return np.multiply(A, root, out=scratch("weighted", A.shape, self.dtype))

    def add_square(self, C: Array, t: int, A: Array, factor: float) -> None:
        """Lower triangle only."""
        blas.add_square(C[t], A, factor)

    def add_cross(self, C: Array, A: Array, B: Array, factor: float) -> None:
        """C += factor A B'."""
        blas.add_times_transposed(C, A, B, factor)

    def times(self, A: Array, B: Array) -> Array:
        """A B."""
        return blas.times(A, B)

    def add_slope(
        self, slope: Array, Phi: Array, R: Array, A: Any, residual: Array, mu: Array, rows: Any
    ) -> Array:
        """A fused loop; a task that sees some of the rows is added there."""
        from banklearn.numerics import _compiled

        a = np.ones(Phi.shape[1]) if A is None else A[0]
        if rows is None:
            _compiled.add_phase_gradient(Phi, R, a, residual[0], mu, slope)
        else:
            part = np.zeros((len(slope), len(rows)))
            _compiled.add_phase_gradient(Phi, R, a, residual[0], mu, part)
            slope[:, rows] += part
        return slope

    def inverse(self, L: Array) -> Array:
        """(L L')^-1."""
        return blas.inverse_from_cholesky(L)

    def select(self, C: Array, columns: NDArray[np.intp]) -> Array:
        """In one pass over the chosen rows."""
        from banklearn.numerics import _compiled

        if len(columns) and not 0 <= columns.min() <= columns.max() < C.shape[1]:
            raise IndexError(
                f"columns go from {columns.min()} to {columns.max()}, of {C.shape[1]}."
            )
        out = np.empty((len(C), len(columns), len(columns)))
        for C_t, out_t in zip(C, out, strict=True):
            in_parts(_compiled.select, C_t, columns, out_t, side_by_side=_spare(len(columns)))
        return out

    def ridge(self, G: Array, r: Array, lam: float, count: JitterCount) -> Ridge:
        """Cholesky, with a ladder of jitter where it fails."""
        return ridge(G, r, lam, count)

    def extend(self, known: Array, cross: Array, square: Array) -> Array:
        """One matrix from its parts, in work space: the next call overwrites it."""
        from banklearn.numerics import _compiled

        Q = sum(cross.shape)
        G = scratch("extended", (Q, Q))
        in_parts(_compiled.extend, known, cross, square, G, side_by_side=_spare(Q))
        return G

    def symmetric(self, C: Array) -> Array:
        """Mirror each matrix in place."""
        for matrix in C:
            blas.mirror(matrix)
        return C
