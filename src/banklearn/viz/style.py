"""Colours and habits that all plots share."""

from __future__ import annotations

from typing import Any

# From the palette of Okabe and Ito, told apart by colour-blind readers; lines also differ in
# their dashes and lightness, so that a copy in grey can be read.
LEARNED = "#0072b2"
RIVAL = "#d55e00"
CHAINS = (LEARNED, "#e69f00", "#009e73", "#cc79a7", "#56b4e9", RIVAL)
#: Text, axes and the truth: black on paper. A report replaces it by the colour of its text.
INK = "#1a1a1a"
#: Shading behind the curves.
SHADE = "#8c8c8c"

#: Text with a name of the user's in it: two dollar signs there are no formula.
NAMED = {"color": INK, "parse_math": False}

TRUTH_STYLE = {"color": INK, "linestyle": (0, (5, 2)), "linewidth": 1.6}
RIVAL_STYLE = {"color": RIVAL, "linestyle": (0, (1, 1.2)), "linewidth": 2.0}
CHAIN_DASHES = ("-", (0, (4, 1)), (0, (1, 1)), (0, (5, 1, 1, 1)))


def new_axes(ax: Any, size: tuple[float, float] = (6.0, 3.8)) -> Any:
    """The axes given, or those of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def wants(estimator: Any, method: str, task: str) -> None:
    """Whether an estimator has the method that a plot calls, which those of another task have not.

    An estimator that is not fitted yet may hide it, and tells so itself when it is called.
    """
    if not (hasattr(type(estimator), method) or hasattr(estimator, method)):
        raise TypeError(f"This plot is for {task}, but {type(estimator).__name__} has no {method}.")


def tidy(ax: Any) -> None:
    """Axes without a box, with a faint grid behind the data."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(True, color=SHADE, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)


def percent(share: float, digits: int = 0) -> str:
    """0.95 as "95 %"."""
    return f"{100 * share:.{digits}f} %"
