"""What a report says of a classifier: scores, calibration, confusion, and the sentences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.posterior.calibration import class_codes, known_codes, reliability, top_class
from banklearn.report.scores import score_names
from banklearn.report.svg import inline_svg
from banklearn.report.words import judged, number, percent, shown
from banklearn.viz.reliability import ReliabilityDisplay

Array = NDArray[np.float64]

#: Key of a score, its heading, and how a value is written.
SCORES = (
    ("accuracy", "right", percent),
    ("log_loss", "log loss", number),
    ("calibration", "calibration error", number),
)


def class_scores(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    """Accuracy, and where there are probabilities, log loss and expected calibration error."""
    right = np.asarray(estimator.predict(X)) == np.asarray(y)
    scores = {"accuracy": float(np.mean(right))}
    if not hasattr(estimator, "predict_proba"):
        return scores
    p, codes = estimator.predict_proba(X), class_codes(estimator.classes_, y)
    own = np.where(codes >= 0, p[np.arange(len(codes)), np.maximum(codes, 0)], 0.0)
    scores["log_loss"] = float(-np.mean(np.log(np.maximum(own, np.finfo(float).tiny))))
    scores["calibration"] = reliability(*top_class(p, codes)).error
    return scores


def summarise_classes(estimator: Any, X: Any, y: Any, baseline: Any) -> dict[str, Any]:
    """The part of a summary that only classifiers have."""
    p, codes = estimator.predict_proba(X), class_codes(estimator.classes_, y)
    names = [str(label) for label in np.asarray(estimator.classes_).tolist()]
    own, rival = score_names(estimator, baseline)
    scores = {own: class_scores(estimator, X, y)}
    if baseline is not None:
        known_codes(baseline.classes_, y, "y_test", "baseline")  # or a sentence
        scores[rival] = class_scores(baseline, X, y)
    confusion = np.zeros((len(names), len(names)), dtype=int)
    known = codes >= 0
    np.add.at(confusion, (codes[known], p[known].argmax(axis=1)), 1)
    curve = {
        key: [None if np.isnan(v) else float(v) for v in values]
        for key, values in reliability(*top_class(p, codes))._asdict().items()
    }
    return {
        "task": "classification",
        "scores": scores,
        "reliability": curve,
        "classes": names,
        "confusion": confusion.tolist(),
        "data": {
            "test_rows": len(codes),
            "class_counts": confusion.sum(axis=1).tolist(),
            "unknown_labels": sorted({str(label) for label in np.asarray(y)[~known].tolist()}),
            "unknown_rows": int((~known).sum()),
        },
    }


def class_sentences(summary: dict[str, Any]) -> list[str]:
    """How the classifier did, one sentence each."""
    (name, own), *others = summary["scores"].items()
    n, counts = summary["data"]["test_rows"], summary["data"]["class_counts"]
    most = max(range(len(counts)), key=counts.__getitem__)
    out = [
        f"On {n} {judged(summary)}, {percent(own['accuracy'])} of the predicted classes are "
        f"right; always answering {summary['classes'][most]} would give "
        f"{percent(counts[most] / n)}."
    ]
    if others:
        rival, score = others[0]
        gap = own["accuracy"] - score["accuracy"]
        # Two standard errors of a difference of shares, were they independent.
        chance = 2.0 * math.sqrt(2.0 * max(own["accuracy"] * (1 - own["accuracy"]), 1e-12) / n)
        verdict = (
            "about as often right as"
            if abs(gap) <= chance
            else ("more often right than" if gap > 0 else "less often right than")
        )
        out.append(f"{name} is {verdict} {rival} ({percent(score['accuracy'])}).")
    out.append(
        f"Its probabilities miss the observed shares by {percent(own['calibration'])} on average "
        f"(expected calibration error), and its log loss is {number(own['log_loss'])}."
    )
    return out


def reliability_svg(summary: dict[str, Any]) -> str:
    """The reliability curve as inline SVG."""
    display = ReliabilityDisplay(**summary["reliability"])
    return inline_svg(display.plot, "Reliability of the probabilities", "reliability", (5.8, 5.0))


def data_rows(summary: dict[str, Any]) -> list[list[str]]:
    """Rows of the table of the data."""
    counts = zip(summary["classes"], summary["data"]["class_counts"], strict=True)
    return [
        [f"rows {shown(summary)}", str(summary["data"]["test_rows"])],
        [f"classes {shown(summary)}", ", ".join(f"{name}: {count}" for name, count in counts)],
    ]


def confusion_table(summary: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: true classes down, predicted classes across."""
    head = ["true class", *(f"predicted {name}" for name in summary["classes"])]
    rows = [
        [name, *map(str, row)]
        for name, row in zip(summary["classes"], summary["confusion"], strict=True)
    ]
    return head, rows


def caption() -> str:
    """What the reliability curve shows."""
    return (
        "Rows are put into bins by the probability of their most probable class. Calibrated "
        "probabilities lie on the diagonal, up to chance."
    )
