"""The learned kernel along lags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banklearn.viz.marginal import along
from banklearn.viz.style import (
    INK,
    LEARNED,
    NAMED,
    RIVAL_STYLE,
    SHADE,
    TRUTH_STYLE,
    new_axes,
    percent,
    tidy,
)

Array = NDArray[np.float64]


class KernelDisplay:
    """Posterior mean and credible band of the kernel along one input.

    Parameters
    ----------
    lags, mean, lower, upper : array-like of shape (n,)
        The curves.
    coverage : float
        Posterior probability of the band at each lag.
    name, unit : str
        The input, and the unit of the lags if it is not that of the data.
    true_kernel, rbf_kernel : array-like of shape (n,) or None
        Curves to compare with.
    """

    def __init__(
        self,
        lags: ArrayLike,
        mean: ArrayLike,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        coverage: float = 0.9,
        name: str = "input",
        unit: str = "",
        true_kernel: ArrayLike | None = None,
        rbf_kernel: ArrayLike | None = None,
    ) -> None:
        self.lags = np.asarray(lags, dtype=float)
        self.mean, self.lower, self.upper = (
            np.asarray(c, dtype=float) for c in (mean, lower, upper)
        )
        self.coverage, self.name, self.unit = coverage, name, unit
        self.true_kernel = None if true_kernel is None else np.asarray(true_kernel, dtype=float)
        self.rbf_kernel = None if rbf_kernel is None else np.asarray(rbf_kernel, dtype=float)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature: int | str = 0,
        lags: ArrayLike | None = None,
        coverage: float = 0.9,
        kind: Literal["mixture", "features"] = "mixture",
        true_kernel: Callable[[Array], ArrayLike] | None = None,
        rbf_length_scale: float | Literal["start"] | None = None,
        ax: Any = None,
    ) -> KernelDisplay:
        """Compute and draw the kernel of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator with ``kernel_``
        feature : input along which to look, by position or name.
        lags : distances in the units of the data (of the transformed input after a transform);
            None chooses a range in which the kernel dies away.
        coverage : posterior probability of the band at each lag.
        kind : "mixture", the kernel of the spectral density, or "features", that of the sampled
            frequencies.
        true_kernel : function of lags, for data whose kernel is known.
        rbf_length_scale : length scale of an RBF kernel to draw beside it, in the unit of the
            lags; "start" takes the RBF kernel of highest evidence that the fit started from.
        ax : matplotlib axes, or None for a new figure.
        """
        part = along(estimator, feature)
        t = part.default_lags() if lags is None else np.asarray(lags, dtype=float)
        band = part.kernel.at_lags(t, coverage, kind)
        rbf = None
        if rbf_length_scale is not None:
            if rbf_length_scale == "start":
                rbf_length_scale = part.scale / float(estimator.starting_point_.scale)
            if not (isinstance(rbf_length_scale, float | int) and 0.0 < rbf_length_scale < np.inf):
                raise ValueError(
                    "rbf_length_scale must be a length above zero, 'start' or None, not "
                    f"{rbf_length_scale!r}."
                )
            rbf = np.exp(-0.5 * (t / rbf_length_scale) ** 2)
        display = cls(
            t,
            band.mean,
            band.lower,
            band.upper,
            coverage=coverage,
            name=part.name,
            unit=part.unit,
            true_kernel=None if true_kernel is None else true_kernel(t),
            rbf_kernel=rbf,
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> KernelDisplay:
        """Draw on `ax`, or on a new figure."""
        ax = new_axes(ax)
        ax.axhline(0.0, color=SHADE, linewidth=0.8)
        ax.fill_between(
            self.lags,
            self.lower,
            self.upper,
            color=LEARNED,
            alpha=0.25,
            linewidth=0,
            label=f"{percent(self.coverage)} credible band",
        )
        if self.rbf_kernel is not None:
            ax.plot(self.lags, self.rbf_kernel, label="best RBF kernel", **RIVAL_STYLE)
        ax.plot(self.lags, self.mean, color=LEARNED, linewidth=2.2, label="learned kernel")
        if self.true_kernel is not None:
            ax.plot(self.lags, self.true_kernel, label="true kernel", **TRUTH_STYLE)
        unit = f" ({self.unit})" if self.unit else ""
        ax.set_xlabel(f"distance along {self.name}{unit}", **NAMED)
        ax.set_ylabel("kernel (correlation)", color=INK)
        ax.set_xlim(float(self.lags.min()), float(self.lags.max()))
        tidy(ax)
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
