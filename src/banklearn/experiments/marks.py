"""Which methods are not significantly worse than the best, as the paper's tables mark them.

Regression: paired t-test of the folds' mean squared errors. Classification: McNemar's test of
the rows on which exactly one of the two methods is right, folds pooled (each row is tested once).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest, ttest_rel

#: Below this p-value two methods are told apart.
LEVEL = 0.05


class Mark(NamedTuple):
    """Whether a method has the lowest error, and the p-value of its difference to the lowest."""

    lowest: bool
    p_value: float

    @property
    def bold(self) -> bool:
        """Not told apart from the lowest; False where there was nothing to test with."""
        return self.lowest or self.p_value >= LEVEL

    @property
    def words(self) -> str:
        """What a table says: "lowest", the p-value, or a dash where nothing could be tested."""
        if self.lowest:
            return "lowest"
        return "\N{EN DASH}" if np.isnan(self.p_value) else f"{self.p_value:.2g}"


def paired_t(a: ArrayLike, b: ArrayLike) -> float:
    """Two-sided p-value of Student's paired t-test; NaN below two pairs, 1 for equal values."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"A paired test needs vectors of one length, not {a.shape}, {b.shape}.")
    if a.size < 2:
        return float("nan")
    difference = a - b
    if np.ptp(difference) == 0.0:
        return 1.0 if difference[0] == 0.0 else 0.0
    return float(ttest_rel(a, b).pvalue)


def mcnemar(right_a: ArrayLike, right_b: ArrayLike) -> float:
    """Two-sided p-value of McNemar's test, exact: the discordant rows are fair coin tosses."""
    a, b = np.asarray(right_a, dtype=bool), np.asarray(right_b, dtype=bool)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"A paired test needs vectors of one length, not {a.shape}, {b.shape}.")
    only_a, only_b = int(np.sum(a & ~b)), int(np.sum(b & ~a))
    if only_a + only_b == 0:
        return 1.0
    return float(binomtest(only_a, only_a + only_b, 0.5).pvalue)


def t_marks(errors: dict[str, dict[int, float]]) -> dict[str, Mark]:
    """Marks from the errors of each method by fold; a pair is compared on the folds both have."""
    lowest = _lowest({method: list(by_fold.values()) for method, by_fold in errors.items()})
    marks = {}
    for method, by_fold in errors.items():
        common = sorted(by_fold.keys() & errors[lowest].keys())
        p = paired_t([by_fold[f] for f in common], [errors[lowest][f] for f in common])
        marks[method] = Mark(method == lowest, 1.0 if method == lowest else p)
    return marks


def mcnemar_marks(right: dict[str, dict[int, np.ndarray]]) -> dict[str, Mark]:
    """Marks from the rows that each method got right, by fold, pooled over common folds."""
    lowest = _lowest({m: [float(np.mean(~r)) for r in rows.values()] for m, rows in right.items()})
    marks = {}
    for method, rows in right.items():
        common = sorted(rows.keys() & right[lowest].keys())
        p = float("nan")
        if common:
            p = mcnemar(
                np.concatenate([rows[f] for f in common]),
                np.concatenate([right[lowest][f] for f in common]),
            )
        marks[method] = Mark(method == lowest, 1.0 if method == lowest else p)
    return marks


def _lowest(errors: dict[str, list[float]]) -> str:
    return min(errors, key=lambda method: float(np.mean(errors[method])))
