"""How the chains of a fit share the machine."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from banklearn.engines.chunked import ChunkedEngine
from banklearn.engines.device import DeviceEngine
from banklearn.engines.memory import MemoryEngine
from banklearn.model.features import trend_columns
from banklearn.numerics.threads import available_cores, blas_threads
from banklearn.sampler.run import chains_at_once
from banklearn.sampler.sweep import Model

#: From this many rows on, one chain alone keeps several cores busy.
LARGE_ROWS = 20_000
#: Up to so many phases, rows times frequencies, sweeps on a large GPU are waiting and host work.
DEVICE_PHASES = 2**25


@dataclass(frozen=True)
class Layout:
    """So many chains at once, each on one core or not; and threads for them all, if limited.

    team: threads that share the loops and products of one chain, where BLAS has one.
    """

    at_once: int
    one_core_each: bool
    threads: int | None = None
    team: int = 1

    def engine_of(self, engine: Any) -> Any:
        """What one of the chains sums with."""
        return engine.beside() if self.at_once > 1 and hasattr(engine, "beside") else engine

    def apart(self, engine: Any) -> AbstractContextManager[Any]:
        """Where a chain works with what `engine_of` gave."""
        beside = self.at_once > 1 and isinstance(engine, DeviceEngine)
        return engine.ops.apart() if beside else nullcontext()

    def share(self, seconds: float, n_chains: int) -> float:
        """The part of the time that a chain has: those that wait for others share it with them."""
        return seconds / -(-int(n_chains) // self.at_once)


def team_of(at_once: int) -> int:
    """Threads of each of so many chains; one chain alone has those of BLAS."""
    return max(min(available_cores(), blas_threads()) // at_once, 1) if at_once > 1 else 1


def lay_out(engine: Any, model: Model, n_chains: int, n_frequencies: int, spread: bool) -> Layout:
    """Chains of so many frequencies on an engine; `spread`: they run elsewhere."""
    cores, n_chains, M = available_cores(), int(n_chains), int(n_frequencies)
    if isinstance(engine, DeviceEngine):
        alone = engine.n_rows * M > DEVICE_PHASES or not engine.ops.for_many_threads()
        wanted = 1 if alone else min(n_chains, cores)
        h = trend_columns(model.trend, model.prior.d)
        fitting = engine.chains_that_fit(M, h, model.likelihood.tasks)
        # Beside a device only small matrices are left: a few threads factor them fastest. How many
        # there are must not depend on the memory that happens to be free: they decide on rounding.
        threads = min(4, cores) if wanted == 1 else 1
        return Layout(int(max(min(wanted, fitting), 1)), True, threads)
    if isinstance(engine, MemoryEngine | ChunkedEngine) and not spread:
        at_once = chains_at_once(n_chains, engine.n_rows >= LARGE_ROWS)
        team = team_of(at_once)
        if isinstance(engine, MemoryEngine):
            return Layout(at_once, True, team=team)
        # Those on files share every read, and round as in memory.
        return Layout(n_chains, at_once > 1, team=team)
    # They keep a cluster busy.
    return Layout(n_chains, n_chains >= cores)
