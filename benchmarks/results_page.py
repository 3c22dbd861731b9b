"""Write docs/results.md and its figures from the raw results; no number is typed by hand.

    python benchmarks/results_page.py [--results benchmarks/results/reproduce] [--docs docs]

The raw results are the Parquet files that `bank reproduce` leaves in its output folder; the words
are in benchmarks/page.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from banklearn.datasets.names import SPECS
from banklearn.experiments.cells import Record
from banklearn.experiments.comparison import FOLDS, IDENTITY, bullets, run_on
from banklearn.experiments.figures import drawable, error_figure, save
from banklearn.experiments.methods import METHODS
from banklearn.experiments.paper import (
    CLASSIFICATION,
    CLASSIFICATION_METHODS,
    REGRESSION,
    REGRESSION_METHODS,
    SOURCE,
)
from banklearn.experiments.results import merge, read_results
from banklearn.experiments.rivals import METHODS as RIVALS
from banklearn.experiments.synthetic import CHAINS
from banklearn.experiments.synthetic import table as synthetic_table
from banklearn.experiments.synthetic_figure import synthetic_figure
from banklearn.experiments.tables import details, entries, paper_like
from banklearn.experiments.timing_summary import (
    point_table,
    runtime_figure,
    runtime_table,
    runtimes,
    slope_table,
    timing_figure,
)
from banklearn.experiments.verdicts import legend, losses, near_losses, rivals_against_paper

HERE = Path(__file__).resolve().parent
#: Figures of the page, within the documentation.
IMAGES = Path("images") / "reproduce"


def main(arguments: Sequence[str] | None = None) -> Path:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results" / "reproduce")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    parser.add_argument("--no-figures", action="store_true")
    options = parser.parse_args(arguments)
    draw = drawable() and not options.no_figures
    path = Path(options.docs) / "results.md"
    path.write_text(page(options.results, options.docs if draw else None), encoding="utf-8")
    return path


def page(results: Path, docs: Path | None) -> str:
    """The page as text; its figures go into the documentation's folder unless that is None."""
    parts = [prose("introduction").replace("SOURCE", SOURCE)]
    for number, task, order, of_paper in (
        (1, "regression", REGRESSION_METHODS, REGRESSION),
        (2, "classification", CLASSIFICATION_METHODS, CLASSIFICATION),
    ):
        parts += [f"## Table {number}: {task}"]
        parts += comparison(of_task(results, task, task), task, task, docs)
        parts += [missing(read_results(results / f"{task}.parquet"), order, of_paper)]
    parts += beyond(results, docs)
    parts += timing(results, docs)
    parts += synthetic(results, docs)
    parts += [prose("departures")]
    return "\n\n".join(part for part in parts if part) + "\n"


def prose(name: str) -> str:
    """What the page says in words, from a file beside this script."""
    return (HERE / "page" / f"{name}.md").read_text(encoding="utf-8").strip()


def of_task(results: Path, name: str, task: str) -> list[Record]:
    """The records of one task in the file of an experiment."""
    return [r for r in read_results(results / f"{name}.parquet") if r["task"] == task]


def beyond(results: Path, docs: Path | None) -> list[str]:
    """Other libraries' methods, beside BaNK's cells of the tables above."""
    lines = []
    for task in ("regression", "classification"):
        records = of_task(results, "rivals", task)
        sets = {r["set"] for r in records if r["method"] != "bank"}
        ours = [
            r for r in of_task(results, task, task) if r["method"] == "bank" and r["set"] in sets
        ]
        if sets:
            found = merge([r for r in records if r["set"] in sets], ours, IDENTITY)
            lines += [f"### {task.capitalize()}", *comparison(found, "rivals", task, docs)]
            wanted = dict.fromkeys(r["set"] for r in of_task(results, task, task))
            lines += [missing(found, RIVALS[1:], [s for s in wanted if s in SPECS])]
    return ["## Beyond the paper", prose("beyond"), *lines] if lines else []


def comparison(records: Sequence[Record], name: str, task: str, docs: Path | None) -> list[str]:
    """Table, figure, sentences and all cells of one task."""
    if not records:
        return []
    found = entries(records)
    stem = name if name == task else f"{name}-{task}"
    lines = [paper_like(found), legend(task), figure(docs, stem, lambda: error_figure(found))]
    if name == task:
        lines += [bullets(rivals_against_paper(found))]
    if any(e.method == "bank" for e in found):
        lines += ["Where the best of the others is significantly lower than BaNK:"]
        lines += [bullets(losses(found) or ["on none of these sets"])]
        lines += ["Where it is lower, but the test does not tell the two apart:"]
        lines += [bullets(near_losses(found) or ["on none of these sets"])]
    return [*lines, "Every cell:", details(found), run_on(records)]


def missing(records: Sequence[Record], methods: Sequence[str], sets: Iterable[str]) -> str:
    """The cells of a table whose folds have not all been measured, in sentences."""
    lines = []
    nowhere = [s for s in sets if not any(r["set"] == s for r in records)]
    for method in methods:
        counts = {
            s: sum((r["set"], r["method"]) == (s, method) for r in records)
            for s in sets
            if s not in nowhere and tried(method, s)
        }
        absent = [
            s if count == 0 else f"{s} ({len(FOLDS) - count} of {len(FOLDS)} folds)"
            for s, count in counts.items()
            if count < len(FOLDS)
        ]
        if absent:
            every = not any(counts.values())
            lines.append(f"{METHODS[method].title}: {'all sets' if every else ', '.join(absent)}")
    if nowhere:
        lines.append(f"{', '.join(nowhere)}: no method")
    return "Not measured yet:\n\n" + bullets(lines) if lines else ""


def tried(method: str, name: str) -> bool:
    """Whether a method is meant for a set of this size."""
    most = METHODS[method].most_rows
    return most is None or 0.8 * SPECS[name].n_rows <= most


def timing(results: Path, docs: Path | None) -> list[str]:
    """Slopes beside the paper's claims, and seconds of all methods."""
    records = read_results(results / "timing.parquet")
    lines = ["## Time"]
    if records:
        lines += [
            "Seconds of one sweep against rows N (at M = 384) and frequencies M; the paper states "
            "linear time in N, quadratic in M for regression, linear in M for its classification "
            "sampler (laplace-mh).",
            slope_table(records),
            figure(docs, "timing", lambda: timing_figure(records)),
            point_table(records),
            run_on(records),
        ]
    found = runtimes(results)
    if found:
        lines += ["Seconds of a fit by set and method:", runtime_table(found)]
        lines += [figure(docs, "timing-runtimes", lambda: runtime_figure(found))]
    return lines if len(lines) > 1 else []


def synthetic(results: Path, docs: Path | None) -> list[str]:
    """Section 4.1."""
    lines = ["## The synthetic problem of section 4.1"]
    lines += [
        "At the paper's size (N = 1000, inputs N(0, 4²), noise 1) the data hardly tell the true "
        "kernel from an RBF, so the question is whether the band is honest: at how many lags "
        "between 0 and 8 the 90 % credible band holds the true kernel. With N = 4000, inputs "
        "N(0, 20²) and noise 0.3 the kernel can be learned, and the question is how far the "
        "posterior mean kernel is from the truth, as a share of the distance of the RBF kernel "
        "with the highest evidence. M = 250 throughout."
    ]
    records = read_results(results / "synthetic.parquet")
    plain = results.parent / "synthetic.md"
    if records:
        lines += [synthetic_table(records), run_on(records)]
        lines += [figure(docs, "synthetic", lambda: synthetic_figure(records))]
    elif plain.exists():
        lines += [plain.read_text(encoding="utf-8").strip()]
    lines += [
        f"Chains: {CHAINS['paper']} at the paper's size, where the data say little and chains "
        f"wander, and {CHAINS['large']} at the larger one. The prior on the number and spread of "
        "components and the moves between them were chosen while looking at the band on other "
        "data sets of the same kind (seeds 0 to 9 and 100 to 109)."
    ]
    return lines


def figure(docs: Path | None, stem: str, draw: Any) -> str:
    """Draw a figure into the documentation, and the line that shows it."""
    if docs is not None:
        save(draw(), docs / IMAGES / stem)
    return f"![{stem.replace('-', ', ')}]({IMAGES.as_posix()}/{stem}.svg)"


if __name__ == "__main__":
    print(f"wrote {main()}")
