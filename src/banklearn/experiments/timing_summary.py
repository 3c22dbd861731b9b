"""Slopes, runtimes and figures of the timing experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from banklearn.experiments.cells import Record, write_atomically
from banklearn.experiments.comparison import run_on
from banklearn.experiments.figures import COLOURS, drawable, panels, save
from banklearn.experiments.methods import METHODS
from banklearn.experiments.paper import SLOPES
from banklearn.experiments.results import read_results
from banklearn.experiments.tables import Entry, entries, markdown
from banklearn.viz.style import CHAINS, tidy

STYLE = {"regression": "-", "polya-gamma": "--", "laplace-mh": ":"}
OF_PAPER = ("regression", "laplace-mh")


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Least-squares slope of log seconds against log size; NaN below two sizes."""
    # A machine that is busy can make the longer run the faster one.
    if len(set(sizes)) < 2 or min(seconds) <= 0:
        return float("nan")
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def curves(records: Sequence[Record], axis: str) -> dict[tuple[str, str], list[Record]]:
    """Records along an axis by (set, sampler), in the order of the size."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in sorted(records, key=lambda r: float(r[axis])):
        if record["axis"] == axis:
            found.setdefault((record["set"], record["sampler"]), []).append(record)
    return found


def slope_table(records: Sequence[Record]) -> str:
    """Fitted slopes over all sizes and between the two largest, beside the paper's claims."""
    rows = []
    for axis in ("N", "M"):
        for (name, sampler), line in curves(records, axis).items():
            sizes = [r[axis] for r in line]
            seconds = [r["seconds per sweep"] for r in line]
            claim = SLOPES[axis, sampler]
            rows.append(
                [
                    axis, name, sampler,
                    f"{sizes[0]} to {sizes[-1]}",
                    f"{slope(sizes, seconds):.2f}",
                    f"{slope(sizes[-2:], seconds[-2:]):.2f}",
                    "not its sampler" if claim is None else f"{claim:g}",
                ]
            )  # fmt: skip
    header = ["axis", "set", "sampler", "sizes", "slope", "between the two largest", "paper"]
    return markdown(header, rows)


def point_table(records: Sequence[Record]) -> str:
    """Every point."""
    rows = [
        [
            r["axis"], r["set"], r["sampler"], str(r["N"]), str(r["M"]),
            f"{r['seconds per sweep']:.4g}", f"{r['error']:.4g}" if "error" in r else "",
        ]
        for axis in ("N", "M")
        for line in curves(records, axis).values()
        for r in line
    ]  # fmt: skip
    return markdown(["axis", "set", "sampler", "N", "M", "seconds a sweep", "error"], rows)


def runtimes(out: Path) -> list[Entry]:
    """Cells of the tables in the same folder, for their seconds."""
    records: dict[tuple[str, int, str], Record] = {}
    for name in ("rivals", "regression", "classification"):
        for r in read_results(out / f"{name}.parquet"):
            records[r["set"], r["fold"], r["method"]] = r
    return entries(list(records.values()))


def runtime_table(found: Sequence[Entry]) -> str:
    """Seconds of a fit by set and method."""
    methods = [m for m in METHODS if any(e.method == m for e in found)]
    rows = []
    for name in dict.fromkeys(e.set for e in found):
        here = {e.method: e for e in found if e.set == name}
        rows.append([name, *(here[m].show("seconds") if m in here else "" for m in methods)])
    return markdown(["set", *(METHODS[m].title for m in methods)], rows)


def timing_figure(records: Sequence[Record]) -> Any:
    """Four panels as in the paper: error and time against N and M."""
    figure, axes = panels(4, 2, (5.0, 3.4))
    wanted = [
        ("N", "error"),
        ("N", "seconds per sweep"),
        ("M", "error"),
        ("M", "seconds per sweep"),
    ]
    for ax, (axis, field) in zip(axes, wanted, strict=True):
        names = sorted({r["set"] for r in records})
        for (name, sampler), line in curves(records, axis).items():
            points = [(r[axis], r[field]) for r in line if field in r]
            if points:
                ax.plot(
                    *zip(*points, strict=True), marker="o", markersize=3,
                    color=CHAINS[names.index(name)], linestyle=STYLE[sampler],
                    label=f"{name}, {sampler}",
                )  # fmt: skip
        ax.set_xscale("log")
        ax.set_yscale("log")
        if axis == "M":  # less than two decades: labels of minor ticks would overlap
            sizes = sorted({r["M"] for r in records if r["axis"] == "M"})
            ax.set_xticks(sizes, [str(M) for M in sizes])
            ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        ax.set_xlabel({"N": "rows N", "M": "frequencies M"}[axis])
        ax.set_ylabel(field)
        tidy(ax)
        if ax.lines:
            ax.legend(frameon=False, fontsize="x-small", handlelength=3)
    return figure


def runtime_figure(found: Sequence[Entry]) -> Any:
    """Seconds of a fit for every method on every set."""
    names = list(dict.fromkeys(e.set for e in found))
    methods = [m for m in METHODS if any(e.method == m for e in found)]
    figure, (ax,) = panels(1, 1, (9.0, 4.0))
    markers = "osD^vP*Xdh<"
    for i, method in enumerate(methods):
        points = [(names.index(e.set), e.means["seconds"]) for e in found if e.method == method]
        ax.plot(
            *zip(*points, strict=True), marker=markers[i % len(markers)], linestyle="none",
            color=COLOURS[method] if method == "bank" else CHAINS[1 + i % 5],
            label=METHODS[method].title,
        )  # fmt: skip
    ax.set_xticks(range(len(names)), names)
    ax.set_yscale("log")
    ax.set_ylabel("seconds a fit")
    tidy(ax)
    ax.legend(frameon=False, fontsize="small", ncols=2)
    return figure


def write_timing(out: Path, records: Sequence[Record]) -> None:
    """Markdown and figures."""
    parts = ["# Time against rows and frequencies"]
    if records:
        parts += ["## Slopes of log time against log size", slope_table(records)]
        parts += ["## Every point", point_table(records), run_on(records)]
    found = runtimes(out)
    if found:
        parts += ["## Seconds of a fit, by set and method", runtime_table(found)]
    write_atomically(out / "timing.md", "\n\n".join(parts) + "\n")
    if drawable():
        if records:
            save(timing_figure(records), out / "timing")
        if found:
            save(runtime_figure(found), out / "timing-runtimes")
