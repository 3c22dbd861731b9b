"""The statistical suites as units of work, with one rate of false alarms for all of them.

A master seed gives every unit its random numbers. With the code right, the suites raise an alarm
for one master seed in `1 / RATE`: each of their statistics may fail with probability RATE divided
by the number of statistics (Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import calibration
import geweke

#: How often the suites together may fail although the code is right.
RATE = 1e-3
#: Below this p value a statistic raises the alarm.
LIMIT = RATE / (geweke.number_of_statistics() + calibration.number_of_statistics())

#: Draws per update alone, kept draws per chain, simulated data sets.
SIZES = {"alone": 1500, "whole": 600, "calibration": 512}
#: Data sets per unit, so that many processes can share them.
CHUNK = 32


@dataclass(frozen=True)
class Unit:
    """One piece of a suite: what it is about, and which part of it."""

    suite: str
    name: str
    part: int = 0


def units(suites: tuple[str, ...] = ("alone", "whole", "calibration")) -> list[Unit]:
    """All units of the suites, the longest first."""
    out = []
    if "calibration" in suites:
        parts = SIZES["calibration"] // CHUNK
        out += [Unit("calibration", n, i) for n in calibration.SETTINGS for i in range(parts)]
    if "whole" in suites:
        out += [Unit("whole", name) for name in geweke.WHOLE]
    if "alone" in suites:
        out += [Unit("alone", name) for name in geweke.ALONE]
    return out


def run_unit(unit: Unit, master: int, plots: Path | None = None) -> Any:
    """p values of a unit; for calibration the ranks of its data sets."""
    if unit.suite == "calibration":
        first = unit.part * CHUNK
        return [calibration.one_data_set(unit.name, master, first + i) for i in range(CHUNK)]
    test = geweke.alone if unit.suite == "alone" else geweke.whole
    outcome = test(unit.name, master, SIZES[unit.suite])
    if plots is not None:
        draw_quantiles(outcome, plots / f"{unit.suite}-{unit.name.replace(' ', '-')}.png")
    return outcome.p


def calibration_p(name: str, chunks: list[Any], master: int) -> dict[str, float]:
    """p values of a setting from the ranks of all its units."""
    return calibration.uniformity(np.concatenate([np.array(c) for c in chunks]), name, master)


def draw_quantiles(outcome: geweke.Outcome, path: Path) -> None:
    """Quantiles of the sampler's draws against those of the model, one panel per quantity."""
    from matplotlib.figure import Figure

    levels = np.linspace(0.01, 0.99, 99)
    columns = 4
    rows = -(-len(outcome.sampled) // columns)
    figure = Figure(figsize=(2.6 * columns, 2.6 * rows), layout="constrained")
    for i, (name, x) in enumerate(outcome.sampled.items()):
        axes = figure.add_subplot(rows, columns, i + 1)
        left, right = np.quantile(outcome.model[name], levels), np.quantile(x, levels)
        low, high = min(left[0], right[0]), max(left[-1], right[-1])
        axes.plot([low, high], [low, high], color="0.7", linewidth=1)
        axes.plot(left, right, ".", markersize=3)
        axes.set_title(name, fontsize=8)
        axes.tick_params(labelsize=6)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=70)
