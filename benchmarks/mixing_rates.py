"""Effective samples a second of the chains of a study of mixing, and their table.

What is counted, and what each count is worth, is said in `mixing.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from travel import SHARES, in_units_of_a_pair, lags_of, seconds_to, travelled

from banklearn.experiments.cells import Record
from banklearn.experiments.tables import markdown
from banklearn.posterior.diagnostics import effective_sample_size, r_hat

Array = NDArray[np.float64]

SCHEDULES = ("default", "jumps", "paper")
COUNTS = ("all chains", "each chain")
#: The count that has a ratio and no rates.
AS_FAR = "as far"
#: Effective samples of a chain that are worth comparing.
ENOUGH = 2.0


def rates(records: Sequence[Record], seconds: float) -> dict[str, dict[str, Any]]:
    """By schedule: effective samples a second of every quantity, distances in time, R-hat."""
    ran = [s for s in SCHEDULES if s in records[0]["values"]]
    values = {s: [np.array(r["values"][s]) for r in records] for s in ran}
    ends = {s: [np.array(r["ends"][s]) for r in records] for s in ran}
    each = range(values[ran[0]][0].shape[1])
    scaled = in_units_of_a_pair(values)
    lags = lags_of(min(float(t[-1]) / len(t) for s in ran for t in ends[s]), seconds)
    out: dict[str, dict[str, Any]] = {}
    for s in ran:
        n = min(len(v) for v in values[s])
        if n < 8:
            raise ValueError(f"Only {n} sweeps of {s} in {seconds:g} s. Give more.")
        spent = sum(float(t[-1]) for t in ends[s])
        ms = 1e3 * spent / sum(len(v) for v in values[s])
        used = sum(float(t[-1] - (t[-n - 1] if len(t) > n else 0.0)) for t in ends[s])
        last = np.stack([v[-n:] for v in values[s]])
        shares, spans = travelled(scaled[s], ends[s], lags)
        out[s] = {
            "all chains": [effective_sample_size(last[:, :, i]) / used for i in each],
            "each chain": [
                sum(effective_sample_size(v[:, i]) for v in values[s]) / spent for i in each
            ],
            "seen": np.mean([v.var(axis=0, ddof=1) for v in scaled[s]], axis=0).tolist(),
            "r_hat": [r_hat(last[:, :, i]) for i in each],
            "ms": ms,
            "seconds": spent / len(records),
            "mean": float(np.concatenate(values[s])[:, 0].mean()),
            "quarters": np.mean([quarters(v[:, 0]) for v in values[s]], axis=0).tolist(),
            "shares": shares.T.tolist(),
            "lags": spans.tolist(),
        }
    flights = [r["gradient_acceptance"] for r in records]
    out["default"]["gradient_acceptance"] = [float(np.mean(f)) if f else None for f in flights]
    out["default"]["gradient_steps"] = [r["gradient_steps"] for r in records]
    if "paper" not in out and records[0]["low_rank_seconds"]:  # same decisions, another time
        ms = 1e3 * float(np.mean([r["low_rank_seconds"] for r in records]))
        unknown = {n: [float("nan") for _ in each] for n in (*COUNTS, "seen", "r_hat")}
        lags = {"lags": [x * ms / out["jumps"]["ms"] for x in out["jumps"]["lags"]]}
        out["paper"] = out["jumps"] | unknown | lags | {"ms": ms}
    return out


def quarters(values: Array) -> list[float]:
    """Means of four parts, one after the other: whether a chain still climbs."""
    return [float(part.mean()) for part in np.array_split(values, 4)]


def seconds_as_far(found: dict[str, Any], part: slice) -> Array:
    """When each of some quantities has gone as far as SHARES: a line for each of these."""
    times = np.array(found["lags"])
    curves = [np.array(shares) for shares in found["shares"][part]]
    return np.array([[seconds_to(share, curve, times) for curve in curves] for share in SHARES])


def middle(values: Sequence[float]) -> float:
    """The median of what is finite."""
    finite = [v for v in values if np.isfinite(v)]
    return float(np.median(finite)) if finite else float("nan")


def largest(values: Sequence[float]) -> float:
    """The largest of what is finite."""
    return max((v for v in values if np.isfinite(v)), default=float("nan"))


def cells_as_far(found: dict[str, dict[str, Any]], ran: Sequence[str], part: slice) -> list[str]:
    """For each of SHARES, the seconds of all schedules and how many times the first one's it is."""
    times = [seconds_as_far(found[s], part) for s in ran]

    def shown(lines: Array) -> str:
        """Medians, where at least half of the quantities went so far."""
        many = 2 * np.isfinite(lines).sum(axis=1) >= lines.shape[1]
        return ", ".join(
            f"{middle(line):.2g}" if there else "-" for line, there in zip(lines, many, strict=True)
        )

    cells = [f"{shown(lines)} s" for lines in times]
    return cells + [f"**{shown(lines / times[0])}**" for lines in times[1:]]


def listed(values: Iterable[float]) -> str:
    """Numbers in a cell of the table; a dash where there is none."""
    return ", ".join(f"{value:.2f}" if np.isfinite(value) else "-" for value in values)


def cells_of_rates(
    found: dict[str, dict[str, Any]], ran: Sequence[str], count: str, part: slice
) -> list[str]:
    """Rates with the effective samples of a chain, and what the first one is of each."""
    values = [middle(found[s][count][part]) for s in ran]
    sizes = [value * found[s]["seconds"] for s, value in zip(ran, values, strict=True)]

    def ratio(i: int) -> str:
        if not np.isfinite([values[0], values[i]]).all():
            return "-"
        text = f"{values[0] / values[i]:.2f}"
        return f"**{text}**" if min(sizes[0], sizes[i]) >= ENOUGH else text

    known = zip(values, sizes, strict=True)
    shown = [f"{value:.3g} ({size:.1f})" if np.isfinite(value) else "-" for value, size in known]
    return shown + [ratio(i) for i in range(1, len(ran))]


def table(rates_of_sets: Mapping[str, dict[str, dict[str, Any]]], first: str = "default") -> str:
    """Rates and their ratios, in Markdown: two lines for every set and way of counting.

    first is what the schedule beside jumps is called.
    """
    ran = [s for s in SCHEDULES if all(s in found for found in rates_of_sets.values())]
    lines = []
    for name, found in rates_of_sets.items():
        for count in (*COUNTS, AS_FAR):
            for what, part in (("evidence", slice(0, 1)), ("probes", slice(1, None))):
                if count == AS_FAR:
                    cells = cells_as_far(found, ran, part)
                else:
                    cells = cells_of_rates(found, ran, count, part)
                hats = [largest(found[s]["r_hat"][part]) for s in ran]
                lines.append(
                    [
                        name,
                        what,
                        count,
                        *cells,
                        listed(middle(found[s]["seen"][part]) for s in ran),
                        listed(hats),
                        ", ".join(f"{found[s]['ms']:.0f}" for s in ran),
                        "; ".join(
                            ", ".join(f"{value:.0f}" for value in found[s]["quarters"]) for s in ran
                        ),
                    ]
                )
    header = ["set", "quantity", "counted over", *(f"{s}, ESS/s" for s in [first, *ran[1:]])]
    header += [f"{first} / {s}" for s in ran[1:]]
    header += ["variance", "largest R-hat", "ms a sweep"]
    header += ["log evidence or likelihood, by quarters of the time"]
    return markdown(header, lines)
