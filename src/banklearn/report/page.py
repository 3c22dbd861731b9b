"""One self-contained HTML page from a summary."""

from __future__ import annotations

from html import escape
from importlib import resources
from typing import Any

from banklearn.report import classes, figures
from banklearn.report.stills import draw_bars, draw_calibration, draw_residuals
from banklearn.report.style import CSS
from banklearn.report.svg import inline_svg
from banklearn.report.words import (
    NONE,
    interval,
    judged,
    kernel_sentences,
    number,
    percent,
    sentences,
    shown,
)
from banklearn.viz.kernel import KernelDisplay
from banklearn.viz.prediction import PredictionIntervalDisplay
from banklearn.viz.spectrum import SpectralDensityDisplay
from banklearn.viz.trace import TraceDisplay

#: Key of a score, its heading, and how a value is written.
SCORES = (
    ("mse", "mean squared error", number),
    ("r2", "variance explained", percent),
    ("coverage", "in the interval", percent),
    ("width", "interval width", number),
    ("log_density", "mean log density", number),
)


def render(summary: dict[str, Any]) -> str:
    """The HTML page of a summary: one file, nothing to load from elsewhere.

    Plots are pictures that a script on the page makes interactive; without it they stay pictures.
    """
    sections = [
        ("What was learned", _list(_sentences(summary))),
        ("Warnings", _warnings(summary)),
        (f"Scores on {judged(summary)}", _scores(summary)),
        ("The learned kernel", _kernel(summary)),
        ("Relevance of the inputs", _relevance(summary)),
        ("The spectral density", _spectrum(summary)),
        *_outcome(summary),
        ("How the chains went", _traces(summary)),
        ("The data", _data(summary)),
        ("How to reproduce this", _reproduce(summary)),
    ]
    body = "\n".join(
        f"<section>\n<h2>{escape(head)}</h2>\n{text}\n</section>" for head, text in sections if text
    )
    title = escape(summary["title"])
    script = resources.files("banklearn.report").joinpath("plots.js").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{title}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n"
        '<button type="button" id="theme" hidden>Light / dark</button>\n'
        f"<h1>{title}</h1>\n{body}\n</main>\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _classifies(summary: dict[str, Any]) -> bool:
    return bool(summary.get("task") == "classification")


def _sentences(summary: dict[str, Any]) -> list[str]:
    if _classifies(summary):
        return [*classes.class_sentences(summary), *kernel_sentences(summary)]
    return sentences(summary)


def _outcome(summary: dict[str, Any]) -> list[tuple[str, str]]:
    if not _classifies(summary):
        return [
            ("Predicted and observed", _predictions(summary)),
            ("Calibration", _calibration(summary)),
            ("Residuals", _residuals(summary)),
        ]
    label, picture = "Reliability of the probabilities", classes.reliability_svg(summary)
    spec = figures.reliability(summary)
    figure = figures.figure("reliability", label, picture, classes.caption(), spec)
    return [("Probabilities and decisions", figure + _table(*classes.confusion_table(summary)))]


def _warnings(summary: dict[str, Any]) -> str:
    found = summary["warnings"]
    return _list(found) if found else "<p>None: nothing looked wrong.</p>"


def _list(items: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def _table(head: list[str], rows: list[list[str]]) -> str:
    """A table whose first column names the rows."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    lines = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="table"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _scores(summary: dict[str, Any]) -> str:
    columns = classes.SCORES if _classifies(summary) else SCORES
    rows = [
        [name, *(write(values[key]) if key in values else NONE for key, _, write in columns)]
        for name, values in summary["scores"].items()
    ]
    table = _table(["", *(head for _, head, _ in columns)], rows)
    if _classifies(summary):
        return table + "<p>Log loss and calibration error are better when smaller.</p>"
    note = (
        f"Intervals are the central {100 * summary['interval']:.0f} % of the predictive law. "
        "A higher log density is better; the other errors and widths are better when smaller."
    )
    return table + f"<p>{escape(note)}</p>"


def _kernel(summary: dict[str, Any]) -> str:
    # The first of the curves is that of the same input.
    rbf = summary["curves"][0]["kernel"]["rbf"]
    display = KernelDisplay(**summary["kernel"], coverage=summary["band"], rbf_kernel=rbf)
    label = f"Learned kernel along {summary['kernel']['name']}"
    svg = inline_svg(display.plot, escape(label, quote=True), "kernel")
    caption = (
        "How strongly the function's values at two points go together, by their distance: "
        f"posterior mean and pointwise {100 * summary['band']:.0f} % band, beside the RBF kernel "
        "of highest evidence that the fit started from."
    )
    plot = figures.figure("kernel", label, svg, caption, figures.curves(summary, "kernel"))
    return plot + _table(*_meaning(summary))


def _meaning(summary: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """What the kernel means for each input, in the units of the data."""
    rows = []
    near = " near the median" if summary["explanation"]["local"] else ""
    for one in summary["explanation"]["inputs"]:
        if one["varies"]:
            of_kernel = one["length_scale_of"] == "kernel"
            scale = interval(one["length_scale"]) + (near if of_kernel else "")
            periods = "; ".join(interval(o["period"]) for o in one["oscillations"])
            rows.append([one["name"], scale, interval(one["half_lag"]), periods or "none"])
    return ["input", "length scale", f"kernel falls to one half at{near}", "periods"], rows


def _relevance(summary: dict[str, Any]) -> str:
    known = [one for one in summary["explanation"]["inputs"] if one["relevance"]]
    if len(known) < 2:
        return ""
    spec = figures.relevance(summary)
    view = spec["views"][0]
    svg = inline_svg(
        lambda ax: draw_bars(ax, view["labels"], view["series"][0], view["x"]),
        "Relevance of the inputs",
        "relevance",
        (5.8, 1.0 + 0.32 * len(view["labels"])),
    )
    caption = (
        "Total Sobol indices of the learned function with "
        f"{100 * summary['band']:.0f} % credible intervals. Inputs that act together count "
        "each, so that the shares can add up to more than 100 %."
    )
    return figures.figure("relevance", "Relevance of the inputs", svg, caption, spec)


def _spectrum(summary: dict[str, Any]) -> str:
    display = SpectralDensityDisplay(**summary["spectrum"], coverage=summary["band"])
    label = f"Spectral density along {summary['kernel']['name']}"
    svg = inline_svg(display.plot, escape(label, quote=True), "spectrum")
    caption = (
        "The distribution of frequencies whose Fourier transform is the kernel. Mass at zero is "
        "smooth variation; a peak at frequency w is an oscillation of period 6.28 / w."
    )
    spec = figures.curves(summary, "spectrum")
    return figures.figure("spectrum", label, svg, caption, spec) + _table(*_components(summary))


def _components(summary: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    rows = [
        [f"{i + 1}", percent(part["weight"]), number(part["frequency"]), number(part["spread"])]
        for i, part in enumerate(summary["mixture"])
    ]
    name = summary["kernel"]["name"]
    head = ["component of the last draw", "weight", f"frequency along {name}", "spread"]
    return head, rows


def _predictions(summary: dict[str, Any]) -> str:
    display = PredictionIntervalDisplay(**summary["predictions"], coverage=summary["interval"])
    label = "Predicted against observed targets"
    svg = inline_svg(display.plot, label, "predictions", (5.8, 4.8))
    caption = "Each bar is the interval of one row; rows whose bar misses the line are hollow."
    return figures.figure("predictions", label, svg, caption, figures.predictions(summary))


def _calibration(summary: dict[str, Any]) -> str:
    spec = figures.calibration(summary)
    label = "Calibration of the predictive law"
    held = spec["views"][0]["series"][0]
    svg = inline_svg(lambda ax: draw_calibration(ax, held), label, "calibration")
    caption = (
        f"Of {summary['calibration']['rows']} targets, how many lie below each quantile of their "
        "predictive law; the band is what chance allows. A calibrated law follows the diagonal."
    )
    return figures.figure("calibration", label, svg, caption, spec)


def _residuals(summary: dict[str, Any]) -> str:
    spec = figures.residuals(summary)
    first = spec["views"][0]["series"][0]
    svg = inline_svg(lambda ax: draw_residuals(ax, first), "Residuals", "residuals")
    part = summary["residuals"]
    caption = (
        f"Observed minus predicted: mean {number(part['mean'])}, standard deviation "
        f"{number(part['std'])}. A pattern is something that the model did not learn."
    )
    return figures.figure("residuals", "Residuals", svg, caption, spec)


def _traces(summary: dict[str, Any]) -> str:
    display = TraceDisplay(summary["chains"])
    rows = len(display.panels)
    svg = inline_svg(display.plot, "Traces of the chains", "traces", (5.8, 6.8), rows=rows)
    caption = (
        "Chains that have forgotten where they started wander around the same level after the "
        "warm-up. During a warm-up on part of the rows the first curve is on another scale."
    )
    plot = figures.figure("traces", "Traces of the chains", svg, caption, figures.traces(summary))
    table = [
        [row["name"], number(row["r_hat"]), number(row["ess"]), str(row["draws"])]
        for row in summary["diagnostics"]
    ]
    head = ["after the warm-up", "R-hat", "effective sample size", "sweeps or draws"]
    return plot + _table(head, table)


def _data(summary: dict[str, Any]) -> str:
    data = summary["data"]
    inputs = [
        ["inputs", ", ".join(i["name"] for i in summary["inputs"])],
        [
            "inputs that do not vary",
            ", ".join(i["name"] for i in summary["inputs"] if not i["varies"]) or "none",
        ],
        ["scaling of inputs", summary["scaling"]],
    ]
    values = _table(
        [f"input, rows {shown(summary)}", "least", "median", "greatest", "different values"],
        [
            [
                one["name"],
                *(number(one[key]) for key in ("low", "middle", "high")),
                str(one["different"]),
            ]
            for one in data["inputs"]
        ],
    )
    values += _columns(summary)
    if _classifies(summary):
        return _table(["", "value"], [*classes.data_rows(summary), *inputs]) + values
    low, high = data["test_range"]
    rows = [
        ["rows in the fit (sum of weights)", f"{data['training_rows']:g}"],
        [f"rows {shown(summary)}", str(data["test_rows"])],
        *inputs,
        [f"{summary['target']} in the fit", _mean_std(data["training_mean"], data["training_std"])],
        [f"{summary['target']} {shown(summary)}", _mean_std(data["test_mean"], data["test_std"])],
        [f"range of {summary['target']} {shown(summary)}", f"{number(low)} to {number(high)}"],
    ]
    return _table(["", "value"], rows) + values


def _columns(summary: dict[str, Any]) -> str:
    """How the columns of a table became inputs, where it was a table."""
    table = summary.get("table")
    if table is None:
        return ""
    notes = _list(table["notes"]) if table["notes"] else ""
    return _table(["column of the table", "used as"], table["columns"]) + notes


def _reproduce(summary: dict[str, Any]) -> str:
    facts = summary["reproduce"]
    rows = [
        [
            "random seed",
            "none was set: a second fit differs" if facts["seed"] is None else str(facts["seed"]),
        ],
        ["sweeps per chain", ", ".join(map(str, facts["sweeps"]))],
        ["draws kept", str(facts["draws"])],
        ["compared with", facts["baseline"] or "nothing"],
        *([["table", summary["table"]["file"]]] if "table" in summary else []),
        ["versions", ", ".join(f"{name} {v}" for name, v in facts["versions"].items())],
    ]
    arguments = "\n".join(f"    {name}={code}" for name, code in facts["arguments"].items())
    code = f"{facts['estimator']}(\n{arguments}\n)"
    return _table(["", "value"], rows) + f"<pre><code>{escape(code)}</code></pre>"


def _mean_std(mean: float, std: float) -> str:
    return f"mean {number(mean)}, standard deviation {number(std)}"
