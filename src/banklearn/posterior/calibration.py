"""Whether predicted probabilities come true: reliability by bins, expected calibration error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Reliability(NamedTuple):
    """Per bin: mean predicted probability, share that came true, and number of rows."""

    predicted: Array
    observed: Array
    rows: Array

    @property
    def error(self) -> float:
        """Expected calibration error: the mean gap, weighted by the rows of each bin."""
        full = self.rows > 0
        gap = np.abs(self.predicted[full] - self.observed[full])
        return float(gap @ self.rows[full] / self.rows.sum())


def reliability(probability: ArrayLike, happened: ArrayLike, bins: int = 15) -> Reliability:
    """Rows sorted into bins of equal width by probability; empty bins hold NaN."""
    p = np.asarray(probability, dtype=np.float64)
    yes = np.asarray(happened, dtype=np.float64)
    if p.shape != yes.shape or p.ndim != 1:
        raise ValueError(
            f"probability and happened must be vectors of one length, but have shapes {p.shape} "
            f"and {yes.shape}."
        )
    if len(p) == 0 or not np.all((p >= 0) & (p <= 1)):
        raise ValueError("probability must hold at least one value, all of them between 0 and 1.")
    if bins < 1:
        raise ValueError(f"bins must be at least 1, but is {bins}.")
    place = np.minimum((p * bins).astype(int), bins - 1)
    count = np.bincount(place, minlength=bins).astype(np.float64)
    with np.errstate(invalid="ignore"):
        predicted = np.bincount(place, weights=p, minlength=bins) / count
        observed = np.bincount(place, weights=yes, minlength=bins) / count
    return Reliability(predicted, observed, count)


def is_no_label(value: object) -> bool:
    """Whether what stands in the place of a label says that there is none."""
    return not isinstance(value, str) and str(value) in ("None", "nan", "<NA>", "NaT")


def class_codes(classes: ArrayLike, y: ArrayLike) -> NDArray[np.intp]:
    """Positions of the labels among the classes, -1 for a label never seen."""
    place = {label: i for i, label in enumerate(np.asarray(classes).tolist())}
    return np.array([place.get(label, -1) for label in np.asarray(y).tolist()], dtype=np.intp)


def known_codes(classes: ArrayLike, y: ArrayLike, name: str, whose: str) -> NDArray[np.intp]:
    """As :func:`class_codes`; refused if none of the labels, which are called `name`, is known."""
    codes = class_codes(classes, y)
    if (codes < 0).all():
        first, known = np.asarray(y).tolist()[0], np.asarray(classes).tolist()
        raise ValueError(
            f"None of the labels in {name} is a class of the {whose}: {name} has {first!r}, the "
            f"classes are {', '.join(map(str, known))}."
        )
    return codes


def top_class(probabilities: ArrayLike, codes: ArrayLike) -> tuple[Array, Array]:
    """Probability of the most probable class of each row, and whether it was the true one.

    probabilities (n, C), codes (n,): positions of the true classes, -1 for one never seen.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    best = p.argmax(axis=1)
    return p.max(axis=1), (best == np.asarray(codes)).astype(np.float64)
