"""What the examples share: a small or a full budget, and a folder for pictures."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Gallery:
    """How much to compute, and where pictures go; None draws nothing."""

    quick: bool = False
    folder: Path | None = None

    @classmethod
    def from_arguments(cls, text: str | None, arguments: list[str] | None = None) -> Gallery:
        """`--quick` for a few seconds, `--out FOLDER` for the pictures."""
        parser = argparse.ArgumentParser(
            description=text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("--quick", action="store_true", help="a small budget, for tests")
        parser.add_argument("--out", type=Path, default=Path("gallery-output"))
        chosen = parser.parse_args(arguments)
        return cls(chosen.quick, chosen.out)

    def budget(self, quick: int, full: int) -> int:
        """One of two numbers."""
        return quick if self.quick else full

    def axes(self, x_label: str, y_label: str) -> Any:
        """Axes of a new figure."""
        from matplotlib.figure import Figure

        ax = Figure(figsize=(6.4, 4.0), layout="constrained").subplots()
        ax.set_xlabel(x_label)
        ax.set_ylabel(y_label)
        ax.spines[["top", "right"]].set_visible(False)
        return ax

    def save(self, ax: Any, name: str) -> None:
        """The figure of `ax` as NAME.png in the folder."""
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{name}.png"
        ax.figure.savefig(file, dpi=110)
        print(f"wrote {file.name}", file=sys.stderr)
