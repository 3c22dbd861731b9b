"""Still pictures of figures that have no display of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from banklearn.viz.style import INK, LEARNED, tidy


def draw_bars(ax: Any, labels: list[str], series: dict[str, Any], x_label: str) -> None:
    """Horizontal bars with intervals, the first on top."""
    place = np.arange(len(labels))
    value, low, high = (np.asarray(series[key], dtype=float) for key in ("y", "low", "high"))
    ax.barh(place, value, color=LEARNED, alpha=0.55, height=0.65)
    ax.hlines(place, low, high, color=INK, linewidth=1.5)
    ax.set_yticks(place, labels)
    ax.invert_yaxis()
    ax.set_xlabel(x_label, color=INK)
    tidy(ax)


def draw_calibration(ax: Any, series: dict[str, Any]) -> None:
    """Share of targets below each quantile, with the diagonal."""
    ax.fill_between(series["x"], series["low"], series["high"], color=LEARNED, alpha=0.22)
    ax.plot(series["x"], series["y"], color=LEARNED, linewidth=2, marker=".")
    ax.plot([0, 1], [0, 1], color=INK, linewidth=1)
    ax.set_xlabel("predicted probability", color=INK)
    ax.set_ylabel("share of targets below", color=INK)
    tidy(ax)


def draw_residuals(ax: Any, series: dict[str, Any]) -> None:
    """Residuals against predictions."""
    ax.axhline(0.0, color=INK, linewidth=1)
    ax.plot(series["x"], series["y"], linestyle="none", marker="o", markersize=3, color=LEARNED)
    ax.set_xlabel("predicted", color=INK)
    ax.set_ylabel("observed minus predicted", color=INK)
    tidy(ax)
