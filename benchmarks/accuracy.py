"""Prediction error on the paper's data sets, beside RKS tuned on a hold-out.

The cells are those of `bank reproduce`, under the budget "protocol", so either goes on where the
other stopped; beside each lies a file with the predictions for every test row. Quick protocol: all
five folds of sets under 2 000 rows, folds 0 and 1 of the others. Nothing is set per data set; the
time limit depends on the number of rows alone. Everything runs on the CPU unless --gpu is given.

    python benchmarks/accuracy.py [--sets noise,bike] [--folds 0,1] [--full] [--methods bank,rks]

Chains are random, and an error moves by a row or a few: --seed 1 repeats all fits on the same folds
with other random numbers.

All cells of BaNK on a machine with 16 cores, one core for each fit, in runs of ten minutes: a cell
that cannot end within the time is left for the next run of the same command.

    python benchmarks/accuracy.py --full --methods bank --jobs 16 --within 580 --keep-models \
        --work DIR

Beside GPyTorch's SVGP (512 inducing inputs, Matern-5/2, a length scale per input) at equal wall
time on two cores: with --limits both train until these seconds have passed, the SVGP from a start
and at a rate that suit so few steps. Sixteen cores:

    python benchmarks/accuracy.py --sets concrete,noise,prop,bike,toms --methods bank,svgp \
        --limits 60,60 --jobs 8 --cores-per-job 2 --within 580 --work DIR --out DIR/svgp-60.md

That is 32 fits, about 6 minutes; with --limits 240,240 the command runs twice, 9 minutes each.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from banklearn.datasets.names import SPECS, find_spec
from banklearn.experiments import Budget, predictions, small_models
from banklearn.experiments.budgets import BUDGETS, SMALL
from banklearn.experiments.cells import Cell, Record
from banklearn.experiments.comparison import FOLDS, local_sets, plan
from banklearn.experiments.pool import run_cells
from banklearn.experiments.tables import details, entries, side_by_side

HERE = Path(__file__).parent
PROTOCOL = BUDGETS["protocol"]


def main() -> None:
    options = parse()
    if not options.gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # read by the processes of the cells too
    cells = wanted(options)
    folder = options.work / "cells"
    outcome = run_cells(cells, folder, options.jobs, options.cores_per_job, within=options.within)
    records: list[Record] = [outcome.records[c.key] for c in cells if c.key in outcome.records]
    text = "\n\n".join(
        details(entries([r for r in records if r["task"] == task]))
        for task in dict.fromkeys(s.task for s in SPECS.values())
        if any(r["task"] == task for r in records)
    )
    compared = side_by_side(entries([r for r in records if r["task"] == "regression"]))
    text = "\n\n".join(part for part in (text, compared) if part)
    print(text)
    print(f"\n{len(records)} of {len(cells)} cells are measured.")
    for what, labels in (
        ("failed", [c.label for c in cells if c.key in outcome.failures]),
        ("not begun or not ended in time", [c.label for c in outcome.left]),
    ):
        if labels:
            print(f"{what}: {', '.join(labels)}")
    if text:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default="", help="for example noise,bike,space7")
    parser.add_argument("--folds", default="", help="for example 0,1; default by protocol")
    parser.add_argument("--cells", default="", help="these alone, for example bike:0,eeg:3")
    parser.add_argument("--methods", default="bank,rks")
    parser.add_argument("--full", action="store_true", help="all five folds of every set")
    parser.add_argument("--jobs", type=int, default=1, help="cells measured at the same time")
    parser.add_argument("--cores-per-job", type=int, default=1, help="cores of each of them")
    parser.add_argument("--within", type=float, help="seconds within which to end")
    parser.add_argument("--keep-models", action="store_true", help="of 2 MB at most, by each cell")
    parser.add_argument("--work", type=Path, default=HERE / ".cache" / "reproduce")
    parser.add_argument("--out", type=Path, help="default: results/accuracy.md, its seed behind it")
    parser.add_argument("--limits", help="seconds below and above 2000 rows, also of SVGP")
    parser.add_argument("--seed", type=int, default=0, help="of every fit; folds stay")
    parser.add_argument("--gpu", action="store_true", help="use it where there is one")
    parser.add_argument("--tiny", action="store_true", help="try the machinery alone")
    given = parser.parse_args()
    seed = f"-seed-{given.seed}" if given.seed else ""
    given.out = given.out or HERE / "results" / f"accuracy{seed}.md"
    return given


def wanted(options: argparse.Namespace) -> list[Cell]:
    """The cells that the command line asks for."""
    budget = BUDGETS["tiny"] if options.tiny else PROTOCOL
    if options.limits:
        small, large = (float(v) for v in options.limits.split(","))
        budget = Budget(options.limits, (small, large), reduce=True, equal=True)
    keep = (predictions.ENDING, *((small_models.ENDING,) if options.keep_models else ()))
    methods = tuple(options.methods.split(","))
    pairs: list[tuple[str, tuple[int, ...]]] = []
    for word in [w for w in options.cells.split(",") if w]:
        name, _, fold = word.partition(":")
        pairs.append((name, (int(fold),)))
    names = [n for n in options.sets.split(",") if n]
    if not pairs:
        names = names or [*local_sets("regression"), *local_sets("classification"), "space7"]
    for name in names:
        folds = FOLDS if options.full or find_spec(name).n_rows < SMALL else FOLDS[:2]
        if options.folds:
            folds = tuple(int(f) for f in options.folds.split(","))
        pairs.append((name, folds))
    cells = []
    for name, folds in pairs:
        task = find_spec(name).task
        cells += plan(
            [task], [name], folds, methods, budget, options.work / "cells", keep, options.seed
        ).cells
    return cells


if __name__ == "__main__":
    main()
