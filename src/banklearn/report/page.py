"""One self-contained HTML page from a summary."""

from __future__ import annotations

from html import escape
from typing import Any

from banklearn.report import classes
from banklearn.report.style import CSS
from banklearn.report.svg import inline_svg
from banklearn.report.words import NONE, kernel_sentences, number, percent, sentences
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
    """The HTML page of a summary: no scripts, no fonts, nothing to load from elsewhere."""
    sections = [
        ("What was learned", _list(_sentences(summary))),
        ("Scores on rows kept out of the fit", _scores(summary)),
        ("The learned kernel", _kernel(summary)),
        ("The spectral density", _spectrum(summary)),
        _outcome(summary),
        ("How the chains went", _traces(summary)),
        ("The data", _data(summary)),
        ("How to reproduce this", _reproduce(summary)),
    ]
    body = "\n".join(
        f"<section>\n<h2>{escape(head)}</h2>\n{text}\n</section>" for head, text in sections
    )
    title = escape(summary["title"])
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _classifies(summary: dict[str, Any]) -> bool:
    return bool(summary.get("task") == "classification")


def _sentences(summary: dict[str, Any]) -> list[str]:
    if _classifies(summary):
        return [*classes.class_sentences(summary), *kernel_sentences(summary)]
    return sentences(summary)


def _outcome(summary: dict[str, Any]) -> tuple[str, str]:
    if not _classifies(summary):
        return "Predicted and observed", _predictions(summary)
    figure = f"<figure>{classes.reliability_svg(summary)}<figcaption>{classes.caption()}"
    table = _table(*classes.confusion_table(summary))
    return "Probabilities and decisions", f"{figure}</figcaption></figure>{table}"


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


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


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
    display = KernelDisplay(**summary["kernel"], coverage=summary["band"])
    svg = inline_svg(display.plot, f"Learned kernel along {_name(summary)}", "kernel")
    caption = (
        "How strongly the function's values at two points go together, by their distance along "
        f"{summary['kernel']['name']}: posterior mean and pointwise {100 * summary['band']:.0f} % "
        "band."
    )
    varying = [i for i in summary["inputs"] if i["varies"]]
    if len(varying) == 1:
        return _figure(svg, caption)
    unit = (
        "transformed, in standard deviations"
        if summary["scaling"] == "arcsinh"
        else "units of the data"
    )
    rows = [
        [i["name"], number(i["half_lag"]), number(i["half_lag_in_deviations"])] for i in varying
    ]
    head = ["input", f"falls to one half at ({unit})", "in standard deviations"]
    if summary["scaling"] == "arcsinh":
        rows, head = [row[:2] for row in rows], head[:2]
    return _figure(svg, caption) + _table(head, rows)


def _spectrum(summary: dict[str, Any]) -> str:
    display = SpectralDensityDisplay(**summary["spectrum"], coverage=summary["band"])
    svg = inline_svg(display.plot, f"Spectral density along {_name(summary)}", "spectrum")
    caption = (
        "The distribution of frequencies whose Fourier transform is the kernel. Mass at zero is "
        "smooth variation; a peak at frequency w is an oscillation of period 6.28 / w."
    )
    return _figure(svg, caption)


def _predictions(summary: dict[str, Any]) -> str:
    display = PredictionIntervalDisplay(**summary["predictions"], coverage=summary["interval"])
    svg = inline_svg(display.plot, "Predicted against observed targets", "predictions", (5.8, 4.8))
    return _figure(svg, "Each bar is the interval of one row; bars that miss the line are hollow.")


def _traces(summary: dict[str, Any]) -> str:
    display = TraceDisplay(summary["chains"])
    rows = len(display.panels)
    svg = inline_svg(display.plot, "Traces of the chains", "traces", (5.8, 6.8), rows=rows)
    caption = (
        "Chains that have forgotten where they started wander around the same level after the "
        "warm-up. During a warm-up on part of the rows the first curve is on another scale."
    )
    return _figure(svg, caption)


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
    if _classifies(summary):
        return _table(["", "value"], [*classes.data_rows(summary), *inputs])
    low, high = data["test_range"]
    rows = [
        ["rows in the fit (sum of weights)", f"{data['training_rows']:g}"],
        ["rows kept out", str(data["test_rows"])],
        *inputs,
        [f"{summary['target']} in the fit", _mean_std(data["training_mean"], data["training_std"])],
        [f"{summary['target']} kept out", _mean_std(data["test_mean"], data["test_std"])],
        [f"range of {summary['target']} kept out", f"{number(low)} to {number(high)}"],
    ]
    return _table(["", "value"], rows)


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
        ["versions", ", ".join(f"{name} {v}" for name, v in facts["versions"].items())],
    ]
    arguments = ",\n".join(f"    {name}={v!r}" for name, v in facts["parameters"].items())
    code = f"{facts['estimator']}(\n{arguments},\n)"
    return _table(["", "value"], rows) + f"<pre><code>{escape(code)}</code></pre>"


def _mean_std(mean: float, std: float) -> str:
    return f"mean {number(mean)}, standard deviation {number(std)}"


def _name(summary: dict[str, Any]) -> str:
    return escape(summary["kernel"]["name"], quote=True)
