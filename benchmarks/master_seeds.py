"""Run the joint distribution tests and the calibration for many master seeds on many cores.

    python benchmarks/master_seeds.py --seeds 10 --jobs 16 --out benchmarks/results/statistics.md

Each process uses one thread. The table has one line per master seed and suite: the number of
statistics, the smallest p value, and whether it stays above the declared limit; and the same for
all seeds together, which see smaller errors than one. Every finished unit
is added to a record beside the table; the same command goes on from there, as long as the code is
the same. With --seconds no unit begins after that time, and the table says what is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
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
#: What the results depend on: a record of other code is not gone on with.
SOURCES = ("model", "sampler", "likelihoods", "numerics", "engines", "gram.py", "posterior")
HELPERS = {
    "alone": ("trust.py", "geweke.py", "helpers.py", "labels.py", "trees.py"),
    "whole": ("trust.py", "geweke.py", "helpers.py", "labels.py", "trees.py"),
    "calibration": ("trust.py", "calibration.py", "helpers.py", "labels.py"),
}


@cache
def fingerprint(suite: str) -> str:
    """A digest of the code that a suite runs."""
    digest = hashlib.sha256()
    files = [ROOT / "tests" / name for name in HELPERS[suite]]
    for name in SOURCES:
        path = ROOT / "src" / "banklearn" / name
        files += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def work(unit: Any, master: int, deadline: float) -> tuple[Any, float] | None:
    """One unit, in a process of its own; nothing once the time is up."""
    from trust import run_unit

    if time.time() > deadline:
        return None
    begin = time.process_time()
    return run_unit(unit, master), time.process_time() - begin


def warm() -> None:
    """Compile every loop once, so that all processes find it on disk."""
    import calibration
    import geweke

    for name in ("regression: gradient", "three classes: gradient", "joint move: frequencies"):
        geweke.alone(name, 0, 2)
    for name in calibration.SETTINGS:
        calibration.one_data_set(name, 0, 0)


def read_record(path: Path | None) -> Iterator[tuple[Any, int, Any, float]]:
    """(unit, master seed, result, seconds) of the units that ended with the same code."""
    from trust import Unit

    if path is None or not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:  # the line at which a run was cut
            continue
        if row["code"] == fingerprint(row["unit"][0]):
            yield Unit(*row["unit"]), row["master"], row["result"], row["seconds"]


def collect(found: dict[Any, Any], master: int) -> dict[str, dict[str, float]]:
    """p values by suite, named "unit: statistic"; calibration only where no part is missing."""
    from trust import calibration_p, units

    out: dict[str, dict[str, float]] = defaultdict(dict)
    ranks: dict[str, list[Any]] = defaultdict(list)
    for unit in sorted(found, key=lambda u: (u.suite, u.name, u.part)):
        if unit.suite == "calibration":
            ranks[unit.name].append(found[unit])
        else:
            out[unit.suite].update({f"{unit.name}: {k}": v for k, v in found[unit].items()})
    for name, chunks in ranks.items():
        if len(chunks) == sum(unit.name == name for unit in units(("calibration",))):
            p = calibration_p(name, chunks, master)
            out["calibration"].update({f"{name}: {k}": v for k, v in p.items()})
    return out


def together(
    found: dict[int, dict[Any, Any]], results: dict[int, dict[str, dict[str, float]]]
) -> dict[str, dict[str, float]]:
    """The same suites with all master seeds as one: smaller errors than any seed sees alone.

    Ranks of the calibration are pooled; p values of the others are joined by Fisher's method.
    """
    import numpy as np
    from scipy.stats import combine_pvalues

    import calibration

    out: dict[str, dict[str, float]] = {suite: {} for suite in SUITES}
    for suite in ("alone", "whole"):
        each = [seed[suite] for seed in results.values() if suite in seed]
        for name in each[0] if each else ():
            p = [max(seed[name], 1e-300) for seed in each if name in seed]
            out[suite][name] = float(combine_pvalues(p).pvalue)
    for name in calibration.SETTINGS:
        chunks = [
            np.array(ranks)
            for units in found.values()
            for unit, ranks in units.items()
            if (unit.suite, unit.name) == ("calibration", name)
        ]
        if chunks:
            p_values = calibration.uniformity(np.concatenate(chunks), name, 0)
            out["calibration"].update({f"{name}: {k}": v for k, v in p_values.items()})
    return out


def table(results: dict[str, dict[str, dict[str, float]]], limit: float) -> str:
    """Markdown, one line per master seed and suite."""
    lines = [
        "| master seed | suite | statistics | smallest p | of | above the limit |",
        "|---|---|---|---|---|---|",
    ]
    for master, suites in results.items():
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


def run(options: argparse.Namespace, record: Path | None) -> tuple[dict[int, Any], int, float]:
    """Results by master seed and unit, how many are missing, and the processor time of all."""
    from trust import units

    begin = time.monotonic()
    deadline = time.time() + (options.seconds or float("inf"))
    masters = range(options.first, options.first + options.seeds)
    # Seed by seed, so that a run that is cut has whole master seeds to show.
    todo = [(unit, master) for master in masters for unit in units(tuple(options.suite or SUITES))]
    found: dict[int, dict[Any, Any]] = {master: {} for master in masters}
    cpu = 0.0
    for unit, master, result, seconds in read_record(record):
        if (unit, master) in todo:
            found[master][unit] = result
            cpu += seconds
    todo = [(unit, master) for unit, master in todo if unit not in found[master]]
    print(f"{len(todo)} units to run", flush=True)
    if not todo:
        return found, 0, cpu
    with ProcessPoolExecutor(1) as pool:
        pool.submit(warm).result()
    with ProcessPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(work, *item, deadline): item for item in todo}
        missing = len(jobs)
        for job in as_completed(jobs):
            if (done := job.result()) is None:
                continue
            (unit, master), (result, seconds) = jobs[job], done
            found[master][unit] = result
            cpu += seconds
            missing -= 1
            if record is not None:
                row = {
                    "code": fingerprint(unit.suite),
                    "unit": [unit.suite, unit.name, unit.part],
                    "master": master,
                    "result": result,
                    "seconds": seconds,
                }
                with record.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            if missing % 50 == 0:
                print(f"{missing} units left, {time.monotonic() - begin:.0f} s", flush=True)
    return found, missing, cpu


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many master seeds")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=0.0, help="begin no unit after; 0: no end")
    parser.add_argument("--suite", choices=SUITES, action="append", help="only these suites")
    parser.add_argument("--out", type=Path, help="the table; p values and record go beside it")
    options = parser.parse_args(arguments)
    from trust import LIMIT, RATE

    record = None
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        record = options.out.with_suffix(".jsonl")
    found, missing, cpu = run(options, record)
    by_seed = {master: collect(units, master) for master, units in sorted(found.items())}
    results = {str(master): suites for master, suites in by_seed.items()}
    if len(by_seed) > 1:
        results["all together"] = together(found, by_seed)
    text = table(results, LIMIT)
    text += f"\nLimit {LIMIT:.2g} for each statistic, {RATE:g} for each master seed; "
    text += f"{cpu:.0f} s of processor time.\n"
    if missing:
        text += f"\n**{missing} units are missing: the time was up.**\n"
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
        options.out.with_suffix(".json").write_text(json.dumps(results, indent=1))
    smallest = [min(p.values()) for suites in results.values() for p in suites.values() if p]
    return 0 if not missing and smallest and min(smallest) > LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
