"""Leapfrog steps along a density, in memory or on a device."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.repeated import Step

Array = NDArray[np.float64]

#: A trajectory whose energies differ by more than this is lost, and is not followed to its end.
LOST = 1000.0


class LateError(Exception):
    """There is no time for the rest of a trajectory."""


class Path(Protocol):
    """What a trajectory follows: a :class:`.Target` in memory, or one :class:`.Aloft`."""

    hurried: Callable[[float], bool]

    @property
    def steps_between_looks(self) -> int:
        """Numbers are waited for after so many steps."""
        ...

    def start(self, W: Array, length: int) -> Any:
        """The place with its gradients where a trajectory of `length` steps begins."""
        ...

    def at(self, W: Any) -> Any:
        """A place, where W is of the arrays that it computes with."""
        ...

    def sloping(self, place: Any) -> Any:
        """The place with its gradients."""
        ...

    def energy(self, place: Any, q: Any) -> Any:
        """Minus the log density plus half the squares of the momenta."""
        ...

    def again(self, length: int) -> Step:
        """:func:`leap` from (stride, W, pull, q), in whatever way makes `length` quickly."""
        ...

    def there(self, values: Array) -> Any:
        """Values from memory where it computes."""
        ...

    def back(self, values: Any) -> Array:
        """Values in memory."""
        ...


def leap(target: Path, stride: Any, W: Any, pull: Any, q: Any) -> tuple[Any, Any, Any]:
    """One leapfrog step: half kick, move, half kick; the energy after it. stride is step root."""
    q = q + 0.5 * (pull @ stride)
    point = target.sloping(target.at(W + q @ stride.T))
    q = q + 0.5 * (point.pull @ stride)
    return point, q, target.energy(point.place, q)


def trajectory(
    target: Path, start: Any, q: Any, root: Any, step: float, length: int
) -> tuple[Any, Any] | None:
    """`length` leapfrog steps: reversible and volume preserving.

    None where it is lost, which it then is from either end. LateError where the time that is left
    would not do for steps that take as long as the longest so far. Both are looked at after so many
    steps as the target says: a look at a device waits for it.
    """
    point, longest = start, 0.0
    lowest = highest = float(target.energy(start.place, q))
    again, stride = target.again(length), step * root
    unseen: list[Any] = []
    begin = time.perf_counter()
    for left in range(length, 0, -1):
        if target.hurried(left * longest):
            raise LateError
        point, q, here = again(stride, point.place.W, point.pull, q)
        unseen.append(here)
        if left > 1 and len(unseen) < target.steps_between_looks:
            continue
        energies = [float(there) for there in unseen]
        lowest, highest = min(lowest, *energies), max(highest, *energies)
        if not (np.isfinite(energies).all() and highest - lowest <= LOST):
            return None
        now = time.perf_counter()
        longest, begin = max(longest, (now - begin) / len(unseen)), now
        unseen.clear()
    return point, q
