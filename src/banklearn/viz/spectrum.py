"""The learned spectral density."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banklearn.viz.marginal import along
from banklearn.viz.style import INK, LEARNED, NAMED, TRUTH_STYLE, new_axes, percent, tidy

Array = NDArray[np.float64]


class SpectralDensityDisplay:
    """Posterior mean and credible band of the spectral density, or of its marginal.

    Parameters
    ----------
    frequencies, mean, lower, upper : array-like of shape (n,)
        The curves; frequencies are angular.
    coverage : float
        Posterior probability of the band at each frequency.
    name, unit : str
        The input, and its unit if that is not the data's.
    marginal : bool
        Whether other inputs have been integrated out.
    true_density : array-like of shape (n,) or None
        A curve to compare with.
    """

    def __init__(
        self,
        frequencies: ArrayLike,
        mean: ArrayLike,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        coverage: float = 0.9,
        name: str = "input",
        unit: str = "",
        marginal: bool = False,
        true_density: ArrayLike | None = None,
    ) -> None:
        self.frequencies = np.asarray(frequencies, dtype=float)
        self.mean, self.lower, self.upper = (
            np.asarray(c, dtype=float) for c in (mean, lower, upper)
        )
        self.coverage, self.name, self.unit, self.marginal = coverage, name, unit, marginal
        self.true_density = None if true_density is None else np.asarray(true_density, dtype=float)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature: int | str = 0,
        frequencies: ArrayLike | None = None,
        coverage: float = 0.9,
        true_density: Callable[[Array], ArrayLike] | None = None,
        ax: Any = None,
    ) -> SpectralDensityDisplay:
        """Compute and draw the spectral density of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator with ``kernel_``
        feature : input along which to look; with several inputs the others are integrated out.
        frequencies : angular frequencies, in radians per unit of the data (of the transformed
            input after a transform); None chooses a range that holds nearly all of the mass.
        coverage : posterior probability of the band at each frequency.
        true_density : symmetric density as a function of frequencies, where it is known.
        ax : matplotlib axes, or None for a new figure.
        """
        part = along(estimator, feature)
        if frequencies is None:
            frequencies = part.default_frequencies()
        omega = np.asarray(frequencies, dtype=float)
        band = part.kernel.spectral_density(omega, coverage)
        display = cls(
            omega,
            band.mean,
            band.lower,
            band.upper,
            coverage=coverage,
            name=part.name,
            unit=part.unit,
            marginal=estimator.kernel_.scaling.used.sum() > 1,
            true_density=None if true_density is None else true_density(omega),
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> SpectralDensityDisplay:
        """Draw on `ax`, or on a new figure."""
        ax = new_axes(ax)
        ax.fill_between(
            self.frequencies,
            self.lower,
            self.upper,
            color=LEARNED,
            alpha=0.25,
            linewidth=0,
            label=f"{percent(self.coverage)} credible band",
        )
        what = "marginal spectral density" if self.marginal else "spectral density"
        ax.plot(self.frequencies, self.mean, color=LEARNED, linewidth=2.2, label=f"learned {what}")
        if self.true_density is not None:
            ax.plot(self.frequencies, self.true_density, label="true density", **TRUTH_STYLE)
        unit = f" ({self.unit})" if self.unit else ""
        ax.set_xlabel(f"angular frequency along {self.name}{unit}", **NAMED)
        ax.set_ylabel(what, color=INK)
        ax.set_xlim(float(self.frequencies.min()), float(self.frequencies.max()))
        # A draw with a narrow component makes a spike; the scale is that of the curves.
        tallest = max(
            self.mean.max(), 0.0 if self.true_density is None else self.true_density.max()
        )
        ax.set_ylim(0.0, 1.05 * float(min(max(tallest, self.upper.max()), 2.0 * tallest)))
        tidy(ax)
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
