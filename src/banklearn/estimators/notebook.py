"""Progress bars in terminals and in notebooks."""

from __future__ import annotations

import html
import io
import time
from typing import Any

#: Seconds between two updates of what a notebook shows.
EVERY = 0.2
#: Letters in a line of it.
WIDTH = 110


def make_bar(*columns: Any, **options: Any) -> Any:
    """A rich progress bar for where we are: it has start, stop, add_task and update."""
    from rich.console import Console
    from rich.progress import Progress

    if not Console().is_jupyter:
        return Progress(*columns, **options)
    return NotebookBar(*columns, **options)


class NotebookBar:
    """One output of a notebook's cell that is updated in place.

    rich itself needs ipywidgets for that, and shows nothing where they are not installed; IPython
    alone, which every notebook has, will do.
    """

    def __init__(self, *columns: Any, **options: Any) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._text = io.StringIO()
        self._console = Console(
            file=self._text, width=WIDTH, force_jupyter=False, force_terminal=False
        )
        self._bar = Progress(*columns, console=self._console, auto_refresh=False, **options)
        self._shown: Any = None
        self._last = 0.0

    def start(self) -> None:
        """Show the output, empty as yet."""
        from IPython.display import display

        self._shown = display(self._data(), raw=True, display_id=True)

    def stop(self) -> None:
        """Show how it ended."""
        self._show()

    def add_task(self, *args: Any, **options: Any) -> Any:
        """As rich's."""
        return self._bar.add_task(*args, **options)

    def update(self, task: Any, **options: Any) -> None:
        """As rich's; shown if the last time is long enough ago."""
        self._bar.update(task, **options)
        if time.monotonic() - self._last > EVERY:
            self._show()

    def _show(self) -> None:
        self._last = time.monotonic()
        if self._shown is not None:
            self._shown.update(self._data(), raw=True)

    def _data(self) -> dict[str, str]:
        self._text.seek(0)
        self._text.truncate()
        self._console.print(self._bar.get_renderable())
        text = self._text.getvalue().rstrip()
        return {"text/plain": text, "text/html": f"<pre>{html.escape(text)}</pre>"}
