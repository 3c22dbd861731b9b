"""Predictions with their intervals against what was observed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from banklearn.viz.style import INK, LEARNED, RIVAL, new_axes, percent, tidy, wants


class PredictionIntervalDisplay:
    """Predicted against observed targets with interval bars; rows outside stand out.

    Parameters
    ----------
    observed, predicted, lower, upper : array-like of shape (n,)
        Targets, predictions and interval ends.
    coverage : float
        Nominal coverage of the intervals.
    """

    def __init__(
        self,
        observed: ArrayLike,
        predicted: ArrayLike,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        coverage: float = 0.95,
    ) -> None:
        self.observed, self.predicted, self.lower, self.upper = (
            np.asarray(v, dtype=float) for v in (observed, predicted, lower, upper)
        )
        self.coverage = coverage
        if len(self.observed) != len(self.predicted):
            raise ValueError(
                f"There are {len(self.observed)} observed targets for {len(self.predicted)} rows."
            )
        if not np.isfinite(self.observed).all():
            row = int(np.flatnonzero(~np.isfinite(self.observed))[0])
            raise ValueError(
                f"The observed targets hold {self.observed[row]} in row {row}: nobody knows "
                "whether it lies in its interval. Leave such rows out."
            )

    @property
    def inside(self) -> np.ndarray:
        """Which observed targets lie in their interval."""
        return (self.lower <= self.observed) & (self.observed <= self.upper)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        coverage: float = 0.95,
        max_rows: int = 300,
        ax: Any = None,
    ) -> PredictionIntervalDisplay:
        """Predict rows that the estimator has not seen, and draw them.

        Parameters
        ----------
        estimator : fitted regressor with ``predict`` and ``predict_interval``
        X, y : rows to predict and their observed targets.
        coverage : nominal coverage of the intervals.
        max_rows : no more rows than this are drawn; the coverage counts all of them.
        ax : matplotlib axes, or None for a new figure.
        """
        wants(estimator, "predict_interval", "regression")
        lower, upper = estimator.predict_interval(X, coverage)
        display = cls(y, estimator.predict(X), lower, upper, coverage=coverage)
        return display.plot(ax, max_rows=max_rows)

    def plot(self, ax: Any = None, *, max_rows: int = 300) -> PredictionIntervalDisplay:
        """Draw on `ax`, or on a new figure; rows are thinned evenly by observed target."""
        ax = new_axes(ax, (5.6, 5.0))
        inside = self.inside
        rows = np.argsort(self.observed, kind="stable")
        if len(rows) > max_rows:
            rows = rows[np.linspace(0, len(rows) - 1, max_rows).round().astype(int)]
        # Hollow markers and darker bars: outside is seen without its colour too.
        for group, color, fill, alpha, label in (
            (rows[inside[rows]], LEARNED, LEARNED, 0.3, "inside its interval"),
            (rows[~inside[rows]], RIVAL, "none", 0.8, "outside its interval"),
        ):
            if len(group) == 0:
                continue
            middle = self.predicted[group]
            ax.vlines(
                self.observed[group],
                self.lower[group],
                self.upper[group],
                color=color,
                alpha=alpha,
                linewidth=1.0,
            )
            ax.plot(
                self.observed[group],
                middle,
                linestyle="none",
                marker="o",
                markersize=4,
                color=color,
                markerfacecolor=fill,
                label=label,
            )
        low, high = float(self.observed.min()), float(self.observed.max())
        ax.plot([low, high], [low, high], color=INK, linewidth=1.0, label="perfect prediction")
        ax.set_xlabel("observed", color=INK)
        ax.set_ylabel(f"predicted, with {percent(self.coverage)} interval", color=INK)
        shown = "" if len(rows) == len(inside) else f", {len(rows)} of them drawn"
        ax.set_title(
            f"{percent(float(inside.mean()), 1)} of {len(inside)} rows lie in their "
            f"{percent(self.coverage)} interval{shown}",
            fontsize="medium",
            color=INK,
            pad=24,
        )
        tidy(ax)
        ax.legend(
            loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize="small"
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self
