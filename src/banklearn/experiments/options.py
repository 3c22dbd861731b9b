"""What every experiment can be asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from banklearn.experiments.budgets import BUDGETS, Budget


@dataclass(frozen=True)
class Options:
    """Where to write and how much to do.

    Empty ``sets``, ``folds`` and ``methods`` mean what the experiment takes by default. ``jobs``
    cells are measured at a time, each on ``cores_per_job`` cores. What does not end ``within`` so
    many seconds is left for the next run.
    """

    out: Path
    sets: tuple[str, ...] = ()
    folds: tuple[int, ...] = ()
    methods: tuple[str, ...] = ()
    budget: Budget = field(default=BUDGETS["protocol"])
    jobs: int = 1
    cores_per_job: int = 2
    quiet: bool = False
    within: float | None = None

    @property
    def cells(self) -> Path:
        """The folder of the cells, shared by all experiments with this output folder."""
        return self.out / "cells"
