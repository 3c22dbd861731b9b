"""What the studies share: options of their command lines, cells that are measured, files."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from banklearn.experiments.cells import Cell, Record
from banklearn.experiments.pool import run_cells

HERE = Path(__file__).parent


def study_parser(
    about: str, name: str, sets: str, cells: str, cores_per_job: int | None = 2
) -> argparse.ArgumentParser:
    """The command line of a study, to which it adds its own options.

    cells says in one word what runs at the same time; without cores_per_job each has one core.
    """
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=sets)
    parser.add_argument("--frequencies", type=int, default=384)
    parser.add_argument("--rows", type=int, help="of a set, to try the machinery")
    if cores_per_job is None:
        parser.set_defaults(cores_per_job=1)
        parser.add_argument("--jobs", type=int, default=1, help=f"{cells} at a time, one core each")
    else:
        parser.add_argument("--jobs", type=int, default=1, help=f"{cells} at the same time")
        parser.add_argument(
            "--cores-per-job", type=int, default=cores_per_job, help="cores of each of them"
        )
    parser.add_argument("--within", type=float, help="seconds within which to end")
    parser.add_argument("--work", type=Path, default=HERE / ".cache" / name)
    parser.add_argument(
        "--out",
        type=Path,
        default=HERE / "results" / f"{name}.md",
        help="the table; JSON lies beside it",
    )
    parser.set_defaults(cells=cells)
    return parser


def measured(
    cells: Sequence[Cell],
    options: argparse.Namespace,
    jobs: int | None = None,
    called: str | None = None,
) -> list[Record]:
    """Measure what has not been measured, say what is missing; all records.

    On CPUs, unless the study has an option that names a device. jobs and called take the place
    of what the options say is run at a time, and what a cell is.
    """
    if getattr(options, "device", "cpu") == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # read by the processes of the cells too
    outcome = run_cells(
        cells, options.work, jobs or options.jobs, options.cores_per_job, within=options.within
    )
    records: list[Record] = [outcome.records[c.key] for c in cells if c.key in outcome.records]
    print(f"{len(records)} of {len(cells)} {called or options.cells} are measured.")
    for key, problem in outcome.failures.items():
        print(f"{key} failed: {problem.splitlines()[-1]}")
    return records


def publish(out: Path, table: str, legend: str, figures: Any) -> None:
    """Write and print a table with its legend; write its figures as JSON beside it."""
    text = f"{table}\n\n{legend}"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text + "\n", encoding="utf-8")
    out.with_suffix(".json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print("\n" + text)


def processors(records: Sequence[Record]) -> str:
    """The processors on which the records were made."""
    return ", ".join(sorted({str(record["cpu"]) for record in records}))
