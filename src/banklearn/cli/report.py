"""``bank report``: one HTML page on a stored model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from banklearn.cli import options as use


def report(
    model: use.Model,
    data: use.Data,
    out: Annotated[Path, typer.Option(help="The HTML page to write.")] = Path("report.html"),
    separator: use.Separator = None,
    encoding: use.Encoding = None,
    missing: use.Missing = None,
    skip_bad_rows: use.SkipBadRows = False,
    json: use.Json = False,
) -> None:
    """Write a report on a model: the kernel, predictions, calibration, chains.

    Given the very file that the model was fitted to, it judges by the rows that were kept out of
    the fit, and compares with a fixed kernel; given other rows, it judges by all of those.

    $ bank report flats.bank flats.csv --out flats.html
    """
    from banklearn.cli import say
    from banklearn.cli.files import load
    from banklearn.cli.pages import write_report
    from banklearn.cli.prepare import digest, held_out
    from banklearn.tables import TableError, read

    estimator, record = load(model)
    words = [*record.plan.missing, *(missing or [])]
    table = read(data, use.read_options(separator, encoding, words, skip_bad_rows))
    target = record.plan.target
    y, rows = target.values(table)
    if len(rows) == 0:
        raise TableError(f"{table.source} has no value in {target.name!r}: nothing to judge by.")
    table = table.take(rows)
    X, notes = record.plan.apply(table, unseen="ignore")
    say.notes([*table.notes, *notes])
    say.warn(table.unusable)
    if same := digest(data) == record.digest:
        train, test = held_out(y, record.holdout, target.task, record.seed)
        warnings = write_report(estimator, record, X[train], y[train], X[test], y[test], out)
    else:
        warnings = write_report(estimator, record, None, None, X, y, out)
    say.warn(warnings)
    say.notes([f"Wrote {out}."], "bold green")
    if json:
        say.as_json(
            {"command": "report", "report": str(out), "fitted_file": same, "warnings": warnings}
        )
