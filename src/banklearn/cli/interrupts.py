"""What a command that was interrupted leaves behind, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from banklearn.cli.checkpoints import folder_for

#: Options that name what a command writes.
OUTPUTS = ("out", "report", "table")

Stamps = dict[Path, int | None]


def stamps(options: Mapping[str, Any]) -> Stamps:
    """When each output of a command was written last; None for what is not there."""
    return {path: _stamp(path) for path in [*_outputs(options), *_checkpoints(options)]}


def interrupted(options: Mapping[str, Any], before: Stamps) -> str:
    """What was written since then, and how to go on from it."""
    now = stamps(options)
    new = [path for path, stamp in now.items() if stamp is not None and stamp != before[path]]
    if not new:
        return "Interrupted: nothing was written."
    written = " and ".join(str(path) for path in _outputs(options) if path in new)
    said = [f"Interrupted after {written} had been written." if written else "Interrupted."]
    said += [
        f"What was fitted is kept in {folder}: the same command with --resume goes on from there."
        for folder in _checkpoints(options)
        if folder in new
    ]
    return " ".join(said)


def _outputs(options: Mapping[str, Any]) -> list[Path]:
    return [options[name] for name in OUTPUTS if isinstance(options.get(name), Path)]


def _checkpoints(options: Mapping[str, Any]) -> list[Path]:
    """The folder of the checkpoints of a command that can go on."""
    return [folder_for(options["out"])] if "resume" in options else []


def _stamp(path: Path) -> int | None:
    """The time of the last change to a file, or to a folder and what lies in it."""
    try:
        times = [path.stat().st_mtime_ns]
        if path.is_dir():
            times += [entry.stat().st_mtime_ns for entry in path.iterdir()]
    except OSError:
        return None
    return max(times)
