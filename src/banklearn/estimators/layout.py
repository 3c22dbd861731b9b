"""How the chains of a fit share the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from banklearn.engines.device import DeviceEngine
from banklearn.engines.memory import MemoryEngine
from banklearn.numerics.threads import available_cores
from banklearn.sampler.run import chains_at_once

#: From this many rows on, one chain alone keeps several cores busy.
LARGE_ROWS = 20_000
#: Up to so many phases (rows times frequencies) a GPU waits for the CPU more than it computes, and
#: the work space of a chain, some 40 bytes for each, is small beside its memory.
DEVICE_PHASES = 2**25


@dataclass(frozen=True)
class Layout:
    """So many chains at once, each on one core or not; and threads for them all, if limited."""

    at_once: int
    one_core_each: bool
    threads: int | None = None

    def engine_of(self, engine: Any) -> Any:
        """What one of the chains sums with."""
        return engine.beside() if self.at_once > 1 and hasattr(engine, "beside") else engine


def lay_out(engine: Any, n_chains: int, n_frequencies: int, spread: bool) -> Layout:
    """Chains of so many frequencies on an engine; `spread`: they run elsewhere."""
    cores = available_cores()
    if isinstance(engine, DeviceEngine):
        large = engine.n_rows * n_frequencies > DEVICE_PHASES
        # Beside a device only small matrices are left: a few threads factor them fastest.
        return Layout(1 if large else min(n_chains, cores), True, min(4, cores))
    if isinstance(engine, MemoryEngine) and not spread:
        return Layout(chains_at_once(n_chains, engine.n_rows >= LARGE_ROWS), True)
    # They share every read, or keep a cluster busy.
    return Layout(n_chains, n_chains >= cores)
