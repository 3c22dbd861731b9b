"""Exit codes, and the sentence on the way out."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import typer

OK, UNEXPECTED, USAGE, DATA, MODEL, PACKAGE, FILE, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130

EXIT_CODES = {
    OK: "done",
    UNEXPECTED: "a failure that should not be",
    USAGE: "wrong options",
    DATA: "the data cannot be used",
    MODEL: "the model file cannot be used",
    PACKAGE: "an optional package is missing",
    FILE: "a file cannot be read or written",
    INTERRUPTED: "interrupted (what was finished by then is kept)",
}


class RefusedError(Exception):
    """An end with a sentence and an exit code."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.code = code


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose foreseen failures end in one sentence and their exit code.

    BANKLEARN_TRACEBACK=1 shows where they came from.
    """

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> None:
        from banklearn.cli.interrupts import interrupted, stamps

        before = stamps(options)
        try:
            command(*args, **options)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            _say(interrupted(options, before))
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            code = code_of(error)
            if code == UNEXPECTED or os.environ.get("BANKLEARN_TRACEBACK"):
                raise
            _say(sentence_of(error))
            raise typer.Exit(code) from None

    return run


def sentence_of(error: Exception) -> str:
    """The error in words; the system's own come with the file."""
    if isinstance(error, OSError) and error.strerror and code_of(error) == FILE:
        where = f"{error.filename} cannot be read or written" if error.filename else "A file failed"
        return f"{where}: {error.strerror}."
    return str(error)


def code_of(error: Exception) -> int:
    """The exit code that stands for an error."""
    from banklearn.storage.errors import StoredFileError
    from banklearn.tables import TableError

    if isinstance(error, RefusedError):
        return error.code
    if isinstance(error, TableError):
        return DATA
    if isinstance(error, StoredFileError):
        return MODEL
    if isinstance(error, ModuleNotFoundError):
        return PACKAGE
    if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
        return FILE
    return UNEXPECTED


def _say(sentence: str) -> None:
    """The last word of a command."""
    from rich.markup import escape

    from banklearn.cli.say import console

    console().print(f"[bold red]bank:[/] {escape(sentence)}", soft_wrap=True)
