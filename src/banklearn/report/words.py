"""The summary in sentences."""

from __future__ import annotations

import math
from typing import Any

#: Where there is no number.
NONE = "\N{EN DASH}"
#: How the rows of a page stand to the fit, in a sentence and in the head of a table.
STANDINGS = {
    "kept out": ("rows kept out of the fit", "kept out"),
    "seen": ("rows that the fit has seen", "shown, seen by the fit"),
    "unknown": ("rows that the fit may have seen", "shown, perhaps seen by the fit"),
}


def number(value: float | None, digits: int = 3) -> str:
    """Three significant digits, without an exponent where that reads well; a dash for none."""
    if value is None or math.isnan(value):
        return NONE
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits - 1}e}"
    whole = len(str(int(abs(value))))
    return f"{value:.{digits}g}" if whole <= digits else f"{value:.0f}"


def interval(estimate: list[float] | None) -> str:
    """A value with its credible interval; a dash for none."""
    if estimate is None:
        return NONE
    value, low, high = map(number, estimate)
    return f"{value} ({low} to {high})"


def percent(share: float | None) -> str:
    """0.954 as "95.4 %"; a dash for none."""
    return NONE if share is None else f"{100 * share:.1f} %"


def judged(summary: dict[str, Any]) -> str:
    """What the rows that the page judges by are called."""
    return STANDINGS[summary.get("standing", "kept out")][0]


def shown(summary: dict[str, Any]) -> str:
    """The same, after the name of a quantity."""
    return STANDINGS[summary.get("standing", "kept out")][1]


def sentences(summary: dict[str, Any]) -> list[str]:
    """What was learned, one sentence each."""
    return [
        *_comparison(summary),
        _intervals(summary),
        _noise(summary),
        *kernel_sentences(summary),
    ]


def kernel_sentences(summary: dict[str, Any]) -> list[str]:
    """What was learned about the kernel."""
    return [_kernel(summary), *summary["explanation"]["words"], _components(summary)]


def _target(summary: dict[str, Any]) -> str:
    """The target's name, in a sentence."""
    name = str(summary["target"])
    return "the target" if name == "target" else name


def _comparison(summary: dict[str, Any]) -> list[str]:
    (name, own), *others = summary["scores"].items()
    first = (
        f"On {summary['data']['test_rows']} {judged(summary)}, predictions of "
        f"{_target(summary)} miss by {number(own['rmse'])} (root mean square) and "
        f"{_explained(own['r2'])}."
    )
    if not others:
        return [first]
    rival, score = others[0]
    change = own["mse"] / score["mse"] - 1.0
    if abs(change) < 0.01:
        verdict = f"within 1 % of that of {rival}, whose kernel is fixed in form"
    else:
        word = "below" if change < 0 else "above"
        verdict = f"{percent(abs(change))} {word} that of {rival}, whose kernel is fixed in form"
    return [first, f"The mean squared error of {name} is {verdict}."]


def _explained(r2: float | None) -> str:
    if r2 is None:
        return "have no variance to explain, as it does not vary there"
    return f"explain {percent(r2) if r2 >= 0 else 'none'} of its variance"


def _intervals(summary: dict[str, Any]) -> str:
    own = next(iter(summary["scores"].values()))
    nominal, n = summary["interval"], summary["data"]["test_rows"]
    # Two standard errors of a share of n rows.
    chance = 2.0 * math.sqrt(nominal * (1 - nominal) / n)
    gap = own["coverage"] - nominal
    if abs(gap) <= chance:
        verdict = "as it should be, within what chance allows"
    elif gap > 0:
        verdict = "more than promised: the intervals are wider than they need to be"
    else:
        verdict = "less than promised: the intervals are too narrow"
    return (
        f"The {100 * nominal:.0f} % intervals hold {percent(own['coverage'])} of the targets of "
        f"these rows, {verdict}."
    )


def _noise(summary: dict[str, Any]) -> str:
    noise, data = summary["noise_std"], summary["data"]
    return (
        f"The noise is estimated to have a standard deviation of {number(noise['mean'])} "
        f"({number(noise['low'])} to {number(noise['high'])}), where {_target(summary)} "
        f"itself has {number(data['training_std'])}."
    )


def _kernel(summary: dict[str, Any]) -> str:
    part = summary["kernel"]
    half = next(i["half_lag"] for i in summary["inputs"] if i["name"] == part["name"])
    unit = f" ({part['unit']})" if part["unit"] else ""
    if half is None:
        return (
            f"Along {part['name']}{unit} the kernel stays above one half: the function varies "
            "slowly, and points far apart still inform each other."
        )
    text = (
        f"Along {part['name']}{unit} the kernel falls to one half at a distance of {number(half)}"
    )
    if min(part["mean"]) < -0.05:
        return f"{text}, and becomes negative further on: the function oscillates."
    return f"{text}: points closer than that inform each other."


def _components(summary: dict[str, Any]) -> str:
    count = summary["components"]
    return (
        f"The spectral density uses {number(count['mean'])} components on average over the draws "
        f"(90 % of the draws: {count['low']:.0f} to {count['high']:.0f})."
    )
