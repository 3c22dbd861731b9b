"""The report of a model that was fitted to a table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from banklearn.cli.files import Record

#: Rows shown in a report: its page holds them all.
MOST_ROWS = 2000
#: Rows that a page needs: with one there is nothing to compare.
FEWEST_ROWS = 2


def write_report(
    model: Any,
    record: Record,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    out: Path,
    standing: Literal["kept out", "seen", "unknown"] = "kept out",
    unused: Iterable[str] = (),
) -> list[str]:
    """Write the page; sentences on what it lacks.

    X and y, the training rows, fit the rival with a fixed kernel; without them there is none.
    ``standing`` says how the test rows stand to the fit, ``unused`` which others there were.
    """
    from banklearn.baselines import RKSClassifier, RKSRegressor
    from banklearn.report import render, summarise

    warnings: list[str] = []
    if X_test is None or len(X_test) < FEWEST_ROWS:
        warnings.append(
            f"{'No' if X_test is None or len(X_test) == 0 else 'Too few'} rows were kept out of "
            "the fit: the report judges it by training rows."
        )
        X_test, y_test, standing = X, y, "seen"
    left_out = list(dict.fromkeys([*record.unusable, *unused]))
    if len(X_test) > MOST_ROWS:
        left_out.append(
            f"The page judges by {MOST_ROWS} of the {len(X_test)} rows at hand, drawn at random."
        )
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
        standing=standing,
    )
    summary["warnings"] += left_out
    summary["table"] = {
        "file": f"{record.source}, SHA-256 {record.digest}",
        "columns": [list(row) for row in record.plan.describe()],
        "notes": record.notes,
    }
    out.write_text(render(summary), encoding="utf-8")
    return warnings
