"""How the chains went: log evidence, components, weight precision and noise by sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from banklearn.viz.style import CHAIN_DASHES, CHAINS, INK, SHADE, tidy

#: Quantity, label, and whether its axis is logarithmic; in the order of the panels.
PANELS = (
    ("log_evidence", "log evidence", False),
    ("log_likelihood", "log likelihood", False),
    ("K", "components", False),
    ("lam", "weight precision λ", True),
    ("noise_std", "noise deviation", False),
)


class TraceDisplay:
    """Quantities by sweep for every chain, with the warm-up shaded.

    Parameters
    ----------
    chains : sequence of mappings
        Per chain: ``warmup`` (number of sweeps) and the quantities of :data:`PANELS`, each an
        array over sweeps; ``noise_std`` only at the kept draws, with ``noise_sweep`` saying when.
    """

    def __init__(self, chains: Sequence[Mapping[str, ArrayLike]]) -> None:
        self.chains = [{name: np.asarray(v) for name, v in chain.items()} for chain in chains]

    @property
    def panels(self) -> list[tuple[str, str, bool]]:
        """The panels of :data:`PANELS` that every chain has."""
        return [p for p in PANELS if all(p[0] in chain for chain in self.chains)]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> TraceDisplay:
        """Draw the traces of a fitted estimator; see :meth:`plot` for `ax`."""
        return cls(chain_traces(estimator)).plot(ax)

    def plot(self, ax: Any = None) -> TraceDisplay:
        """Draw on a sequence of axes, one per quantity, or on a new figure.

        ``ax_`` is the array of axes, in the order of :data:`PANELS` (classifiers: the likelihood
        in place of the evidence, and no noise).
        """
        panels = self.panels
        axes = self._axes(ax, len(panels))
        warmup = max(int(chain["warmup"]) for chain in self.chains)
        for place, (name, label, logarithmic) in zip(axes, panels, strict=True):
            if warmup:
                place.axvspan(0.5, warmup + 0.5, color=SHADE, alpha=0.18, linewidth=0)
            for number, chain in enumerate(self.chains):
                values = chain[name]
                sweeps = chain["noise_sweep"] if name == "noise_std" else 1 + np.arange(len(values))
                place.plot(
                    sweeps,
                    values,
                    color=CHAINS[number % len(CHAINS)],
                    linestyle=CHAIN_DASHES[number % len(CHAIN_DASHES)],
                    linewidth=1.2,
                    marker="." if len(values) == 1 else None,
                    label=f"chain {number + 1}",
                )
            if logarithmic:
                plain_log_axis(place)
            if name in ("log_evidence", "log_likelihood"):
                place.set_ylim(*self._late_limits(name))
            place.set_ylabel(label, color=INK)
            place.set_xlim(0.5, max(len(chain["K"]) for chain in self.chains) + 0.5)
            place.locator_params(axis="x", integer=True)
            tidy(place)
        axes[-1].set_xlabel("sweep (warm-up shaded)" if warmup else "sweep", color=INK)
        axes[0].legend(frameon=False, ncols=min(len(self.chains), 4), loc="lower right")
        self.ax_, self.figure_ = axes, axes[0].figure
        return self

    def _axes(self, ax: Any, count: int) -> Any:
        if ax is None:
            from matplotlib import pyplot

            return pyplot.subplots(
                count, 1, sharex=True, figsize=(6.4, 1.2 + 1.5 * count), layout="constrained"
            )[1]
        axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if len(axes) != count:
            raise ValueError(f"The traces need {count} axes, but {len(axes)} were given.")
        return axes

    def _late_limits(self, name: str) -> tuple[float, float]:
        """Limits from the second half of the warm-up on.

        The climb at the start, and sweeps on a subsample of the rows, are on another scale.
        """
        late = np.concatenate([chain[name][int(chain["warmup"]) // 2 :] for chain in self.chains])
        low, high = float(late.min()), float(late.max())
        margin = 0.08 * (high - low) or 1.0
        return low - 3 * margin, high + margin


def plain_log_axis(ax: Any) -> None:
    """A logarithmic axis with ordinary numbers at its ticks, also between powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_yscale("log")
    low, high = ax.get_ylim()
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    ax.yaxis.set_major_formatter(plain)
    ax.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
    ax.yaxis.set_minor_formatter(plain if high < 50 * low else NullFormatter())


def chain_traces(estimator: Any) -> list[dict[str, Any]]:
    """The traces of a fitted estimator as plain arrays, with the noise of the kept draws."""
    traces = getattr(estimator, "trace_", None)
    if not traces:
        raise ValueError(f"{type(estimator).__name__} has no trace_ to show. Call fit first.")
    target = getattr(estimator, "target_scaling_", None)
    chains = []
    for number, trace in enumerate(traces):
        # Given its augmentation, a classifier's evidence says little; its likelihood is watched.
        watched = "log_likelihood" if target is None else "log_evidence"
        chain = {name: trace[name] for name in ("warmup", watched, "K", "lam")}
        if target is not None:
            kept = [draw for draw in estimator.draws_ if draw.chain == number]
            # Draws are numbered as if warm-up had been complete; close the gap of one cut short.
            gap = max(int(estimator.n_warmup) - int(trace["warmup"]), 0)
            chain["noise_sweep"] = np.array([draw.sweep - gap for draw in kept])
            chain["noise_std"] = target.scale * np.sqrt([draw.noise for draw in kept])
        chains.append(chain)
    return chains
