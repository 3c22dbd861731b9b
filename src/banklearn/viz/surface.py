"""Probabilities over a plane of two inputs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d

from banklearn.viz.marginal import fitted_kernel, input_names
from banklearn.viz.style import CHAINS, INK, NAMED, new_axes, percent

#: Markers of the classes, so that they are told apart without colour.
MARKERS = "os^Dv<>pP*"
BLANK = 0.75


class DecisionSurfaceDisplay:
    """The most probable class over two inputs, fading to white where the model is unsure.

    Two classes: colour follows the probability, with contours at 0.1, 0.5 (thick) and 0.9.
    More: each point has the colour of its most probable class. Hatching marks where the credible
    interval of the leading class's probability holds another decision: there, the posterior does
    not know the class.

    Parameters
    ----------
    x, y : array-like of shape (nx,), (ny,)
        The grid.
    probability, lower, upper : array-like of shape (ny, nx, C)
        Posterior mean of the class probabilities on the grid and their intervals.
    classes : sequence of C labels
    names : names of the two inputs
    coverage : float
        Posterior probability of the intervals.
    points, labels : array-like of shape (n, 2), (n,) or None
        Rows to draw on top.
    """

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        probability: ArrayLike,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        classes: Any,
        names: tuple[str, str] = ("input 0", "input 1"),
        coverage: float = 0.9,
        points: ArrayLike | None = None,
        labels: ArrayLike | None = None,
    ) -> None:
        self.x, self.y, self.probability, self.lower, self.upper = (
            np.asarray(v, dtype=float) for v in (x, y, probability, lower, upper)
        )
        self.classes, self.names, self.coverage = list(classes), tuple(names), coverage
        self.points = None if points is None else np.asarray(points, dtype=float)
        self.labels = None if labels is None else np.asarray(labels)

    @property
    def unsure(self) -> np.ndarray:
        """Where the interval of the leading class reaches below that of another, (ny, nx)."""
        lead = self.probability.argmax(axis=2)[..., None]
        low = np.take_along_axis(self.lower, lead, axis=2)
        others = np.where(np.arange(len(self.classes)) == lead, -np.inf, self.upper)
        return np.asarray(low[..., 0] < others.max(axis=2))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        coverage: float = 0.9,
        resolution: int = 80,
        max_rows: int = 500,
        ax: Any = None,
    ) -> DecisionSurfaceDisplay:
        """Compute and draw over the range of X.

        Parameters
        ----------
        estimator : fitted BankClassifier with two inputs
        X, y : rows that give the range and are drawn; without y they only give the range.
        coverage : posterior probability of the intervals that decide where it is unsure.
        resolution : points of the grid along each input.
        max_rows : no more rows than this are drawn.
        ax : matplotlib axes, or None for a new figure.
        """
        fitted_kernel(estimator)  # or a sentence
        names = input_names(estimator)
        if len(names) != 2:
            raise ValueError(
                f"A decision surface needs two inputs, but the classifier has {len(names)}."
            )
        rows = estimator._rows(X).X
        y = None if y is None else column_or_1d(y)
        if y is not None and len(y) != len(rows):
            raise ValueError(f"X has {len(rows)} rows, but y has {len(y)}.")
        span = [_range(rows[:, i], resolution) for i in (0, 1)]
        grid = np.stack(np.meshgrid(*span), axis=2).reshape(-1, 2)
        shape = (resolution, resolution, len(estimator.classes_))
        with warnings.catch_warnings():  # the grid is in the order of the inputs, names or not
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            lower, upper = estimator.predict_proba_interval(grid, coverage)
            probability = estimator.predict_proba(grid)
        shown = np.linspace(0, len(rows) - 1, min(len(rows), max_rows)).round().astype(int)
        display = cls(
            span[0],
            span[1],
            probability.reshape(shape),
            lower.reshape(shape),
            upper.reshape(shape),
            classes=estimator.classes_,
            names=(names[0], names[1]),
            coverage=coverage,
            points=None if y is None else rows[shown],
            labels=None if y is None else y[shown],
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> DecisionSurfaceDisplay:
        """Draw on `ax`, or on a new figure."""
        from matplotlib.colors import to_rgb

        ax = new_axes(ax, (5.8, 4.8))
        C = len(self.classes)
        colors = np.array([to_rgb(CHAINS[i % len(CHAINS)]) for i in range(C)])
        lead = self.probability.argmax(axis=2)
        # White where all classes are equally probable, the class's colour where one is certain.
        certain = (self.probability.max(axis=2) - 1 / C) / (1 - 1 / C)
        shade = BLANK * np.clip(certain, 0, 1)[..., None]
        image = (1 - shade) + shade * colors[lead]
        edges = (*_edges(self.x), *_edges(self.y))
        ax.imshow(image, origin="lower", extent=edges, aspect="auto", interpolation="nearest")
        if self.unsure.any():
            ax.contourf(
                self.x,
                self.y,
                self.unsure.astype(float),
                levels=[0.5, 1.5],
                colors="none",
                hatches=["...."],
            )
        for c in range(1 if C == 2 else 0, C):
            ahead = self.probability[..., c] - np.delete(self.probability, c, axis=2).max(axis=2)
            if ahead.min() < 0 < ahead.max():
                ax.contour(self.x, self.y, ahead, levels=[0.0], colors=INK, linewidths=1.8)
        if C == 2:
            p = self.probability[..., 1]
            levels = [v for v in (0.1, 0.9) if p.min() < v < p.max()]
            if levels:
                lines = ax.contour(
                    self.x, self.y, p, levels=levels, colors=INK, linewidths=0.8, linestyles="--"
                )
                ax.clabel(lines, fmt="%g", fontsize="small")
        self._draw_points(ax, colors)
        ax.set_xlim(*edges[:2])
        ax.set_ylim(*edges[2:])
        ax.set_xlabel(self.names[0], **NAMED)
        ax.set_ylabel(self.names[1], **NAMED)
        ax.set_title(
            f"dotted: the class is open within {percent(self.coverage)} intervals",
            fontsize="medium",
            color=INK,
        )
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_points(self, ax: Any, colors: Any) -> None:
        if self.points is None or self.labels is None:
            return
        for i, label in enumerate(self.classes):
            rows = self.points[self.labels == label]
            ax.plot(
                rows[:, 0],
                rows[:, 1],
                linestyle="none",
                marker=MARKERS[i % len(MARKERS)],
                markersize=5,
                color=0.75 * colors[i],
                markeredgecolor="white",
                markeredgewidth=0.6,
                label=str(label),
            )
        place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        for text in ax.legend(**place, frameon=False, title="class").get_texts():
            text.set_parse_math(False)


def _range(values: np.ndarray, points: int) -> np.ndarray:
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, points)


def _edges(grid: np.ndarray) -> tuple[float, float]:
    half = 0.5 * (grid[1] - grid[0])
    return float(grid[0] - half), float(grid[-1] + half)
