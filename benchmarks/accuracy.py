"""Prediction error on the paper's data sets, beside RKS tuned on a hold-out.

The cells are those of `bank reproduce`, so an interrupted run goes on where it stopped. Quick
protocol: all five folds of sets under 2 000 rows, folds 0 and 1 of the others. Nothing is set per
data set; the time limit depends on the number of rows alone.

    python benchmarks/accuracy.py [--sets noise,bike] [--folds 0,1] [--full] [--methods bank,rks]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from banklearn.datasets.names import SPECS, find_spec
from banklearn.experiments import Options
from banklearn.experiments.budgets import SMALL, Budget
from banklearn.experiments.cells import Record
from banklearn.experiments.comparison import FOLDS, local_sets, plan
from banklearn.experiments.pool import run_cells
from banklearn.experiments.tables import details, entries

HERE = Path(__file__).parent
OUT = HERE / ".cache" / "reproduce"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="", help="for example noise,bike,space7")
    parser.add_argument("--folds", default="", help="for example 0,1; default by protocol")
    parser.add_argument("--methods", default="bank,rks")
    parser.add_argument("--full", action="store_true", help="all five folds of every set")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "accuracy.md")
    parser.add_argument("--limits", default="110,450", help="seconds below and above 2000 rows")
    arguments = parser.parse_args()
    small, large = (float(v) for v in arguments.limits.split(","))
    budget = Budget(arguments.limits, (small, large))
    methods = tuple(arguments.methods.split(","))
    names = [n for n in arguments.sets.split(",") if n]
    names = names or [*local_sets("regression"), *local_sets("classification"), "space7"]
    options = Options(OUT, methods=methods, budget=budget, jobs=arguments.jobs)
    cells = []
    for name in names:
        folds = FOLDS if arguments.full or find_spec(name).n_rows < SMALL else FOLDS[:2]
        if arguments.folds:
            folds = tuple(int(f) for f in arguments.folds.split(","))
        made = plan([find_spec(name).task], [name], folds, methods, budget, options.cells)
        cells += made.cells
    outcome = run_cells(cells, options.cells, options.jobs, options.cores_per_job)
    records: list[Record] = [outcome.records[c.key] for c in cells if c.key in outcome.records]
    text = "\n\n".join(
        details(entries([r for r in records if r["task"] == task]))
        for task in dict.fromkeys(s.task for s in SPECS.values())
        if any(r["task"] == task for r in records)
    )
    print(text)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
