"""``bank compare``: is it worth it on this table? Cross-validation beside three rivals."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from banklearn.cli import options as use
from banklearn.cli.durations import seconds
from banklearn.cli.exits import DATA, INTERRUPTED, USAGE, RefusedError
from banklearn.cli.rivals import METHODS
from banklearn.limits import MOST_FREQUENCIES

if TYPE_CHECKING:
    from banklearn.cli.contest import Contest


def compare(
    data: use.Data,
    target: Annotated[str, typer.Option(help="The column to predict.")],
    task: use.TaskOption = "auto",
    max_time: Annotated[
        str,
        typer.Option(
            help="Time for the whole comparison: 90s, 1h, or none. Reading is not cut short."
        ),
    ] = "9m",
    folds: Annotated[int, typer.Option(min=2, help="Parts of the cross-validation.")] = 5,
    frequencies: Annotated[
        int, typer.Option(min=1, max=MOST_FREQUENCIES, help="Frequencies of BaNK and RKS.")
    ] = 384,
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

    All see the same inputs, encoded anew from the training rows of each fold. The rivals may use
    45 % of the time, and BaNK the rest, in even shares for the folds. What is not done when its
    time is up is stopped, left out of the means, and said to be.

    $ bank compare flats.csv --target price --frequencies 32 --folds 2 --max-time 20s
    """
    limit = seconds(max_time, "--max-time")
    use.refuse_dropped_target(target, drop)
    from banklearn.cli import say
    from banklearn.cli.contest import MODULES, Clock, run
    from banklearn.cli.prepare import prepare
    from banklearn.cli.worker import Worker
    from banklearn.tables import PlanOptions

    begin = time.monotonic()
    reading = use.read_options(separator, encoding, missing, skip_bad_rows)
    with Worker(MODULES) as worker:
        found = prepare(data, target, task, reading)
        say.notes(found.notes)
        say.warn(found.unusable)
        chosen = PlanOptions(tuple(drop or ()), tuple(text or ()), encode)
        parts = fold_inputs(found, folds, chosen, seed)
        kind = found.target.task
        with say.console().status("") as status:
            clock = Clock(limit, begin)
            contest = run(worker, parts, kind, frequencies, seed, clock, status.update)
    done = any(fold is not None for each in contest.results.values() for fold in each)
    if contest.interrupted and not done:
        raise KeyboardInterrupt
    took = time.monotonic() - begin
    _show(contest, kind, f"{target}: {len(found.y)} rows, {folds} folds", took, json)
    if json:
        say.as_json(
            {
                "command": "compare",
                "task": kind,
                "rows": len(found.y),
                "folds": folds,
                "ended_early": contest.ended_early,
                "interrupted": contest.interrupted,
                "unfinished": contest.unfinished,
                "seconds": took,
                "methods": contest.results,
                "unusable": found.unusable,
            }
        )
    if contest.interrupted:
        raise RefusedError("Interrupted: the table has what was done until then.", INTERRUPTED)
    if not done:
        all_failed = contest.failed == sum(map(len, contest.results.values()))
        reason = "Every fit failed." if all_failed else "There was too little time (--max-time)."
        raise RefusedError(f"No method has a result. {reason}", DATA if all_failed else USAGE)


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
        part = found.table.take(train)
        learned = learn_plan(part, found.target, found.y[train], chosen, seed, found.table)
        X_test, _ = learned.plan.apply(found.table.take(test), unseen="ignore")
        parts.append((learned.X, found.y[train], X_test, found.y[test]))
    return parts


def _show(contest: Contest, task: str, title: str, took: float, piped: bool) -> None:
    """The table: mean and standard error over the folds."""
    from banklearn.cli import say

    if task == "regression":
        head = {"mse": "mean squared error", "r2": "R²", "log_density": "log density"}
        head["coverage"] = "in 95 % interval"
    else:
        head = {"error": "error", "log_loss": "log loss"}
    main = next(iter(head))
    lines = []
    for name, each in contest.results.items():
        done = [fold for fold in each if fold is not None]
        cells = [name]
        for key in head:
            values = [fold[key] for fold in done if np.isfinite(fold.get(key, np.nan))]
            cells.append(_mean(values, with_error=key == main) if values else "")
        pairs = [
            (a[main], b[main])
            for a, b in zip(each, contest.results["BaNK"], strict=True)
            if a is not None and b is not None
        ]
        better = f"{sum(a < b for a, b in pairs)} of {len(pairs)}" if pairs else ""
        cells.append("" if name == "BaNK" else better)
        cells.append(f"{np.mean([fold['seconds'] for fold in done]):.1f}" if done else "")
        lines.append(cells)
    columns = ["method", *head.values(), "folds better than BaNK", "seconds a fit"]
    out = say.console() if piped else say.result_console()
    out.print(say.grid(title, columns, lines))
    for name, what in METHODS.items():
        out.print(f"[bold]{name}[/]: {what}.")
    for name, reasons in contest.unfinished.items():
        out.print(
            f"[bold yellow]{name} has no result on {len(reasons)} of {contest.folds} folds[/]: "
            f"{say.escape('; '.join(dict.fromkeys(reasons)))}."
        )
    if sum(map(len, contest.unfinished.values())) > contest.failed and not contest.interrupted:
        out.print("More time (--max-time) or fewer folds may help.")
    if contest.ended_early:
        out.print(
            f"The time ended {contest.ended_early} of {contest.folds} fits of BaNK early; more "
            "may improve it."
        )
    out.print(f"{took:.0f} seconds in all.")


def _mean(values: list[float], with_error: bool) -> str:
    text = f"{np.mean(values):.4g}"
    if with_error and len(values) > 1:
        text += f"±{np.std(values, ddof=1) / np.sqrt(len(values)):.2g}"
    return text
