"""The figure of section 4.1: the data, and kernels beside the true one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from banklearn.datasets.synthetic import synthetic_kernel
from banklearn.demo import make_synthetic
from banklearn.experiments.cells import Record
from banklearn.experiments.figures import panels
from banklearn.viz.style import CHAINS, INK, LEARNED, RIVAL_STYLE, SHADE, TRUTH_STYLE, tidy


def synthetic_figure(records: Sequence[Record]) -> Any:
    """One line of panels per size: data, then kernels of its first data set."""
    from banklearn.experiments.synthetic import SIZES

    first: dict[str, Record] = {}
    for record in sorted(records, key=lambda r: int(r["seed"])):
        first.setdefault(record["size"], record)
    figure, axes = panels(2 * len(first), 2, (5.2, 3.4))
    for i, (size, record) in enumerate(sorted(first.items(), reverse=True)):
        X, y = make_synthetic(**SIZES[size], seed=record["seed"])
        ax = axes[2 * i]
        ax.scatter(X[:, 0], y, s=4, color=INK, alpha=0.4, linewidths=0)
        ax.set_xlabel("x")
        ax.set_ylabel("y")
        ax.set_title(f"{len(y)} points, noise {SIZES[size]['noise_std']:g}", fontsize="medium")
        tidy(ax)
        _kernels(axes[2 * i + 1], record)
    return figure


def _kernels(ax: Any, record: Record) -> None:
    from banklearn.experiments.synthetic import COVERAGE, LAGS, feature_estimate

    curves = {name: np.asarray(curve) for name, curve in record["curves"].items()}
    ax.axhline(0.0, color=SHADE, linewidth=0.8)
    ax.fill_between(
        LAGS, curves["lower"], curves["upper"], color=LEARNED, alpha=0.2, linewidth=0,
        label=f"{COVERAGE:.0%} band",
    )  # fmt: skip
    ax.plot(LAGS, curves["rbf"], label="best RBF", **RIVAL_STYLE)
    ax.plot(
        LAGS, feature_estimate(record["seed"]), color=CHAINS[4], linewidth=1.2,
        label="250 features of the true density",
    )  # fmt: skip
    ax.plot(LAGS, curves["draw"], color=CHAINS[2], linewidth=1.2, label="one posterior draw")
    ax.plot(LAGS, curves["mean"], color=LEARNED, linewidth=2.2, label="posterior mean")
    ax.plot(LAGS, synthetic_kernel(LAGS), label="true kernel", **TRUTH_STYLE)
    ax.set_xlim(0.0, 8.0)
    ax.set_ylim(-0.35, 1.05)
    ax.set_xlabel("lag")
    ax.set_ylabel("kernel")
    tidy(ax)
    ax.legend(frameon=False, fontsize="x-small")
