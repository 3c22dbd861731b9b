"""``bank``: the program, its commands and its exit codes."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from banklearn._version import __version__
from banklearn.cli.exits import EXIT_CODES, guarded

#: Commands in the order of the help page; each is a function in the module of its name.
COMMANDS = ("fit", "predict", "inspect", "compare", "report", "plan", "reproduce", "demo")

_CODES = " · ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())


class LazyGroup(TyperGroup):
    """Commands whose modules are imported when they are asked for, so that others stay quick."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Those whose module is there."""
        return [name for name in COMMANDS if is_there(name)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by name; None if there is none."""
        if cmd_name not in self.list_commands(ctx):
            return None
        function = getattr(importlib.import_module(f"banklearn.cli.{cmd_name}"), cmd_name)
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(cmd_name, no_args_is_help=cmd_name != "demo")(guarded(function))
        return get_command(alone)


def is_there(name: str) -> bool:
    """Whether a command has its module."""
    return importlib.util.find_spec(f"banklearn.cli.{name}") is not None


app = typer.Typer(
    name="bank",
    cls=LazyGroup,
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


def main() -> None:
    """Entry point of the program."""
    app(prog_name="bank")


if __name__ == "__main__":
    main()
