"""How good predictions are, as a dictionary of numbers: the same scores in every command."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from banklearn.posterior.calibration import class_codes
from banklearn.report.scores import bank_scores, rival_scores

#: Coverage at which intervals are judged.
INTERVAL = 0.95


def scores(model: Any, X: Any, y: Any, reference: Any) -> dict[str, float]:
    """Scores of a fitted model on rows that it has not seen.

    reference is the training target, whose mean or commonest class is the least one can do.
    """
    if hasattr(model, "classes_"):
        return _classes(model, X, y, reference)
    return _numbers(model, X, y, reference)


def _numbers(model: Any, X: Any, y: Any, reference: Any) -> dict[str, float]:
    score = bank_scores if hasattr(model, "predict_interval") else rival_scores
    return {
        **score(model, X, y, INTERVAL),
        "trivial_mse": float(np.mean((y - np.mean(reference)) ** 2)),
    }


def _classes(model: Any, X: Any, y: Any, reference: Any) -> dict[str, float]:
    p = model.predict_proba(X)
    codes = class_codes(model.classes_, y)
    chosen = np.where(codes >= 0, p[np.arange(len(p)), np.maximum(codes, 0)], 0.0)
    labels, counts = np.unique(reference, return_counts=True)
    return {
        "error": float(np.mean(p.argmax(axis=1) != codes)),
        "log_loss": float(-np.mean(np.log(np.maximum(chosen, np.finfo(float).tiny)))),
        "trivial_error": float(np.mean(np.asarray(y) != labels[counts.argmax()])),
    }


def in_words(found: dict[str, float], rows: int) -> list[str]:
    """Scores as sentences."""
    if "mse" in found:
        return [
            f"On {rows} rows kept out of the fit: {_explained(found['r2'])}; mean squared error "
            f"{found['mse']:.4g}, of the mean of the training rows alone "
            f"{found['trivial_mse']:.4g}.",
            f"{100 * found['coverage']:.1f} % of them lie in their {100 * INTERVAL:.0f} % "
            f"interval; mean log density {found['log_density']:.3f}.",
        ]
    return [
        f"On {rows} rows kept out of the fit: {100 * found['error']:.1f} % classified wrongly "
        f"({100 * found['trivial_error']:.1f} % by always saying the commonest class); mean log "
        f"loss {found['log_loss']:.3f}."
    ]


def _explained(r2: float) -> str:
    """What R² says; it knows the mean of the rows it judges, which no model does."""
    if math.isnan(r2):
        return "the target does not vary there, so that there is no variance to explain"
    if r2 < 0:
        return f"none of the variance around their own mean explained (R² {r2:.3f})"
    return f"{100 * r2:.1f} % of the variance around their own mean explained"
