"""Are planted periods and a planted length scale named in the report? A table over seeds.

    python benchmarks/planted_series.py [--seeds 12] [--drawn] [--jobs 1]

Each series goes the way of a user: a CSV file, `bank fit --report`, and the numbers are read from
the sentences of the page. With --drawn the smooth part is a draw from a Gaussian process; its own
length scale, which differs from its law's by chance, is then in the table too. Exit code 1 if a
period or a length scale is more than 5 % off (with --drawn: off the path's own one by 10 %).
"""

from __future__ import annotations

import argparse
import html
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from banklearn.datasets.series import make_series, write_series

PERIODS, LENGTH_SCALE = (5.0, 1.7), 0.25
WITHIN, WITHIN_DRAWN = 0.05, 0.10
FIT = ("--frequencies", "160", "--warmup", "120", "--draws", "15", "--chains", "1", "--quiet")


class Named(NamedTuple):
    """What a report says: periods from long to short, the length scale and its interval."""

    periods: list[float]
    length_scale: float
    low: float
    high: float


def read_page(page: str) -> Named:
    """The numbers in the sentences of a report."""
    words = html.unescape(re.sub(r"<[^>]+>", "", page))
    periods = {float(v) for v in re.findall(r"repeats with period ([\d.]+) \(", words)}
    found = re.search(r"has length scale ([\d.]+) \(([\d.]+) to ([\d.]+)\)", words)
    if found is None:
        raise ValueError("The report names no length scale.")
    return Named(sorted(periods, reverse=True), *map(float, found.groups()))


def named(seed: int, drawn: bool, folder: Path) -> tuple[Named, float]:
    """What the report of one series names, and the length scale of its path."""
    series = make_series(seed, periods=PERIODS, length_scale=LENGTH_SCALE, drawn=drawn)
    data, model, report = (folder / f"series-{seed}.{end}" for end in ("csv", "bank", "html"))
    write_series(data, series)
    command = [sys.executable, "-m", "banklearn.cli.app", "fit", str(data), "--target", "level",
               "--out", str(model), "--report", str(report), *FIT]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"bank fit ended with {done.returncode}: {done.stderr}")
    return read_page(report.read_text(encoding="utf-8")), series.realised


def off(value: float, truth: float) -> str:
    return f"{value:g} ({100 * (value / truth - 1):+.1f} %)"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=12, help="how many, from 0 on")
    parser.add_argument("--drawn", action="store_true", help="draw the smooth part")
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time")
    arguments = parser.parse_args()
    head = ["seed", *(f"period {p:g}" for p in PERIODS), f"length scale {LENGTH_SCALE:g}",
            "90 % interval", "of the path itself", "off by at most"]  # fmt: skip
    table = Table(*head, title="planted and named in the report")
    bound, worst = (WITHIN_DRAWN if arguments.drawn else WITHIN), 0.0
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(arguments.jobs) as pool:
        seeds = range(arguments.seeds)
        rows = pool.map(lambda seed: named(seed, arguments.drawn, Path(name)), seeds)
        for seed, (found, realised) in zip(seeds, rows, strict=True):
            truth = realised if arguments.drawn else LENGTH_SCALE
            errors = [abs(found.length_scale / truth - 1)]
            if len(found.periods) == len(PERIODS):
                errors += [abs(p / t - 1) for p, t in zip(found.periods, PERIODS, strict=True)]
                shown = [off(p, t) for p, t in zip(found.periods, PERIODS, strict=True)]
            else:
                errors.append(float("inf"))
                shown = [str(found.periods), ""]
            worst = max(worst, *errors)
            table.add_row(
                str(seed), *shown, off(found.length_scale, LENGTH_SCALE),
                f"{found.low:g} to {found.high:g}", f"{realised:.3g}", f"{100 * max(errors):.1f} %",
            )  # fmt: skip
    Console().print(table)
    Console().print(f"Worst: {100 * worst:.1f} %, bound {100 * bound:.0f} %.")
    return int(worst > bound)


if __name__ == "__main__":
    sys.exit(main())
