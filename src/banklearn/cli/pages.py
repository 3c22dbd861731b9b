"""The report of a model that was fitted to a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from banklearn.cli.files import Record

#: Rows shown in a report: its page holds them all.
MOST_ROWS = 2000


def write_report(
    model: Any, record: Record, X: Any, y: Any, X_test: Any, y_test: Any, out: Path
) -> list[str]:
    """Write the page; sentences on what it lacks.

    X and y, the training rows, fit the rival with a fixed kernel; without them there is none.
    """
    from banklearn.baselines import RKSClassifier, RKSRegressor
    from banklearn.report import render, summarise

    warnings: list[str] = []
    if X_test is None or len(X_test) == 0:
        warnings.append("No rows were kept out of the fit: the report judges it by training rows.")
        X_test, y_test = X, y
    if len(X_test) > MOST_ROWS:
        picked = np.random.default_rng(record.seed).permutation(len(X_test))[:MOST_ROWS]
        X_test, y_test = X_test[picked], y_test[picked]
    rival = None
    if X is not None:
        kind = RKSRegressor if record.plan.target.task == "regression" else RKSClassifier
        rival = kind(model.n_frequencies, random_state=record.seed).fit(X, y)
    name = record.plan.target.name
    summary = summarise(
        model,
        X_test,
        y_test,
        rival,
        names=record.plan.inputs,
        title=f"{record.source}: what was learned about {name}",
        target=name,
    )
    out.write_text(render(summary), encoding="utf-8")
    return warnings
