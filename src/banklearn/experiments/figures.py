"""Figures of the experiments, each as PNG and as SVG."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from banklearn.experiments.methods import METHODS
from banklearn.experiments.paper import reported
from banklearn.experiments.tables import Entry
from banklearn.viz.style import CHAINS, INK, LEARNED, tidy

COLOURS = {m: LEARNED if m.startswith("bank") else INK for m in METHODS}


def drawable() -> bool:
    """Whether matplotlib is there; measuring does without it."""
    return importlib.util.find_spec("matplotlib") is not None


def save(figure: Any, stem: Path) -> None:
    """Write a figure as stem.png and stem.svg and close it."""
    from matplotlib import pyplot

    stem.parent.mkdir(parents=True, exist_ok=True)
    for ending, options in ((".png", {"dpi": 130}), (".svg", {"metadata": {"Date": None}})):
        figure.savefig(stem.with_name(stem.name + ending), **options)
    pyplot.close(figure)


def panels(count: int, columns: int, size: tuple[float, float]) -> tuple[Any, list[Any]]:
    """A figure with a grid of axes, the superfluous ones hidden."""
    from matplotlib import pyplot

    pyplot.rcParams["svg.hashsalt"] = "banklearn"  # the same figure has the same bytes
    columns = min(columns, max(count, 1))
    rows = -(-count // columns) or 1
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(size[0] * columns, size[1] * rows), layout="constrained",
        squeeze=False,
    )  # fmt: skip
    flat = list(axes.flat)
    for ax in flat[count:]:
        ax.set_visible(False)
    return figure, flat[:count]


def error_figure(found: Sequence[Entry]) -> Any:
    """One panel per set: error of each method with two standard errors, the paper's beside it."""
    names = list(dict.fromkeys(e.set for e in found))
    figure, axes = panels(len(names), 4, (3.2, 2.6))
    for ax, name in zip(axes, names, strict=True):
        here = [e for e in found if e.set == name]
        for i, entry in enumerate(here):
            error = np.nan_to_num(2.0 * entry.errors["error"])
            ax.errorbar(
                i, entry.means["error"], yerr=error, fmt="o", color=COLOURS[entry.method], capsize=3
            )
            theirs = reported(name, entry.method)
            if theirs is not None:
                ax.errorbar(
                    i + 0.25, theirs.value, yerr=2.0 * theirs.error, fmt="s", color=CHAINS[1],
                    markerfacecolor="none", markersize=5, elinewidth=0.8,
                )  # fmt: skip
        ax.set_xticks(
            range(len(here)), [METHODS[e.method].title for e in here], rotation=30, ha="right"
        )
        ax.set_yscale("log")
        ax.set_title(name, fontsize="medium")
        tidy(ax)
    figure.supylabel("error (squares: paper)", fontsize="small")
    return figure
