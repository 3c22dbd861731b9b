"""``bank predict``: predictions of a stored model for the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from banklearn.cli import options as use
from banklearn.cli.outputs import check_output


def predict(
    model: use.Model,
    data: use.Data,
    out: Annotated[Path, typer.Option(help="Where to write: .parquet, .feather, .csv or .csv.gz.")],
    interval: Annotated[
        float | None,
        typer.Option(help="Also give intervals that hold this share, such as 0.95."),
    ] = None,
    unseen: Annotated[
        Literal["refuse", "ignore"],
        typer.Option(help="What to do about text that no training row had."),
    ] = "refuse",
    separator: use.Separator = None,
    encoding: use.Encoding = None,
    missing: use.Missing = None,
    skip_bad_rows: use.SkipBadRows = False,
    json: use.Json = False,
) -> None:
    """Predict the target of each row of a table.

    The output has the number of each row (and its line, for text files), the prediction and, if
    asked for, its interval; for classes the probability of each. If the table has the target
    too, the predictions are scored. Where the target is called row, line, lower or upper, the
    other column of that name ends in an underscore.

    $ bank predict flats.bank flats.csv --out predictions.parquet --interval 0.95
    """
    if interval is not None and not 0 < interval < 1:
        raise typer.BadParameter(
            f"{interval:g} does not lie between 0 and 1.", param_hint="--interval"
        )
    check_output(out, "--out", model, data)
    import numpy as np

    from banklearn.cli import say
    from banklearn.cli.files import load
    from banklearn.cli.predictions import check_format, prediction_columns, write
    from banklearn.cli.scoring import scores
    from banklearn.tables import TableError, read
    from banklearn.tables.errors import counted, listed

    check_format(out)
    estimator, record = load(model)
    words = [*record.plan.missing, *(missing or [])]
    table = read(data, use.read_options(separator, encoding, words, skip_bad_rows))
    X, notes = record.plan.apply(table, unseen)
    say.notes([*table.notes, *notes])
    say.warn(table.unusable)
    columns = prediction_columns(estimator, X, table, record.plan.target, interval)
    write(out, columns)
    result = None
    unscored: list[str] = []
    target = record.plan.target
    if target.name in table.columns:
        try:
            y, rows = target.values(table)
        except TableError as error:  # the predictions are written and good without it
            unscored = [f"The predictions are not scored: {error}"]
            say.warn(unscored)
        else:
            if target.task == "classification":
                known = np.isin(y, target.classes)
                if not known.all():
                    strange = listed([repr(str(label)) for label in np.unique(y[~known])], 4)
                    unscored = [
                        f"{counted(int((~known).sum()), 'row')} with a label that the model does "
                        f"not know ({strange}) left out of the scores."
                    ]
                    say.warn(unscored)
                y, rows = y[known], rows[known]
            if len(rows):
                result = scores(estimator, X[rows], y, y)
                say.notes([_scored(result, len(rows), target.name)], "bold green")
    say.notes([f"Wrote {counted(len(X), 'prediction')} to {out}."], "bold green")
    if json:
        say.as_json(
            {
                "command": "predict",
                "predictions": str(out),
                "rows": len(X),
                "columns": list(columns),
                "scores": result,
                "notes": [*table.notes, *notes, *unscored],
                "unusable": list(table.unusable),
            }
        )


def _scored(result: dict[str, float], rows: int, name: str) -> str:
    found = (
        f"mean squared error {result['mse']:.4g}"
        if "mse" in result
        else f"{100 * result['error']:.1f} % classified wrongly"
    )
    return (
        f"The table has {name!r} too: {found} on {rows} rows. If the model was fitted on them, "
        "this says little."
    )
