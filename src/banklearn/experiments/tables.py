"""From records of folds to the tables: means, standard errors, marks, the paper's numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from banklearn.datasets.names import NAMES
from banklearn.experiments.cells import Record
from banklearn.experiments.marks import Mark, mcnemar_marks, t_marks
from banklearn.experiments.methods import METHODS
from banklearn.experiments.paper import reported
from banklearn.experiments.scores import pooled_error, unpack

ORDER = (*NAMES, "space7")
DAGGER = "\N{DAGGER}"
STAR = r"\*"


@dataclass(frozen=True)
class Entry:
    """A cell of a table: one method on one set, over its folds."""

    set: str
    method: str
    folds: int
    means: dict[str, float]
    errors: dict[str, float]
    mark: Mark
    reduced: tuple[str, ...]
    on_gpu: int = 0

    @property
    def cores(self) -> str:
        """Cores of a fit, and in how many of the folds a GPU helped."""
        text = f"{self.means['cores']:g}" if "cores" in self.means else ""
        if not self.on_gpu:
            return text
        return f"{text} and a GPU" + (f" ({self.on_gpu} folds)" if self.on_gpu < self.folds else "")

    @property
    def cell(self) -> str:
        """Error with its standard error and marks, as the paper prints it."""
        text = plus_minus(self.means["error"], self.errors["error"])
        text = f"**{text}**" if self.mark.bold else text
        return text + (STAR if self.mark.lowest else "") + (DAGGER if self.reduced else "")

    def show(self, field: str) -> str:
        """Another quantity with its standard error, or a dash."""
        if field not in self.means:
            return "\N{EN DASH}"
        return plus_minus(self.means[field], self.errors.get(field, float("nan")))

    @property
    def above_paper(self) -> bool | None:
        """Whether the error is above the paper's by more than two standard errors of ours."""
        theirs = reported(self.set, self.method)
        if theirs is None:
            return None
        return self.means["error"] - 2.0 * self.errors["error"] > theirs.value


FIELDS = ("error", "nlpd", "coverage", "ece", "missed", "seconds", "cores")


def entries(records: Sequence[Record]) -> list[Entry]:
    """All cells of a table, by set in the paper's order and then by method."""
    found = []
    for name in sorted({r["set"] for r in records}, key=ORDER.index):
        here = [r for r in records if r["set"] == name]
        marks = marks_of(here)
        for method in [m for m in METHODS if m in marks]:
            rows = [r for r in here if r["method"] == method]
            timed = [{**r, "seconds": seconds_of(r)} for r in rows]
            values = {f: np.array([r[f] for r in timed if f in r], dtype=float) for f in FIELDS}
            values = {f: v for f, v in values.items() if len(v)}
            means = {f: float(v.mean()) for f, v in values.items()}
            if np.isfinite(pooled := pooled_error(rows)):
                means["pooled"] = pooled
            found.append(
                Entry(
                    name,
                    method,
                    len(rows),
                    means,
                    {f: standard_error(v) for f, v in values.items()},
                    marks[method],
                    reductions([r["reduced"] for r in rows if r.get("reduced")]),
                    sum(map(on_gpu, rows)),
                )
            )
    return found


def marks_of(records: Sequence[Record]) -> dict[str, Mark]:
    """Marks of the methods on one set: paired t-test for regression, McNemar otherwise."""
    methods = {r["method"] for r in records}
    if records[0]["task"] == "regression":
        return t_marks(
            {m: {r["fold"]: r["error"] for r in records if r["method"] == m} for m in methods}
        )
    right = {
        m: {r["fold"]: unpack(r["right"], r["rows"]) for r in records if r["method"] == m}
        for m in methods
    }
    return mcnemar_marks(right)


def on_gpu(record: Record) -> bool:
    """Whether a fit summed its statistic on a GPU."""
    return record.get("device", "cpu") != "cpu"


def seconds_of(record: Record) -> float:
    """Seconds of a fit; of processor time where it had one core, which others may have used too."""
    alone = record.get("cores") == 1 and "processor_seconds" in record and not on_gpu(record)
    return float(record["processor_seconds" if alone else "seconds"])


def reductions(notes: Sequence[str]) -> tuple[str, ...]:
    """What was reduced, each once; folds that were cut after different sweeps in one phrase."""
    cut: dict[int, list[int]] = {}
    others = set()
    for note in notes:
        if found := re.fullmatch(r"(\d+) of (\d+) sweeps", note):
            cut.setdefault(int(found[2]), []).append(int(found[1]))
        else:
            others.add(note)
    phrases = [
        f"{span(made)} of {planned} sweeps ({len(made)} {'folds' if len(made) > 1 else 'fold'})"
        for planned, made in sorted(cut.items())
    ]
    return (*sorted(others), *phrases)


def span(numbers: Sequence[int]) -> str:
    """The least and the greatest of some numbers."""
    least, most = min(numbers), max(numbers)
    return f"{least}" if least == most else f"{least} to {most}"


def standard_error(values: np.ndarray) -> float:
    """Standard error of the mean over folds; NaN for a single one."""
    if len(values) < 2:
        return float("nan")
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def plus_minus(mean: float, error: float) -> str:
    """Mean and error with as many decimals as the error's two leading digits need."""
    if not np.isfinite(error) or error <= 0:
        return f"{mean:.4g}"
    exponent = int(np.floor(np.log10(abs(mean)))) if mean else 0
    power = exponent if exponent < -4 or exponent > 5 else 0
    unit = 10.0**power
    decimals = max(1 - int(np.floor(np.log10(error / unit))), 0)
    text = f"{mean / unit:.{decimals}f} ± {error / unit:.{decimals}f}"
    return f"({text})e{power}" if power else text


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def paper_like(found: Sequence[Entry]) -> str:
    """The table in the paper's form, its own numbers below each line."""
    methods = [m for m in METHODS if any(e.method == m for e in found)]
    rows = []
    for name in dict.fromkeys(e.set for e in found):
        by_method = {e.method: e for e in found if e.set == name}
        rows.append([name, *(by_method[m].cell if m in by_method else "" for m in methods)])
        theirs = [reported(name, m) for m in methods]
        if any(theirs):
            cells = [
                f"{t.value:g} ± {t.error:g}{STAR if t.lowest else ''}" if t else "" for t in theirs
            ]
            rows.append(["in the paper", *cells])
    return markdown(["set", *(METHODS[m].title for m in methods)], rows)


def details(found: Sequence[Entry]) -> str:
    """Every cell with all that was measured."""
    rows = [
        [
            e.set,
            METHODS[e.method].title,
            str(e.folds),
            e.show("error"),
            e.mark.words,
            *(
                e.show(field)
                for field in ("nlpd", "coverage", "ece", "pooled", "missed", "seconds")
            ),
            e.cores,
            "; ".join(e.reduced) or "full",
        ]
        for e in found
    ]
    header = ["set", "method", "folds", "error", "p against the lowest", "nlpd"]
    header += ["95 % intervals hold", "ECE", "ECE, folds pooled", "classes missed"]
    header += ["seconds a fit", "cores", "budget"]
    return markdown(header, rows)


def side_by_side(found: Sequence[Entry]) -> str:
    """Error, nlpd and coverage of all methods in one line per set; "" for a single method.

    Lowest errors and densities are bold, without any test.
    """
    methods = [m for m in METHODS if any(e.method == m for e in found)]
    if len(methods) < 2:
        return ""
    shown = {"error": "MSE", "nlpd": "nlpd", "coverage": "95 % intervals hold"}
    header = ["set", *(f"{what}, {METHODS[m].title}" for what in shown.values() for m in methods)]
    rows = []
    for name in dict.fromkeys(e.set for e in found):
        here = {e.method: e for e in found if e.set == name}
        cells = [name]
        for field in shown:
            values = {
                m: here[m].means[field] for m in methods if m in here and field in here[m].means
            }
            best = min(values.values(), default=None) if field != "coverage" else None
            for m in methods:
                text = here[m].show(field) if m in values else "\N{EN DASH}"
                cells.append(f"**{text}**" if best is not None and values.get(m) == best else text)
        rows.append(cells)
    return markdown(header, rows)
