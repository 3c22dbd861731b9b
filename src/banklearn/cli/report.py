"""``bank report``: one HTML page on a stored model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from banklearn.cli import options as use
from banklearn.cli.outputs import check_output


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
    the fit, and compares with a fixed kernel; given other rows, it judges by all of those. Rows
    without a target are named and left out.

    $ bank report flats.bank flats.csv --out flats.html
    """
    check_output(out, "--out", model, data)
    from banklearn.cli import say
    from banklearn.cli.files import load
    from banklearn.cli.pages import FEWEST_ROWS, write_report
    from banklearn.cli.prepare import digest, held_out, without_target
    from banklearn.tables import TableError, read
    from banklearn.tables.errors import counted

    estimator, record = load(model)
    words = [*record.plan.missing, *(missing or [])]
    table = read(data, use.read_options(separator, encoding, words, skip_bad_rows))
    target = record.plan.target
    y, rows = target.values(table)
    if len(rows) < FEWEST_ROWS:
        raise TableError(
            f"{table.source} has {counted(len(rows), 'row')} with a value in {target.name!r}: a "
            f"report needs at least {FEWEST_ROWS}."
        )
    unused = [*table.unusable, *without_target(table, target.name, rows)]
    table = table.take(rows)
    X, notes = record.plan.apply(table, unseen="ignore")
    say.notes([*table.notes, *notes])
    say.warn(unused)
    same = digest(data) == record.digest
    warnings: list[str] = []
    if not same:
        unused = [f"{data.name}: {sentence}" for sentence in unused]
        warnings += write_report(estimator, record, None, None, X, y, out, unused=unused)
    elif len(y) == record.rows + record.held_out:
        train, test = held_out(y, record.holdout, target.task, record.seed)
        parts = (X[train], y[train], X[test], y[test])
        warnings += write_report(estimator, record, *parts, out, unused=unused)
    else:
        warnings.append(
            f"{data.name} is the file of the fit, but now read as {len(y)} rows with a target in "
            f"place of {record.rows + record.held_out}: which were kept out cannot be told, and "
            "the page judges by all. Give --missing, --separator and --skip-bad-rows as to bank "
            "fit."
        )
        page = (estimator, record, None, None, X, y, out)
        warnings += write_report(*page, standing="unknown", unused=[*unused, *warnings])
    say.warn(warnings)
    say.notes([f"Wrote {out}."], "bold green")
    if json:
        say.as_json(
            {
                "command": "report",
                "report": str(out),
                "fitted_file": same,
                "unusable": unused,
                "warnings": warnings,
            }
        )
