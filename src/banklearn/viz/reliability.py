"""Whether predicted probabilities come true."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from banklearn.posterior.calibration import Reliability, known_codes, reliability, top_class
from banklearn.viz.style import INK, LEARNED, NAMED, SHADE, new_axes, tidy, wants


class ReliabilityDisplay:
    """Share of rows that came true against the probability they were given, in bins.

    A calibrated classifier lies on the diagonal, up to chance: bars show where the true share may
    lie given the rows of the bin (central 90 % of a beta law). The shares of rows per bin stand
    below.

    Parameters
    ----------
    predicted, observed, rows : array-like of shape (bins,)
        Mean predicted probability, share that came true, and number of rows of each bin.
    what : str
        The event whose probability is meant.
    """

    def __init__(
        self,
        predicted: ArrayLike,
        observed: ArrayLike,
        rows: ArrayLike,
        *,
        what: str = "the most probable class",
    ) -> None:
        self.predicted, self.observed, self.rows = (
            np.asarray([np.nan if x is None else x for x in np.atleast_1d(values)], dtype=float)
            for values in (predicted, observed, rows)
        )
        self.what = what

    @property
    def error(self) -> float:
        """Expected calibration error."""
        return Reliability(self.predicted, self.observed, self.rows).error

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        positive: Any = None,
        bins: int = 15,
        ax: Any = None,
    ) -> ReliabilityDisplay:
        """Compute and draw for rows that the classifier has not seen.

        Parameters
        ----------
        estimator : fitted classifier with ``predict_proba``
        X, y : rows to predict and their classes.
        positive : class whose probability is examined; None takes that of each row's most
            probable class, as the expected calibration error does.
        bins : number of bins of equal width.
        ax : matplotlib axes, or None for a new figure.
        """
        wants(estimator, "predict_proba", "classification")
        p, truth = estimator.predict_proba(X), np.asarray(y)
        classes = list(estimator.classes_)
        codes = known_codes(classes, truth, "y", "model")
        if positive is None:
            chance, happened = top_class(p, codes)
            what = "the most probable class"
        elif positive in classes:
            chance, happened = p[:, classes.index(positive)], (truth == positive).astype(float)
            what = f"class {positive}"
        else:
            known = ", ".join(str(c) for c in classes)
            raise ValueError(f"There is no class {positive!r}; the classes are {known}.")
        return cls(*reliability(chance, happened, bins), what=what).plot(ax)

    def plot(self, ax: Any = None) -> ReliabilityDisplay:
        """Draw on `ax`, or on a new figure."""
        ax = new_axes(ax, (5.2, 4.8))
        ax.plot([0, 1], [0, 1], color=INK, linewidth=1.0, label="perfect calibration")
        width = 1.0 / len(self.rows)
        share = self.rows / self.rows.sum()
        ax.bar(
            (np.arange(len(self.rows)) + 0.5) * width,
            0.3 * share / share.max(),
            width=0.92 * width,
            color=SHADE,
            alpha=0.45,
            linewidth=0,
            label=f"rows per bin (most: {int(self.rows.max())})",
        )
        full = self.rows > 0
        n, yes = self.rows[full], (self.rows * self.observed)[full]
        low, high = (
            beta.ppf(0.05, yes + 0.5, n - yes + 0.5),
            beta.ppf(0.95, yes + 0.5, n - yes + 0.5),
        )
        x, y = self.predicted[full], self.observed[full]
        ax.vlines(
            x, np.minimum(low, y), np.maximum(high, y), color=LEARNED, alpha=0.45, linewidth=2
        )
        ax.plot(x, y, color=LEARNED, linewidth=1.8, marker="o", markersize=5, label="observed")
        ax.set_xlim(0, 1)
        ax.set_ylim(0, 1)
        ax.set_xlabel(f"predicted probability of {self.what}", **NAMED)
        ax.set_ylabel("share of rows that came true", color=INK)
        ax.set_title(
            f"expected calibration error {self.error:.3f}, {int(self.rows.sum())} rows",
            fontsize="medium",
            color=INK,
        )
        tidy(ax)
        ax.legend(frameon=False, loc="upper left", fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
