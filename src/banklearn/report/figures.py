"""Figures of the page: a still picture, and the data that the page's script draws again.

A figure's data are views to choose from; a view has labels of its axes and series of numbers.
"""

from __future__ import annotations

import json
from html import escape
from typing import Any

import numpy as np

#: Points that a scatter plot draws at most.
MOST_POINTS = 400


def figure(name: str, label: str, picture: str, caption: str, spec: dict[str, Any]) -> str:
    """A figure element: picture, data, caption."""
    data = json.dumps({"label": label, **_rounded(spec)}, ensure_ascii=False)
    # "</script>" inside a name would end the element.
    data = data.replace("<", "\\u003c")
    return (
        f'<figure id="figure-{name}" data-plot="{name}">{picture}'
        f'<script type="application/json">{data}</script>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def curves(summary: dict[str, Any], kind: str) -> dict[str, Any]:
    """Views of the kernel ("kernel") or of the spectral density ("spectrum"), one per input."""
    band = f"learned, {100 * summary['band']:.0f} % band"
    views = []
    for part in summary["curves"]:
        unit = f" ({part['unit']})" if part["unit"] else ""
        drawn = part[kind]
        x = drawn["lags" if kind == "kernel" else "frequencies"]
        series = [
            {
                "name": band,
                "type": "line",
                "color": "learned",
                "x": x,
                "y": drawn["mean"],
                "low": drawn["lower"],
                "high": drawn["upper"],
            }
        ]
        if drawn.get("rbf"):
            series.append(
                {
                    "name": "RBF kernel of highest evidence",
                    "type": "line",
                    "color": "rival",
                    "dash": "5 4",
                    "x": x,
                    "y": drawn["rbf"],
                }
            )
        label = (
            f"distance along {part['name']}{unit}"
            if kind == "kernel"
            else f"angular frequency along {part['name']}{unit}"
        )
        y = "kernel (correlation)" if kind == "kernel" else "spectral density"
        views.append(
            {"name": part["name"], "x": label, "y": y, "series": series, "log": kind != "kernel"}
        )
    return {"choose": "along", "views": views}


def relevance(summary: dict[str, Any], most: int = 20) -> dict[str, Any]:
    """Bars of relevance with their intervals, the largest first."""
    known = [one for one in summary["explanation"]["inputs"] if one["relevance"]]
    known = sorted(known, key=lambda one: -one["relevance"][0])[:most]
    value, low, high = ([100.0 * one["relevance"][place] for one in known] for place in range(3))
    series = {"name": "relevance", "type": "bars", "color": "learned"}
    view = {
        "name": "relevance",
        "x": "% of the variance that goes when the input is shuffled",
        "labels": [one["name"] for one in known],
        "series": [{**series, "y": value, "low": low, "high": high}],
    }
    return {"choose": "", "views": [view]}


def predictions(summary: dict[str, Any]) -> dict[str, Any]:
    """Predicted against observed, in and out of the interval."""
    data = {name: np.asarray(values) for name, values in summary["predictions"].items()}
    rows = thinned(data["observed"])
    inside = (data["lower"] <= data["observed"]) & (data["observed"] <= data["upper"])
    ends = [float(data["observed"].min()), float(data["observed"].max())]
    series = [
        _points(data, rows[inside[rows]], "predicted, inside", "learned"),
        _points(data, rows[~inside[rows]], "predicted, outside", "rival"),
        {"name": "perfect", "type": "guide", "color": "ink", "x": ends, "y": ends},
    ]
    series = [s for s in series if s["x"]]
    view = {"name": "rows", "x": f"observed {summary['target']}", "y": "predicted"}
    return {"choose": "", "views": [{**view, "series": series}]}


def _points(data: dict[str, Any], rows: Any, name: str, color: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "points",
        "color": color,
        "hollow": color == "rival",
        "x": data["observed"][rows].tolist(),
        "y": data["predicted"][rows].tolist(),
        "low": data["lower"][rows].tolist(),
        "high": data["upper"][rows].tolist(),
    }


def residuals(summary: dict[str, Any]) -> dict[str, Any]:
    """Observed minus predicted, against the prediction and against inputs."""
    views = []
    for part in summary["residuals"]["against"]:
        ends = [min(part["x"]), max(part["x"])]
        dots = {"name": "residual", "type": "points", "color": "learned"}
        dots |= {"x": part["x"], "y": summary["residuals"]["residual"]}
        zero = {"name": "zero", "type": "guide", "color": "ink", "x": ends, "y": [0.0, 0.0]}
        labels = {"name": part["name"], "x": part["name"], "y": "observed minus predicted"}
        views.append({**labels, "series": [dots, zero]})
    return {"choose": "against", "views": views}


def calibration(summary: dict[str, Any]) -> dict[str, Any]:
    """Share of targets below each predicted quantile."""
    part = summary["calibration"]
    levels = part["levels"]
    held = {"name": "observed share", "type": "line", "color": "learned", "x": levels}
    held |= {"y": part["observed"], "low": part["low"], "high": part["high"]}
    ideal = {"name": "ideal", "type": "guide", "color": "ink", "x": [0, 1], "y": [0, 1]}
    view = {"name": "quantiles", "x": "predicted probability", "y": "share of targets below"}
    return {"choose": "", "views": [{**view, "series": [held, ideal], "limits": [0, 1]}]}


def reliability(summary: dict[str, Any]) -> dict[str, Any]:
    """Reliability of the most probable class, by bins."""
    part = summary["reliability"]
    full = [i for i, rows in enumerate(part["rows"]) if rows]
    dots = {
        "name": "share that came true",
        "type": "points",
        "color": "learned",
        "x": [part["predicted"][i] for i in full],
        "y": [part["observed"][i] for i in full],
    }
    ideal = {"name": "ideal", "type": "guide", "color": "ink", "x": [0, 1], "y": [0, 1]}
    view = {"name": "bins", "x": "predicted probability", "y": "share that came true"}
    return {"choose": "", "views": [{**view, "series": [dots, ideal], "limits": [0, 1]}]}


def traces(summary: dict[str, Any]) -> dict[str, Any]:
    """A view per quantity, a series per chain."""
    views = []
    chains = summary["chains"]
    for name, label, log in TRACED:
        if not all(name in chain for chain in chains):
            continue
        series = []
        for number, chain in enumerate(chains):
            y = chain[name]
            x = chain["noise_sweep"] if name == "noise_std" else list(range(1, len(y) + 1))
            color = f"chain{number % 6}"
            line = {"name": f"chain {number + 1}", "type": "line", "color": color, "x": x, "y": y}
            series.append(line)
        view = {"name": label, "x": "sweep", "y": label, "series": series, "log": log}
        if name != "noise_std":
            view["shaded"] = max(chain["warmup"] for chain in chains)
        if name in ("log_evidence", "log_likelihood"):
            late = [v for chain in chains for v in chain[name][chain["warmup"] // 2 :]]
            margin = 0.08 * (max(late) - min(late)) or 1.0
            view["limits"] = [min(late) - 3 * margin, max(late) + margin]
        views.append(view)
    return {"choose": "show", "views": views}


#: Traced quantities: key, words, and whether a logarithmic axis is offered.
TRACED = (
    ("log_evidence", "log evidence", False),
    ("log_likelihood", "log likelihood", False),
    ("K", "components", False),
    ("lam", "weight precision", True),
    ("noise_std", "noise deviation", True),
)


def thinned(order_by: Any, most: int = MOST_POINTS) -> Any:
    """Positions of at most so many rows, evenly spread over the sorted values."""
    rows = np.argsort(np.asarray(order_by), kind="stable")
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(int)]


def _rounded(value: Any) -> Any:
    """Digits that a screen can show; what is not finite becomes null.

    Five significant digits of each number, and more where the numbers of a list lie close together
    far from zero: five of their range, so that years or large targets do not collapse.
    """
    if isinstance(value, dict):
        return {key: _rounded(v) for key, v in value.items()}
    if not isinstance(value, list):
        return value
    known = [v for v in value if isinstance(v, float) and np.isfinite(v)]
    apart = max(known, default=0.0) - min(known, default=0.0)
    return [_digits(v, apart) if isinstance(v, float) else _rounded(v) for v in value]


def _digits(value: float, apart: float) -> float | None:
    if not np.isfinite(value):
        return None
    if value == 0 or not 0 < apart < np.inf:
        return value
    digits = 5 + np.floor(np.log10(abs(value))) - np.floor(np.log10(apart))
    return float(f"{value:.{int(np.clip(digits, 5, 17))}g}")
