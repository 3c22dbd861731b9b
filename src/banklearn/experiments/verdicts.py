"""Sentences about a table that a reader would otherwise have to work out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from banklearn.experiments.methods import METHODS
from banklearn.experiments.paper import FEATURES
from banklearn.experiments.tables import Entry

#: Errors that a rival must not exceed to count as properly implemented.
BARS = {("concrete", "alacarte"): 0.08, ("bike", "alacarte"): 0.06, ("pima", "rfo"): 0.27}


def losses(found: Sequence[Entry]) -> list[str]:
    """Where BaNK is significantly worse than the best of the others."""
    return [
        f"{sentence} (p = {bank.mark.p_value:.2g})"
        for sentence, bank in _not_lowest(found)
        if not bank.mark.bold
    ]


def near_losses(found: Sequence[Entry]) -> list[str]:
    """Where another method's error is lower than BaNK's, but no test tells the two apart."""
    return [sentence for sentence, bank in _not_lowest(found) if bank.mark.bold]


def _not_lowest(found: Sequence[Entry]) -> Iterator[tuple[str, Entry]]:
    """Both errors in words, and BaNK's cell, for each set on which another method is lowest."""
    for name in dict.fromkeys(e.set for e in found):
        here = {e.method: e for e in found if e.set == name}
        bank = here.get("bank")
        if bank is None or bank.mark.lowest:
            continue
        best = next(e for e in here.values() if e.mark.lowest)
        yield (
            f"{name}: {METHODS[best.method].title} {best.show('error')}, BaNK {bank.show('error')}",
            bank,
        )


def rivals_against_paper(found: Sequence[Entry]) -> list[str]:
    """For each rival of the paper: on how many sets it reaches the paper's own error."""
    lines = []
    for method in ("rks", "mkl", "alacarte", "rfo", "bank"):
        compared = [e for e in found if e.method == method and e.above_paper is not None]
        if not compared:
            continue
        above = [e.set for e in compared if e.above_paper]
        text = (
            f"{METHODS[method].title}: at or below the paper's error on "
            f"{len(compared) - len(above)} of {len(compared)} sets"
        )
        lines.append(text + (f"; above on {', '.join(above)}" if above else ""))
    for e in found:
        if (bar := BARS.get((e.set, e.method))) is not None:
            verdict = "reached" if e.means["error"] <= bar else "missed"
            lines.append(
                f"{METHODS[e.method].title} on {e.set}: {e.show('error')}, "
                f"wanted at most {bar:g}: {verdict}"
            )
    return lines


def legend(task: str) -> str:
    """What the marks mean."""
    test = "a paired t-test over folds" if task == "regression" else "McNemar's test (folds pooled)"
    what = (
        "Mean squared error, targets divided by their standard deviation"
        if task == "regression"
        else "Share of wrong labels"
    )
    return (
        f"{what}; mean and standard error over folds; {FEATURES} features for each method of the "
        f"paper. An asterisk marks the lowest error of a line, bold the methods that {test} does "
        "not tell apart from it (p < 0.05), a dagger a cell run under a reduced budget. The "
        "paper's folds and preparation of the data are not ours."
    )
