"""The learned kernel along one input: a kernel of one variable with the marginal spectrum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.posterior.draws import Draw
from banklearn.posterior.kernel import LearnedKernel
from banklearn.posterior.scaling import InputScaling

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Marginal:
    """A kernel of one input, the name of that input and the unit that its lags are in.

    scale is one model unit in the units of the plot: the factor between a lag of scaled inputs
    and a lag on the axis.
    """

    kernel: LearnedKernel
    name: str
    unit: str
    scale: float

    def default_lags(self, points: int = 241) -> Array:
        """Lags from 0 until the kernel has died away, or to six deviations of the input."""
        typical = float(np.median([np.median(np.abs(draw.W)) for draw in self.kernel.draws]))
        if self.kernel.scaling.kind == "none":
            longest = 30.0 / max(typical, 1e-6)
        else:
            longest = min(6.0, 30.0 / max(typical, 1e-6)) * self.scale
        grid = np.geomspace(1e-3, 1.0, 400) * longest
        alive = np.abs(self.kernel.curves(grid)).mean(axis=0) > 0.05
        last = grid[np.flatnonzero(alive)[-1]] if alive.any() else grid[0]
        return np.linspace(0.0, min(1.3 * float(last), longest), points)

    def default_frequencies(self, points: int = 301) -> Array:
        """Frequencies from 0 to where nearly all of the draws' frequencies lie, per plot unit."""
        W = np.abs(np.concatenate([draw.W[:, 0] for draw in self.kernel.draws]))
        return np.linspace(0.0, 1.15 * float(np.quantile(W, 0.99)) / self.scale, points)


def along(estimator: Any, feature: int | str = 0) -> Marginal:
    """The kernel of a fitted estimator along one input.

    k(t e_i) is the Fourier transform of the marginal of the spectral density along input i, and
    the marginal of a Gaussian mixture takes the i-th means and variances. For transformed
    inputs, lags are those of the transformed and standardised input.
    """
    learned: LearnedKernel = fitted_kernel(estimator)
    scaling = learned.scaling
    names = input_names(estimator)
    index = _position(feature, names)
    if not scaling.used[index]:
        raise ValueError(
            f"The input {names[index]!r} did not vary in the training data, so the kernel does not "
            "depend on it. Choose another feature."
        )
    i = int(scaling.used[:index].sum())
    one = np.array([True])
    if scaling.linear:
        kept = replace(
            scaling,
            used=one,
            shift=scaling.shift[i : i + 1],
            scale=scaling.scale[i : i + 1],
            centre=scaling.centre[i : i + 1],
            spread=scaling.spread[i : i + 1],
        )
        unit, scale = "", float(scaling.scale[i])
    else:
        kept = InputScaling("standard", one, np.zeros(1), np.ones(1), np.zeros(1), np.ones(1))
        unit, scale = f"{scaling.kind}-transformed, in standard deviations", 1.0
    draws = [_marginal(draw, i) for draw in learned.draws]
    return Marginal(LearnedKernel(draws, kept, learned.max_draws), names[index], unit, scale)


def fitted_kernel(estimator: Any) -> LearnedKernel:
    """The estimator's kernel, or a sentence that it has none yet."""
    kernel = getattr(estimator, "kernel_", None)
    if not isinstance(kernel, LearnedKernel):
        advice = (
            "Call fit first."
            if hasattr(estimator, "n_frequencies")
            else "Pass a fitted BankRegressor or BankClassifier, such as the one inside of it."
        )
        raise ValueError(
            f"{type(estimator).__name__} has no learned kernel to show: it needs the attribute "
            f"kernel_. {advice}"
        )
    return kernel


def input_names(estimator: Any) -> list[str]:
    """Names of the inputs: those of the training table, else "input 0", "input 1", ..."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    d = len(fitted_kernel(estimator).scaling.used)
    return ["input"] if d == 1 else [f"input {i}" for i in range(d)]


def _position(feature: int | str, names: list[str]) -> int:
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"There is no input {feature!r}; the inputs are {', '.join(names)}.")
        return names.index(feature)
    if isinstance(feature, bool) or not isinstance(feature, int | np.integer):
        raise TypeError(f"feature must be the position or the name of an input, not {feature!r}.")
    if not 0 <= feature < len(names):
        raise ValueError(f"feature must lie between 0 and {len(names) - 1}, but is {feature}.")
    return int(feature)


def _marginal(draw: Draw, i: int) -> Draw:
    part = slice(i, i + 1)
    return replace(draw, W=draw.W[:, part], mu=draw.mu[:, part], Sigma=draw.Sigma[:, part, part])
