"""A line that tells how far an experiment is."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar


class Progress:
    """A bar over cells on the error stream, with what is running now; problems are printed."""

    def __init__(self, done: int, total: int, quiet: bool = False) -> None:
        self._console = Console(stderr=True, quiet=quiet)
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            disable=quiet,
        )
        self._done, self._total = done, total
        self._running: list[str] = []

    def __enter__(self) -> Progress:
        self._bar.start()
        if self._done:
            self._console.print(f"{self._done} of {self._total} cells were measured before.")
        self._task = self._bar.add_task("", total=self._total, completed=self._done)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
        if kind is KeyboardInterrupt:
            self._console.print(
                f"Interrupted with {self._done} of {self._total} cells measured; the same command "
                "goes on from there."
            )

    def began(self, label: str) -> None:
        """A cell is being measured."""
        self._running.append(label)
        self._describe()

    def ended(self, label: str, problem: str | None) -> None:
        """A cell was measured, or failed."""
        self._running.remove(label)
        self._done += problem is None
        if problem is not None:
            self._console.print(f"{label} failed:\n{problem}", markup=False)
        self._bar.advance(self._task)
        self._describe()

    def _describe(self) -> None:
        self._bar.update(self._task, description=", ".join(self._running))
