"""Where an unfinished fit is kept, so that it can go on."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from banklearn.cli.exits import USAGE, RefusedError


def folder_for(out: Path) -> Path:
    """The folder of the checkpoints of a model file that is being fitted."""
    return out.with_name(out.name + ".checkpoint")


def refuse_unsuited(out: Path, resume: bool) -> None:
    """Refuse to go on from nothing, and to begin anew over a fit that did not end.

    This looks at names and times alone, so that it can come before a table is read.
    """
    folder = folder_for(out)
    if resume and not folder.exists():
        raise RefusedError(
            f"There is nothing to go on from: {folder} does not exist. Fit without --resume.", USAGE
        )
    if folder.exists() and not resume and not _saved_since(out, folder):
        raise RefusedError(
            f"{folder} holds a fit that did not come to its end. Go on with --resume, or remove "
            "that folder to begin anew.",
            USAGE,
        )


def checkpoint_options(
    out: Path, resume: bool, every: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters of the estimator and of fit.

    The checkpoints of a fit whose model was saved make place for a new fit.
    """
    refuse_unsuited(out, resume)  # once more: another fit may have begun meanwhile
    folder = folder_for(out)
    if folder.exists() and not resume:
        shutil.rmtree(folder)
    return {"checkpoint": str(folder), "checkpoint_every": every}, {"resume": resume}


def _saved_since(out: Path, folder: Path) -> bool:
    """Whether the model file is as new as the newest checkpoint."""
    newest = max((path.stat().st_mtime_ns for path in folder.iterdir()), default=0)
    return out.exists() and out.stat().st_mtime_ns >= newest


def settle(out: Path, warned: Sequence[str]) -> list[str]:
    """Remove the checkpoints of a complete fit; a sentence on how to go on with another."""
    folder = folder_for(out)
    if any(sentence.startswith(("max_time", "Interrupted")) for sentence in warned):
        return [f"Run the same command with --resume to go on from {folder.name}."]
    shutil.rmtree(folder, ignore_errors=True)
    return []
