"""Features that one sum over the rows forms and the next one, at the same frequencies, uses again.

A step along the gradient needs them twice: for the statistic, and for the gradient, which wants the
factors of the whole statistic first.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from banklearn.model.features import Trend, trend_columns

Array = NDArray[np.float64]

#: Bytes of features that are kept, so that memory does not grow with the rows.
ROOM = 128 << 20


class Features(Protocol):
    """Where a sum over the rows finds its features."""

    def of(
        self, ops: Any, X: Any, start: int, W: Any, trend: Trend, scale: float
    ) -> tuple[Any, float]:
        """What ``ops.features`` gives for the rows X of the block that begins at `start`."""
        ...


class LastFeatures:
    """The features that each lane of a device formed last, which are in its work space.

    A lane with one block needs no others. Whoever asks for others through this overwrites them.
    """

    def __init__(self) -> None:
        self._last: dict[int, tuple[Any, int, tuple[Any, float]]] = {}

    def of(
        self, ops: Any, X: Any, start: int, W: Any, trend: Trend, scale: float
    ) -> tuple[Any, float]:
        """What ``ops.features`` gives for the rows X of the block that begins at `start`."""
        last = self._last.get(id(ops))
        if last is None or last[0] is not W or last[1] != start:
            last = self._last[id(ops)] = (W, start, ops.features(X, W, trend, scale, "Phi"))
        return last[2]


class KeptFeatures:
    """Features at one array of frequencies, of the blocks of one engine, for one thread.

    At other frequencies they are formed anew, in the same memory. Blocks that find no room, and
    those on a device, are formed whenever they are asked for.
    """

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self._W: Array | None = None
        self._buffers: dict[int, NDArray[Any]] = {}
        self._formed: set[int] = set()

    def of(
        self, ops: Any, X: Any, start: int, W: Array, trend: Trend, scale: float
    ) -> tuple[Any, float]:
        """What ``ops.features`` gives for the rows X of the block that begins at `start`.

        They must not be changed in place.
        """
        if self._W is not W:
            self._W = W
            self._formed.clear()
        if start not in self._formed:
            into = getattr(ops, "features_into", None)
            shape = (trend_columns(trend, W.shape[1]) + 2 * len(W), X.shape[0])
            if into is None or not self._finds_room(start, shape, ops.dtype):
                features: tuple[Any, float] = ops.features(X, W, trend, scale, "Phi")
                return features
            into(X, W, trend, scale, self._buffers[start])
            self._formed.add(start)
        return self._buffers[start], 1.0

    def _finds_room(self, start: int, shape: tuple[int, int], dtype: Any) -> bool:
        if start not in self._buffers:
            size = shape[0] * shape[1] * np.dtype(dtype).itemsize
            if size > self.room:
                return False
            self.room -= size
            self._buffers[start] = np.empty(shape, dtype)
        return True
