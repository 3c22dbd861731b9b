"""``bank``: the program, its commands and its exit codes."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Annotated

import typer

from banklearn._version import __version__
from banklearn.cli.exits import EXIT_CODES, guarded

#: Commands in the order of the help page; each is a function in the module of its name.
COMMANDS = ("fit", "predict", "inspect", "compare", "report", "plan", "reproduce", "demo")

_CODES = " · ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())

app = typer.Typer(
    name="bank",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog=f"Exit codes: {_CODES}.",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"banklearn {__version__}")
        raise typer.Exit


@app.callback()
def bank(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Learn a kernel from a table, predict with uncertainty, and explain what was learned.

    A first try, on a table made for it:

    $ bank demo --table flats.csv

    $ bank fit flats.csv --target price --out flats.bank --frequencies 32 --max-time 5s

    $ bank inspect flats.bank
    """


def register(name: str) -> bool:
    """Add a command, if its module is there."""
    module = f"banklearn.cli.{name}"
    if importlib.util.find_spec(module) is None:
        return False
    function = getattr(importlib.import_module(module), name)
    app.command(name, no_args_is_help=name != "demo")(guarded(function))
    return True


for _name in COMMANDS:
    register(_name)


def main() -> None:
    """Entry point of the program."""
    app(prog_name="bank")


if __name__ == "__main__":
    main()
