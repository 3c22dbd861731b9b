"""A progress bar with what matters: sweep, log evidence, acceptance, components, time left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from math import isnan
from types import TracebackType
from typing import Any

from banklearn.estimators.notebook import make_bar
from banklearn.sampler.run import Plan
from banklearn.sampler.sweep import Info

#: What a sweep costs beside its rows, in rows.
BESIDE_ROWS = 2000


def work(plan: Plan, sweeps: int) -> int:
    """Work done after some sweeps, in rows: sweeps of warm-up on few rows cost little."""
    done, left, size = 0, sweeps, 0
    for size, most in plan.stages or ((0, plan.n_warmup),):
        here = min(left, most)
        done, left = done + here * (size + BESIDE_ROWS), left - here
    return done + left * (size + BESIDE_ROWS)


def time_column(seconds: Callable[[float, float, float], float]) -> Any:
    """A column with a time made of a task's fields `begin` and `end` and of now."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Time(ProgressColumn):
        """Goes on between two updates."""

        def render(self, task: Task) -> Text:
            value = seconds(task.fields["begin"], task.fields["end"], time.monotonic())
            return Text(str(timedelta(seconds=round(max(value, 0.0)))), style="progress.remaining")

    return Time()


class Shown:
    """What holds a rich progress bar, or none when nothing is to be shown."""

    _bar: Any = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


class Progress(Shown):
    """A rich progress bar, one line per chain; silent when verbose is 0."""

    def __init__(
        self, plan: Plan, n_chains: int, verbose: int, quantity: str = "log evidence"
    ) -> None:
        self.verbose, self.plan, self.n_chains, self.quantity = verbose, plan, n_chains, quantity
        self._tasks: dict[int, Any] = {}
        #: When a chain began, and the work that was done then.
        self._since: dict[int, tuple[float, int]] = {}
        self._free = 0.0
        self._lock = threading.Lock()

    def __enter__(self) -> Progress:
        if self.verbose:
            from rich.progress import BarColumn, TextColumn

            self._bar = make_bar(
                TextColumn("chain {task.fields[chain]}"),
                BarColumn(bar_width=10),
                TextColumn("{task.fields[sweep]}/{task.fields[sweeps]}"),
                TextColumn("{task.fields[report]}"),
                time_column(lambda begin, end, now: min(end, now) - begin),
                TextColumn("left"),
                time_column(lambda begin, end, now: end - now),
            )
            self._bar.start()
            self._free = time.monotonic()
        return self

    def __call__(self, chain: int, sweep: int, plan: Plan, info: Info) -> None:
        """One sweep of one chain is done."""
        if self._bar is None:
            return
        accepted = "/".join(
            "-" if isnan(share) else f"{100 * share:.0f}"
            for share in (info.accepted_jumps, info.accepted_local, info.accepted_exchanges)
        )
        # In regression the likelihood to watch is the evidence itself.
        report = f"{self.quantity} {info.log_likelihood:.1f} {accepted}% K {info.K}"
        done, whole = work(plan, min(sweep, plan.n_sweeps)), work(plan, plan.n_sweeps)
        with self._lock:
            now = time.monotonic()
            if chain not in self._tasks:
                # Its first sweep is done, and perhaps it went on from a checkpoint before that.
                self._since[chain] = self._free, work(plan, sweep - 1)
                self._tasks[chain] = self._bar.add_task(
                    "",
                    total=whole,
                    chain=chain,
                    report="",
                    sweep=0,
                    sweeps=plan.n_sweeps,
                    begin=self._free,
                    end=now,
                )
            begin, before = self._since[chain]
            end = now + (now - begin) * (whole - done) / max(done - before, 1)
            self._bar.update(
                self._tasks[chain], completed=done, report=report, sweep=sweep, end=end
            )
            if sweep >= plan.n_warmup + plan.sampling:
                self._free = now  # a chain that waited begins now


class Reading(Shown):
    """A progress bar of a first pass over rows that come in blocks."""

    def __init__(self, n_rows: Callable[[], int | None], verbose: int) -> None:
        self.n_rows, self.verbose = n_rows, verbose
        self._task: Any = None

    def __enter__(self) -> Reading:
        if self.verbose:
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            self._bar = make_bar(
                TextColumn("reading"),
                BarColumn(bar_width=10),
                TextColumn("{task.completed:.0f} rows"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
            )
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        return self

    def __call__(self, rows: int) -> None:
        """So many rows were read."""
        if self._bar is not None:
            self._bar.update(self._task, completed=rows, total=self.n_rows())
