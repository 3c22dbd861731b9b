"""Where a fit came from: rows, time, seed, how it ended, versions."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from banklearn._version import __version__

#: Packages whose versions can change the last digits of a result.
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "polyagamma")


def versions() -> dict[str, str]:
    """This library, Python and the packages that compute."""
    found = {"banklearn": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def provenance(
    rows: int,
    seconds: float,
    stopped_by: str,
    seed: int,
    device: str = "cpu",
    settling: dict[str, Any] | None = None,
    schedule: list[dict[str, Any]] | None = None,
    prior_share: float | None = None,
) -> dict[str, Any]:
    """Plain facts about a fit that just ended.

    stopped_by is "plan" where all sweeps were made, "settled" where chains that had settled needed
    no more, else "time", "interrupt" or "callback". rows counts equal rows once; device is where
    the statistic was summed; settling is what the last look at the chains found, schedule what
    moves warm-up left to each chain, as plain data. prior_share is the share of the kernel's prior
    variance that 99 % of the training rows stay below (see ``extrapolation``).
    """
    return {
        "rows": int(rows),
        "seconds": round(float(seconds), 3),
        "stopped_by": stopped_by,
        "seed": int(seed),
        "device": device,
        "ended_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "settling": settling,
        "schedule": schedule,
        "prior_share": prior_share,
    }
