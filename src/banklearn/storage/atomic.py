"""Writing a file so that a reader sees the old one or the whole new one, never a part."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

#: How the name of a file that is still being written ends.
UNFINISHED = ".part"


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` once it is whole and on the disk.

    It is written beside `path`, under a name of its own; whatever goes wrong, that one is removed
    and `path` stays as it was.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name the file to write in it.")
    temporary = path.parent / f".{path.name}.{secrets.token_hex(6)}{UNFINISHED}"
    try:
        begun = temporary.open("xb")
    except OSError as error:  # the caller knows the file by its own name
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        with begun as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


def clear_unfinished(folder: Path) -> None:
    """Remove what killed writers left in a folder that belongs to one fit alone."""
    for path in folder.glob(f".*{UNFINISHED}"):
        path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
