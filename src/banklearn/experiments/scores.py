"""What is measured of a fitted model on the rows of a fold that it has not seen."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.posterior.calibration import reliability, top_class
from banklearn.report.scores import bank_scores, rival_scores

Array = NDArray[np.float64]

#: Coverage that is asked of the central intervals.
LEVEL = 0.95


def regression_scores(model: Any, X: Array, y: Array) -> dict[str, Any]:
    """Mean squared error; nlpd and coverage where the model gives a law or a deviation."""
    score = bank_scores if hasattr(model, "predict_interval") else rival_scores
    found = score(model, X, y, LEVEL)
    out = {"error": found["mse"]}
    if "log_density" in found:
        out |= {"nlpd": -found["log_density"], "coverage": found["coverage"]}
    return out


def classification_scores(model: Any, X: Array, y: np.ndarray) -> dict[str, Any]:
    """The scores of a classifier's probabilities."""
    return probability_scores(model.predict_proba(X), model.classes_, y)


def probability_scores(p: Array, classes: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Share of wrong labels, nlpd, expected calibration error, and which rows were right.

    ``missed`` counts the classes that occur among the rows and are never predicted.
    """
    p = np.array(p, dtype=float)
    p /= p.sum(axis=1, keepdims=True)  # float32 libraries leave sums a little off one
    place = np.searchsorted(classes, y)
    known = classes[np.minimum(place, len(classes) - 1)] == y
    codes = np.where(known, place, -1)
    of_truth = np.where(known, p[np.arange(len(y)), np.maximum(codes, 0)], 0.0)
    confidence, right = top_class(p, codes)
    bins = reliability(np.minimum(confidence, 1.0), right)
    return {
        "error": float(1.0 - right.mean()),
        "nlpd": float(-np.mean(np.log(np.maximum(of_truth, 1e-300)))),
        "ece": bins.error,
        "bins": [[int(n), float(c * n), float(o * n)] for c, o, n in zip(*bins, strict=True) if n],
        "filled": [int(i) for i in np.flatnonzero(bins.rows)],
        "missed": len(set(np.unique(y)) - set(classes[p.argmax(axis=1)])),
        "right": pack(right > 0.5),
        "rows": len(y),
    }


def pooled_error(records: Sequence[Mapping[str, Any]]) -> float:
    """Expected calibration error of all folds together; NaN where a fold has no bins.

    A fold of few rows has a large error by chance alone, however well calibrated it is.
    """
    total: dict[int, NDArray[np.float64]] = {}
    for record in records:
        if "bins" not in record:
            return float("nan")
        for place, bin_ in zip(record["filled"], record["bins"], strict=True):
            total[place] = total.get(place, np.zeros(3)) + np.array(bin_, dtype=float)
    gaps = sum(abs(float(confidence - right)) for _, confidence, right in total.values())
    return gaps / sum(float(rows) for rows, _, _ in total.values())


def pack(right: NDArray[np.bool_]) -> str:
    """Booleans as text, eight to a byte."""
    return base64.b64encode(np.packbits(right).tobytes()).decode("ascii")


def unpack(text: str, rows: int) -> NDArray[np.bool_]:
    """The booleans that ``pack`` wrote."""
    bits = np.frombuffer(base64.b64decode(text), dtype=np.uint8)
    return np.unpackbits(bits, count=rows).astype(bool)
