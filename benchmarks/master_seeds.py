"""Run the joint distribution tests and the calibration for many master seeds on many cores.

    python benchmarks/master_seeds.py --seeds 10 --jobs 16 --out benchmarks/results/statistics.md

Each process uses one thread. The table has one line per master seed and suite: the number of
statistics, the smallest p value, and whether it stays above the declared limit.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS", "OMP", "MKL", "NUMBA"):
    os.environ[f"{variable}_NUM_THREADS"] = "1"

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]
SUITES = ("alone", "whole", "calibration")
TITLES = {
    "alone": "updates alone",
    "whole": "whole sweeps",
    "calibration": "calibration",
}


def work(unit: Any, master: int) -> tuple[Any, float]:
    """One unit, in a process of its own."""
    from trust import run_unit

    begin = time.process_time()
    return run_unit(unit, master), time.process_time() - begin


def collect(found: dict[Any, Any], master: int) -> dict[str, dict[str, float]]:
    """p values by suite, named "unit: statistic"."""
    from trust import calibration_p

    out: dict[str, dict[str, float]] = defaultdict(dict)
    ranks: dict[str, list[Any]] = defaultdict(list)
    for unit in sorted(found, key=lambda u: (u.suite, u.name, u.part)):
        if unit.suite == "calibration":
            ranks[unit.name].append(found[unit])
        else:
            out[unit.suite].update({f"{unit.name}: {k}": v for k, v in found[unit].items()})
    for name, chunks in ranks.items():
        p = calibration_p(name, chunks, master)
        out["calibration"].update({f"{name}: {k}": v for k, v in p.items()})
    return out


def table(results: dict[int, dict[str, dict[str, float]]], limit: float) -> str:
    """Markdown, one line per master seed and suite."""
    lines = [
        "| master seed | suite | statistics | smallest p | of | above the limit |",
        "|---|---|---|---|---|---|",
    ]
    for master, suites in sorted(results.items()):
        for suite in SUITES:
            if not (p := suites.get(suite)):
                continue
            name = min(p, key=lambda key: p[key])
            verdict = "yes" if p[name] > limit else "**no**"
            quoted = name.replace("|", "\\|")
            lines.append(
                f"| {master} | {TITLES[suite]} | {len(p)} | {p[name]:.1e} | {quoted} | {verdict} |"
            )
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many master seeds")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--suite", choices=SUITES, action="append", help="only these suites")
    parser.add_argument("--out", type=Path, help="where the table goes; p values go beside it")
    options = parser.parse_args(arguments)
    from trust import LIMIT, RATE, units

    masters = range(options.first, options.first + options.seeds)
    found: dict[int, dict[Any, Any]] = {master: {} for master in masters}
    begin, cpu = time.monotonic(), 0.0
    with ProcessPoolExecutor(options.jobs) as pool:
        jobs = {}
        for unit in units(tuple(options.suite or SUITES)):
            for master in masters:
                jobs[pool.submit(work, unit, master)] = (unit, master)
        for done, job in enumerate(as_completed(jobs), start=1):
            unit, master = jobs[job]
            found[master][unit], seconds = job.result()
            cpu += seconds
            if done % 50 == 0 or done == len(jobs):
                print(f"{done} of {len(jobs)} units, {time.monotonic() - begin:.0f} s", flush=True)
    results = {master: collect(found[master], master) for master in masters}
    text = table(results, LIMIT)
    print(text)
    print(f"limit {LIMIT:.2g} (rate {RATE:g}); {cpu:.0f} s of processor time")
    if options.out:
        options.out.write_text(text, encoding="utf-8")
        options.out.with_suffix(".json").write_text(json.dumps(results, indent=1))
    smallest = [min(p.values()) for suites in results.values() for p in suites.values()]
    return 0 if min(smallest) > LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
