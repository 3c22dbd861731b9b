"""A chain but for its rows: it can run here, or be sent to where the rows are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from banklearn.engines.base import Engine
from banklearn.model.joint import State
from banklearn.model.priors import Prior
from banklearn.numerics.row_keys import RowKeys
from banklearn.numerics.streams import Purpose, Streams
from banklearn.sampler.footing import Kernel
from banklearn.sampler.run import Bookmark, Monitor, Plan, Run, run_chain
from banklearn.sampler.sweep import Model, Tuning

D = TypeVar("D")


@dataclass(frozen=True)
class Job(Generic[D]):
    """What :func:`run_chain` needs beside an engine and those who watch."""

    model: Model
    start: State
    plan: Plan
    streams: Streams
    keep: Callable[[Any, Prior, int, int, np.random.Generator], D]
    tuning: Tuning
    kernel: Kernel

    def run(
        self,
        engine: Engine,
        rows: RowKeys,
        monitor: Monitor | None = None,
        stop: threading.Event | None = None,
        bookmark: Bookmark[D] | None = None,
        elapsed: float = 0.0,
    ) -> Run[D]:
        """Run the chain, or go on with it; elapsed seconds count against the plan's time."""

        def kept(link: Any, sweep: int) -> D:
            rng = self.streams.at(Purpose.PREDICT, sweep)
            return self.keep(link, self.model.prior, self.streams.chain, sweep, rng)

        return run_chain(
            engine,
            self.model,
            self.start,
            self.plan,
            self.streams,
            kept,
            self.tuning,
            self.kernel,
            monitor,
            stop,
            bookmark,
            rows,
            elapsed,
        )
