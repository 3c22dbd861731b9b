"""``bank compare``: is it worth it on this table? Cross-validation beside three rivals."""

from __future__ import annotations

import time
from typing import Annotated, Any

import numpy as np
import typer

from banklearn.cli import options as use
from banklearn.cli.durations import seconds
from banklearn.cli.rivals import METHODS, make_rival

#: Share of the time that is kept for predictions and for what takes longer than foreseen.
RESERVE = 0.1
#: A fit of BaNK gets at least so many seconds, whatever the others took.
LEAST = 2.0

Scores = dict[str, list[dict[str, float]]]


def compare(
    data: use.Data,
    target: Annotated[str, typer.Option(help="The column to predict.")],
    task: use.TaskOption = "auto",
    max_time: Annotated[
        str, typer.Option(help="Time for the whole comparison: 90s, 5m, 1h, or none.")
    ] = "5m",
    folds: Annotated[int, typer.Option(min=2, help="Parts of the cross-validation.")] = 5,
    frequencies: Annotated[int, typer.Option(min=1, help="Frequencies of BaNK and RKS.")] = 384,
    drop: use.Drop = None,
    text: use.Text = None,
    encode: use.Encode = "auto",
    separator: use.Separator = None,
    encoding: use.Encoding = None,
    missing: use.Missing = None,
    skip_bad_rows: use.SkipBadRows = False,
    seed: use.Seed = 0,
    json: use.Json = False,
) -> None:
    """Compare BaNK with a linear model, one RBF kernel and gradient boosting on your table.

    All see the same inputs, encoded anew from the training rows of each fold. The rivals are
    fitted first; BaNK then shares what is left of the time among the folds.

    $ bank compare flats.csv --target price --frequencies 32 --folds 2 --max-time 5s
    """
    limit = seconds(max_time)
    from banklearn.cli import say
    from banklearn.cli.prepare import prepare
    from banklearn.tables import PlanOptions

    begin = time.monotonic()
    reading = use.read_options(separator, encoding, missing, skip_bad_rows)
    found = prepare(data, target, task, reading)
    say.notes(found.notes)
    say.warn(found.unusable)
    chosen = PlanOptions(tuple(drop or ()), tuple(text or ()), encode)
    parts = fold_inputs(found, folds, chosen, seed)
    results: Scores = {name: [] for name in METHODS}
    kind = found.target.task
    with say.console().status("") as status:
        for name in list(METHODS)[:-1]:
            for f, part in enumerate(parts):
                status.update(f"{name}, fold {f + 1} of {folds}")
                model = make_rival(name, kind, frequencies, seed)
                results[name].append(_timed(model, part)[0])
        cut = 0
        for f, part in enumerate(parts):
            status.update(f"BaNK, fold {f + 1} of {folds}")
            share = None
            if limit is not None:
                left = limit * (1 - RESERVE) - (time.monotonic() - begin)
                share = max(left / (folds - f), LEAST)
            scored, warned = _timed(_bank(kind, frequencies, seed, share), part)
            cut += any("max_time" in sentence for sentence in warned)
            results["BaNK"].append(scored)
    _show(results, kind, target, len(found.y), folds, cut, time.monotonic() - begin, json)
    if json:
        say.as_json(
            {
                "command": "compare",
                "task": kind,
                "rows": len(found.y),
                "folds": folds,
                "ended_early": cut,
                "seconds": time.monotonic() - begin,
                "methods": results,
                "unusable": found.unusable,
            }
        )


def fold_inputs(found: Any, folds: int, chosen: Any, seed: int) -> list[tuple[Any, ...]]:
    """(X, y, X_test, y_test) of each fold; a table's plan is learned from training rows alone."""
    from sklearn.model_selection import KFold, StratifiedKFold

    from banklearn.tables import TableError, learn_plan

    if folds > len(found.y):
        raise TableError(f"{len(found.y)} rows cannot be cut into {folds} folds.")
    kind: Any = KFold
    if found.target.task == "classification":
        labels, counts = np.unique(found.y, return_counts=True)
        if counts.min() < 2:
            raise TableError(
                f"Only one row has the class {labels[counts.argmin()].item()!r}: it cannot be in "
                "training and test rows. Leave it out."
            )
        kind = StratifiedKFold if counts.min() >= folds else KFold
    parts = []
    for train, test in kind(folds, shuffle=True, random_state=seed).split(found.y, found.y):
        learned = learn_plan(found.table.take(train), found.target, found.y[train], chosen, seed)
        X_test, _ = learned.plan.apply(found.table.take(test), unseen="ignore")
        parts.append((learned.X, found.y[train], X_test, found.y[test]))
    return parts


def _bank(task: str, frequencies: int, seed: int, share: float | None) -> Any:
    from banklearn.cli.estimator import make

    return make(task, n_frequencies=frequencies, max_time=share, random_state=seed)


def _timed(model: Any, part: tuple[Any, ...]) -> tuple[dict[str, float], list[str]]:
    """Scores on the test rows with the seconds of the fit, and the warnings of the fit."""
    from banklearn.cli.estimator import fit_caught
    from banklearn.cli.scoring import scores

    X, y, X_test, y_test = part
    start = time.monotonic()
    warned = fit_caught(model, X, y)
    took = time.monotonic() - start
    return {**scores(model, X_test, y_test, y), "seconds": took}, warned


def _show(
    results: Scores,
    task: str,
    target: str,
    rows: int,
    folds: int,
    cut: int,
    took: float,
    piped: bool,
) -> None:
    """The table: mean and standard error over the folds."""
    from banklearn.cli import say

    if task == "regression":
        head = {"mse": "mean squared error", "r2": "R²", "log_density": "log density"}
        head["coverage"] = "in 95 % interval"
    else:
        head = {"error": "error", "log_loss": "log loss"}
    main = next(iter(head))
    lines = []
    for name, each in results.items():
        cells = [name]
        for key in head:
            values = [fold[key] for fold in each if key in fold]
            cells.append(_mean(values, with_error=key == main) if values else "")
        better = sum(a[main] < b[main] for a, b in zip(each, results["BaNK"], strict=True))
        cells.append("" if name == "BaNK" else f"{better} of {folds}")
        cells.append(f"{np.mean([fold['seconds'] for fold in each]):.1f}")
        lines.append(cells)
    columns = ["method", *head.values(), "folds better than BaNK", "seconds a fit"]
    out = say.console() if piped else say.result_console()
    out.print(say.grid(f"{target}: {rows} rows, {folds} folds", columns, lines))
    for name, what in METHODS.items():
        out.print(f"[bold]{name}[/]: {what}.")
    if cut:
        out.print(f"The time ended {cut} of {folds} fits of BaNK early; more may improve it.")
    out.print(f"{took:.0f} seconds in all.")


def _mean(values: list[float], with_error: bool) -> str:
    text = f"{np.mean(values):.4g}"
    if with_error and len(values) > 1:
        text += f"±{np.std(values, ddof=1) / np.sqrt(len(values)):.2g}"
    return text
