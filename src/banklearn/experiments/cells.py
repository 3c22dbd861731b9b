"""A cell: one measurement of an experiment, with a small file that remembers it.

A cell names a function and its arguments, nothing else, so any process can compute it, and two
experiments that need the same measurement share it. Files are written beside their place and
moved there, so whoever reads one reads all of it.

A function may hand back more than fits into a record, as ``files``: writers by the ending of the
file's name. Those that the cell is asked to keep are written beside the record, before it, so that
a record never lies there without them.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from banklearn import __version__
from banklearn.numerics.threads import available_cores, threads
from banklearn.storage.atomic import replacing

Record = dict[str, Any]
#: Writes a file, whole or not at all.
Writer = Callable[[Path], None]

PACKAGES = ("numpy", "scipy", "scikit-learn", "lightgbm", "torch", "gpytorch")


@dataclass(frozen=True)
class Cell:
    """One measurement.

    ``runner`` is "module:function", called with ``arguments`` (all of them JSON); it answers with
    a record. ``label`` starts the file's name. ``note`` says what is reduced, and goes into the
    record; ``cost`` is a guess that only orders the work; ``keep`` are endings of files to keep
    beside the record; ``at_most`` is how many seconds it takes where that is known beforehand.
    None of these is part of the identity.
    ``configuration`` is: all parameters of what is measured, those left at their defaults too.
    """

    label: str
    runner: str
    arguments: Mapping[str, Any]
    note: str = ""
    cost: float = 1.0
    configuration: str = ""
    keep: tuple[str, ...] = ()
    at_most: float | None = None

    @property
    def key(self) -> str:
        """The name of the file, without its ending."""
        identity = [self.runner, self.arguments, self.configuration]
        content = json.dumps(identity, sort_keys=True)
        return f"{self.label}-{hashlib.sha256(content.encode()).hexdigest()[:10]}"

    def path(self, folder: Path) -> Path:
        """Where the record lies."""
        return folder / f"{self.key}.json"


def read(cell: Cell, folder: Path) -> Record | None:
    """The record of a cell, or None if it has not been measured.

    A record counts also where the files lack that a cell is asked to keep: they are no part of
    the measurement.
    """
    path = cell.path(folder)
    if not path.exists():
        return None
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(
            f"{path} is not a record of an experiment ({error}); remove it to measure it again."
        ) from error


def compute(cell: Cell, folder: Path) -> Record:
    """Measure a cell and keep the record."""
    module, _, name = cell.runner.partition(":")
    function = getattr(importlib.import_module(module), name)
    record: Record = {**function(**cell.arguments)}
    files: Mapping[str, Writer] = record.pop("files", {})
    folder.mkdir(parents=True, exist_ok=True)
    for ending in cell.keep:
        if ending in files:
            files[ending](cell.path(folder).with_suffix(ending))
    record["reduced"] = "; ".join(part for part in (cell.note, record.get("reduced", "")) if part)
    record.update(environment())
    write_atomically(cell.path(folder), json.dumps(record, indent=1) + "\n")
    return record


def parameters_of(estimator: Any) -> str:
    """All parameters of an estimator, as the configuration of a cell."""
    return json.dumps(estimator.get_params(), sort_keys=True, default=repr)


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that no reader ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(text.encode())


def environment() -> Record:
    """What a number may depend on besides its arguments."""
    return {
        "version": __version__,
        "python": platform.python_version(),
        "cpu": cpu(),
        "cores": min(threads(), available_cores()),
        "packages": {name: found for name in PACKAGES if (found := installed(name))},
    }


def installed(name: str) -> str | None:
    """The version of an installed distribution."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def cpu() -> str:
    """The processor's name where the system tells it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
