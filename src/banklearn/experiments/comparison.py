"""What the tables share: sets x folds x methods, measured, kept, and written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from banklearn.datasets.loading import data_folder
from banklearn.datasets.names import SPECS, Task, find_spec
from banklearn.experiments import predictions
from banklearn.experiments.budgets import Budget
from banklearn.experiments.cells import Cell, Record, read, write_atomically
from banklearn.experiments.figures import drawable, error_figure, save
from banklearn.experiments.methods import METHODS, check_methods
from banklearn.experiments.one_fold import make_cell
from banklearn.experiments.options import Options
from banklearn.experiments.pool import measure_all
from banklearn.experiments.results import merge, read_results, write_results
from banklearn.experiments.tables import details, entries, paper_like
from banklearn.experiments.verdicts import legend, losses, near_losses, rivals_against_paper

IDENTITY = ("set", "fold", "method")
FOLDS = (0, 1, 2, 3, 4)


@dataclass
class Plan:
    """Cells to measure, and sentences about those that cannot be."""

    cells: list[Cell] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def local_sets(task: Task) -> tuple[str, ...]:
    """The paper's sets of a task that the data folder has."""
    folder = data_folder()
    return tuple(
        s.name for s in SPECS.values() if s.task == task and (folder / f"{s.name}.parquet").exists()
    )


def check_folds(folds: Sequence[int]) -> None:
    """There are five."""
    if wrong := [f for f in folds if f not in FOLDS]:
        raise ValueError(f"There is no fold {wrong[0]}; the folds are 0 to 4.")


def plan(
    tasks: Sequence[Task],
    sets: Sequence[str],
    folds: Sequence[int],
    methods: Sequence[str],
    budget: Budget,
    cells: Path,
    keep: tuple[str, ...] = (predictions.ENDING,),
    seed: int = 0,
) -> Plan:
    """The cells of a comparison; methods that cannot run here are named and left out.

    A cell that was measured elsewhere and lies in ``cells`` counts, whatever is installed here.
    """
    check_methods(methods)
    check_folds(folds)
    made = Plan()
    for name in sets or [name for task in tasks for name in local_sets(task)]:
        spec = find_spec(name)
        if spec.task not in tasks:
            raise ValueError(f"{name!r} is a set for {spec.task}, not for {' or '.join(tasks)}.")
        for method in methods:
            how = METHODS[method]
            if spec.task not in how.makers:
                continue
            if how.most_rows is not None and 0.8 * spec.n_rows > how.most_rows:
                made.notes.append(f"{how.title} is not tried on {name}, {spec.n_rows} rows.")
                continue
            settings, note = budget.settings(method, spec.task, spec.n_rows)
            settings = {**settings, "random_state": seed}
            cost = how.cost * spec.n_rows
            new = [make_cell(name, f, method, settings, note, cost, keep) for f in folds]
            if (reason := how.missing()) and any(read(c, cells) is None for c in new):
                new = [c for c in new if read(c, cells) is not None]
                made.notes.append(f"{how.title} was not run on {name}: {reason}.")
            made.cells += new
    if not made.cells and not made.notes:
        raise ValueError(
            f"There is nothing to measure: {data_folder()} holds no Parquet file of the paper's "
            f"sets for {' or '.join(tasks)}. Set BANKLEARN_DATA to their folder, or name sets to "
            "download with --sets."
        )
    return made


def compare(name: str, title: str, tasks: Sequence[Task], options: Options) -> list[Record]:
    """Measure, add to the results in the output folder, and write table and figure again."""
    folds = options.folds or FOLDS
    made = plan(tasks, options.sets, folds, options.methods, options.budget, options.cells)
    outcome = measure_all(made.cells, options)
    failed = [c.label for c in made.cells if c.key in outcome.failures]
    made.notes += [f"{label} failed; the same command tries it again." for label in failed]
    made.notes += [f"{c.label} was left for want of time." for c in outcome.left]
    path = options.out / f"{name}.parquet"
    new = [outcome.records[c.key] for c in made.cells if c.key in outcome.records]
    records = merge(read_results(path), new, IDENTITY)
    write_results(path, records)
    write_comparison(options.out, name, title, records, made.notes)
    return records


def write_comparison(
    out: Path, name: str, title: str, records: Sequence[Record], notes: Sequence[str] = ()
) -> None:
    """Markdown and figures of a comparison from its records."""
    parts = [f"# {title}"]
    for task in ("regression", "classification"):
        here = [r for r in records if r["task"] == task]
        if not here:
            continue
        found = entries(here)
        parts += [f"## {task.capitalize()}", paper_like(found), legend(task)]
        parts += ["### Every cell", details(found), run_on(here)]
        if any(e.method == "bank" for e in found):
            lost, near = losses(found), near_losses(found)
            parts += [
                "### Where BaNK loses",
                bullets(lost or ["Significantly on none of these sets."]),
            ]
            if near:
                parts += ["Lower than BaNK, but not told apart by the test:", bullets(near)]
        parts += ["### Beside the paper", bullets(rivals_against_paper(found))]
        if drawable():
            save(error_figure(found), out / (name if name == task else f"{name}-{task}"))
    if notes:
        parts += ["## Not run", bullets(dict.fromkeys(notes))]
    write_atomically(out / f"{name}.md", "\n\n".join(parts) + "\n")


def run_on(records: Sequence[Record]) -> str:
    """Versions, processors and seeds behind the records."""

    def values(field_: str) -> str:
        return ", ".join(sorted({str(r[field_]) for r in records if r.get(field_) is not None}))

    return (
        f"banklearn {values('version')}, Python {values('python')}, {values('cpu')}, "
        f"cores of a cell: {values('cores')}, seed: {values('seed')}."
    )


def bullets(lines: Sequence[str] | dict[str, None]) -> str:
    """A Markdown list."""
    return "\n".join(f"- {line}" for line in lines)
