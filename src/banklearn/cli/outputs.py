"""Whether a file can be written, asked before the work that it is for."""

from __future__ import annotations

import os
from pathlib import Path

import typer


def check_output(path: Path | None, option: str, *others: Path | None) -> None:
    """Refuse a path that cannot be written, or that is one of the other files of the command."""
    if path is None:
        return
    what = None
    if path.is_dir():
        what = "is a folder"
    elif not path.parent.is_dir():
        what = "lies in a folder that does not exist"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        what = "may not be written"
    elif any(other is not None and path.resolve() == other.resolve() for other in others):
        what = "is also the name of another file of this command"
    if what is not None:
        raise typer.BadParameter(f"{path} {what}; name a file to write.", param_hint=option)
