"""All methods on all folds within a given time, whatever the table is like.

The rivals together may use a share of the time, BaNK has the rest. A rival on a fold may use half
of what is left to the rivals. BaNK's fits have even shares of what is left and end by themselves
in time for their predictions; what these take longer goes off the next shares. A process that is
not done when its time is up is killed, and its cell counted as unfinished; a rival that was is not
tried again with less. The start of a fresh process is not the rivals' time. A cell that fails is
unfinished too, with the error as the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from banklearn.cli.rivals import METHODS, make_rival
from banklearn.cli.worker import Unfinished, Worker

#: Share of the time that the rivals may use together.
RIVALS = 0.45
#: Share of the time that is kept for what comes after the cells.
LAST = 0.02
#: Share of a fold's time in which BaNK predicts, until a fold has shown how long that takes.
PREDICTING = 0.2
#: Imported by the process that fits, while the table is read.
MODULES = ("banklearn.estimators.regressor", "sklearn.ensemble", "banklearn.baselines")

Part = tuple[Any, Any, Any, Any]


class Cell(NamedTuple):
    """Scores on the test rows of a fold with the seconds of the fit, and the fit's warnings."""

    scores: dict[str, float]
    warned: list[str]


class Limits(NamedTuple):
    """What a cell may take in all, and what its fit is told to take; None: as long as it needs."""

    whole: float | None
    fit: float | None = None


@dataclass
class Contest:
    """Scores by method and fold (None: unfinished), and why cells are unfinished."""

    folds: int
    results: dict[str, list[dict[str, float] | None]] = field(
        default_factory=lambda: {name: [] for name in METHODS}
    )
    unfinished: dict[str, list[str]] = field(default_factory=dict)
    failed: int = 0
    ended_early: int = 0
    interrupted: bool = False

    def note(self, name: str, found: Cell | Unfinished) -> None:
        """Put a cell down."""
        if isinstance(found, Unfinished):
            self.results[name].append(None)
            self.unfinished.setdefault(name, []).append(found.reason)
            self.failed += found.failed
            return
        self.results[name].append(found.scores)
        self.ended_early += any("max_time" in sentence for sentence in found.warned)

    def interrupt(self) -> None:
        """The cells that are not there will not come."""
        self.interrupted = True
        for name, results in self.results.items():
            for _ in range(self.folds - len(results)):
                self.note(name, Unfinished("it was interrupted"))


class Clock:
    """Deals out the time that is left of a limit in seconds; with none it never ends."""

    def __init__(self, limit: float | None, begin: float) -> None:
        self._end = None if limit is None else begin + (1.0 - LAST) * limit
        self._rivals_end = self._end
        self._after: float | None = None

    def left(self) -> float | None:
        """Seconds until everything must be done."""
        return _until(self._end, 1)

    def go(self) -> None:
        """The first cell begins now."""
        if self._end is not None:
            now = time.monotonic()
            self._rivals_end = now + RIVALS * max(self._end - now, 0.0)

    def wait(self, seconds: float) -> None:
        """So long nobody could compute: the rivals may use as much later."""
        if self._rivals_end is not None and self._end is not None:
            self._rivals_end = min(self._rivals_end + seconds, self._end)

    def rival(self, cells_left: int) -> Limits:
        """For the next cell of a rival."""
        return Limits(_until(self._rivals_end, min(cells_left, 2)))

    def bank(self, cells_left: int) -> Limits:
        """For the next cell of BaNK."""
        share = _until(self._end, cells_left)
        if share is None:
            return Limits(None)
        after = PREDICTING * share if self._after is None else 1.2 * self._after
        return Limits(self.left(), max(share - after, 0.05 * share))

    def learn(self, limits: Limits, took: float) -> None:
        """How long a cell of BaNK took beyond what its fit was told."""
        if limits.fit is not None and took > limits.fit:
            self._after = max(self._after or 0.0, took - limits.fit)


def _until(end: float | None, parts: int) -> float | None:
    return None if end is None else max(end - time.monotonic(), 0.0) / parts


def run(
    worker: Worker,
    parts: list[Part],
    task: str,
    frequencies: int,
    seed: int,
    clock: Clock,
    tell: Callable[[str], None],
) -> Contest:
    """Every method on every fold; ``tell`` is told what is going on.

    An interrupt leaves the cells that are not there yet unfinished, and those that are.
    """
    contest = Contest(len(parts))
    stopped: dict[str, float] = {}  # seconds that were too few for a method
    try:
        worker.ready(clock.left())
        worker.share(parts)
        clock.go()
        for name, f, cells_left in _order(len(parts)):
            tell(f"{name}, fold {f + 1} of {len(parts)}")
            mine = name == "BaNK"
            waiting = time.monotonic()
            worker.ready(clock.left())  # after a kill: no cell pays for a fresh process
            clock.wait(time.monotonic() - waiting)
            limits = clock.bank(cells_left) if mine else clock.rival(cells_left)
            start = time.monotonic()
            if not mine and limits.whole and limits.whole <= stopped.get(name, 0.0):
                found: Any = Unfinished("an earlier fold had needed more time than was left")
            else:
                job = (score, name, f, task, frequencies, seed, limits.fit)
                found = _guarded(worker, job, limits.whole)
            if isinstance(found, Unfinished) and not found.failed:
                stopped[name] = max(stopped.get(name, 0.0), limits.whole or 0.0)
            if mine:
                clock.learn(limits, time.monotonic() - start)
            contest.note(name, found)
    except KeyboardInterrupt:
        contest.interrupt()
    return contest


def _guarded(worker: Worker, job: tuple[Any, ...], seconds: float | None) -> Any:
    """A cell; one that raises is no reason to lose the others."""
    try:
        return worker.call(*job, seconds=seconds)
    except RuntimeError as error:
        return Unfinished(f"it failed: {str(error).strip().splitlines()[-1]}", failed=True)


def _order(folds: int) -> Iterator[tuple[str, int, int]]:
    """(method, fold, cells left of the rivals or of BaNK), fold by fold for the rivals."""
    rivals = [name for name in METHODS if name != "BaNK"]
    cells = [(name, f) for f in range(folds) for name in rivals]
    for k, (name, f) in enumerate(cells):
        yield name, f, len(cells) - k
    for f in range(folds):
        yield "BaNK", f, folds - f


def score(
    parts: list[Part],
    name: str,
    fold: int,
    task: str,
    frequencies: int,
    seed: int,
    max_time: float | None,
) -> Cell:
    """Fit a method to the training rows of a fold, and judge it on the others."""
    from banklearn.cli.estimator import fit_caught, make
    from banklearn.cli.scoring import scores

    X, y, X_test, y_test = parts[fold]
    model = (
        make(task, n_frequencies=frequencies, max_time=max_time, random_state=seed)
        if name == "BaNK"
        else make_rival(name, task, frequencies, seed, y)
    )
    start = time.monotonic()
    warned = fit_caught(model, X, y)
    took = time.monotonic() - start
    return Cell({**scores(model, X_test, y_test, y), "seconds": took}, warned)
