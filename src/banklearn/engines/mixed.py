"""Features and their products in single precision, sums in double precision.

Only the statistics that are one large product have it, and only as long as rounding does not show
in the log evidence (:mod:`banklearn.sampler.rounding`).
"""

from __future__ import annotations

from copy import copy
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.base import Statistic
from banklearn.engines.host import HostOps
from banklearn.gram import GradientSum, GramSum, ProposalSum
from banklearn.numerics import single
from banklearn.numerics.blas import single_times

Array = NDArray[np.float64]
Arithmetic = Literal["double", "mixed"]


class MixedOps(HostOps):
    """:class:`HostOps` with rows of float32; phases, cosines and sines are formed in float64."""

    dtype = np.float32

    def add_square(self, C: Array, t: int, A: Any, factor: float) -> None:
        """Lower triangle only."""
        single.add_square(C[t], A, factor)

    def add_cross(self, C: Array, A: Any, B: Any, factor: float) -> None:
        """C += factor A B'."""
        single.add_cross(C, A, B, factor)

    def times(self, A: Any, B: Any) -> Any:
        """A B: both in one precision, or one of them features and summed in double precision."""
        if A.dtype != self.dtype and B.dtype != self.dtype:
            return super().times(A, B)
        if A.dtype != self.dtype:
            return single.times_rows(A, B)
        return single_times(A, B) if B.dtype == self.dtype else single.rows_times(A, B)

    def inverse(self, L: Array) -> Any:
        """(L L')^-1, rounded to what it is multiplied by."""
        return super().inverse(L).astype(self.dtype)


class Products:
    """Operations for a statistic, in an arithmetic."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self._exact = HostOps()
        self._products = MixedOps() if arithmetic == "mixed" else self._exact

    def __call__(self, statistic: Statistic[Any]) -> HostOps:
        """What is no product of features stays in double precision."""
        product = isinstance(statistic, GramSum | ProposalSum | GradientSum)
        return self._products if product else self._exact


class Summed:
    """An engine whose copies sum the same rows in another arithmetic."""

    arithmetic: Arithmetic

    @property
    def ops_for(self) -> Products:
        """Operations in the engine's arithmetic."""
        return Products(self.arithmetic)

    def exact(self) -> Self:
        """The same rows, summed in double precision."""
        return self._in("double")

    def rough(self) -> Self:
        """The same rows, multiplied in single precision."""
        return self._in("mixed")

    def _in(self, arithmetic: Arithmetic) -> Self:
        if arithmetic == self.arithmetic:
            return self
        other = copy(self)
        other.arithmetic = arithmetic
        return other
