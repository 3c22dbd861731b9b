"""``bank demo``: the examples of the package, or a table to try the other commands on."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from banklearn.cli import options as use
from banklearn.cli.exits import USAGE, RefusedError


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("demo-output"),
    table: Annotated[
        Path | None,
        typer.Option(help="Write a made-up table of flats to this file instead, to try bank on."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Too small to learn much: a trial.")
    ] = False,
    seed: use.Seed = 0,
) -> None:
    """Fit three small examples in about a minute, with plots and reports.

    $ bank demo --quick --out demo-output

    $ bank demo --table flats.csv
    """
    if table is not None:
        from banklearn.cli import say
        from banklearn.datasets.flats import write_flats

        with TemporaryDirectory() as folder:
            made = Path(folder) / "flats.csv"
            write_flats(made, seed)
            if table.exists() and table.read_bytes() != made.read_bytes():
                raise RefusedError(
                    f"{table} is there already, with something else in it than the made-up flats "
                    "that --table writes. Name another file.",
                    USAGE,
                )
            shutil.copyfile(made, table)
        say.notes(
            [
                f"Wrote {table}: 400 made-up flats with a date, text and missing values.",
                f"Next: bank fit {table} --target price --out flats.bank --max-time 1m",
            ],
            "bold green",
        )
        return
    from banklearn.demo import main

    main(["--out", str(out), "--seed", str(seed), *(["--quick"] if quick else [])])
