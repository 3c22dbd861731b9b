"""The folds of the evaluation protocol."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


def folds(n_rows: int, k: int = 5) -> list[tuple[Rows, Rows]]:
    """Row numbers (train, test) of each fold, the same for everybody.

    idx = numpy.random.default_rng(0).permutation(n_rows); fold f tests on idx[f::k] and trains
    on the rest, in the order of idx.
    """
    if not 2 <= k <= n_rows:
        raise ValueError(
            f"{n_rows} rows cannot be cut into k={k} folds; k goes from 2 to {n_rows}."
        )
    idx = np.random.default_rng(0).permutation(n_rows)
    return [(np.delete(idx, np.s_[f::k]), idx[f::k]) for f in range(k)]
