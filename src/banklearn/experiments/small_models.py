"""Fitted models kept beside cells: the model file, with as many draws as a size allows."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ENDING = ".bank"
#: Bytes of a model file beside a cell.
MOST_BYTES = 2_000_000


def writer(model: Any, most_bytes: int = MOST_BYTES) -> Callable[[Path], None]:
    """A function that saves the model with draws left out evenly until the file is small enough."""

    def write(path: Path) -> None:
        count = len(model.draws_)
        while True:
            thinned(model, count).save(path)
            size = path.stat().st_size
            if size <= most_bytes or count == 1:
                return
            count = max(1, min(count - 1, int(count * most_bytes / size)))

    return write


def thinned(model: Any, count: int) -> Any:
    """The model with so many of its draws, spread evenly over them (and so over the chains)."""
    places = np.linspace(0, len(model.draws_) - 1, count).round().astype(int)
    small = copy.copy(model)
    small.draws_ = [model.draws_[i] for i in places]
    return small
