"""Rare classes: the most probable class beside a decision that finds them, on folds of space7.

    python benchmarks/rare_classes.py --folds 0,1 --max-error 0.002 [--limit 240] [--gpu]

BankClassifier with its defaults inside RareClassClassifier: the power is chosen on hold-out rows of
the training rows, test rows are only predicted. --limit is the time of each of the two fits, none
if it is not given; folds run side by side with --jobs 2. The table goes to --out, every row's
probabilities to a file beside it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn import BankClassifier, RareClassClassifier
from banklearn.datasets import folds, load

HEADER = (
    "| fold | decision | power | error | classes missed | rows found of each class | hold-out "
    "error | sweeps | seconds |\n|---|---|---|---|---|---|---|---|---|"
)


def found_by_class(y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, tuple[int, int]]:
    """Of each class that the rows have: rows given to it rightly, and rows there are."""
    return {
        str(c): (int((predicted[y == c] == c).sum()), int((y == c).sum())) for c in np.unique(y)
    }


def line(
    fold: int, decision: str, power: float, y: NDArray[Any], predicted: NDArray[Any], *rest: str
) -> str:
    """A row of the table; a class is missed where rows have it and none is given to it."""
    missed = sorted(set(y.tolist()) - set(predicted.tolist()))
    rows = ", ".join(f"{c}: {a}/{n}" for c, (a, n) in found_by_class(y, predicted).items())
    told = ", ".join(map(str, missed)) or "none"
    error = float((predicted != y).mean())
    cells = [str(fold), decision, f"{power:.2f}", f"{error:.5f}", told, rows, *rest]
    return "| " + " | ".join(cells) + " |"


def measure(fold: int, options: argparse.Namespace) -> str:
    """Both decisions on one fold: two rows of the table."""
    data = load(options.set)
    train, test = folds(len(data.y))[fold]
    y = data.y.astype(np.int64)
    model = BankClassifier(
        options.frequencies,
        max_time=options.limit,
        device="cuda" if options.gpu else "cpu",
        random_state=0,
    )
    ready = RareClassClassifier(model, max_error=options.max_error, random_state=0)
    begin = time.perf_counter()
    with warnings.catch_warnings(record=True) as told:  # chains that a limit cut have not settled
        warnings.simplefilter("always")
        ready.fit(data.X[train], y[train])
    broken = [str(w.message) for w in told if "cannot be promised" in str(w.message)]
    seconds = f"{time.perf_counter() - begin:.0f}"
    p = ready.predict_proba(data.X[test])
    curve, sweeps = ready.curve_, " ".join(map(str, ready.estimator_.n_sweeps_))
    if options.out:
        beside = options.out.with_name(f"{options.out.stem}-{fold}.npz")
        np.savez_compressed(
            beside, test=test, y=y[test], p=p, costs=ready.costs_, **curve._asdict()
        )
    chosen = int(np.flatnonzero(curve.power == ready.power_)[0])
    rows = []
    for decision, at in (("most probable", 0), ("ready for rare", chosen)):
        costs = ready.costs_ if at else np.ones_like(ready.costs_)
        predicted = ready.classes_[(p * costs).argmax(axis=1)]
        held = f"{curve.error[at]:.5f}"
        rows.append(
            line(fold, decision, curve.power[at], y[test], predicted, held, sweeps, seconds)
        )
    return "\n".join([*rows, *broken])


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", default="space7")
    parser.add_argument("--folds", default="0,1")
    parser.add_argument("--max-error", type=float, default=0.002)
    parser.add_argument("--limit", type=float, help="seconds of each fit")
    parser.add_argument("--frequencies", type=int, default=384)
    parser.add_argument("--jobs", type=int, default=1, help="folds at a time")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
    chosen = [int(fold) for fold in options.folds.split(",")]
    rows = [HEADER]
    print(HEADER)
    with ProcessPoolExecutor(options.jobs) as pool:
        for text in pool.map(measure, chosen, [options] * len(chosen)):
            print(text, flush=True)
            rows.append(text)
            if options.out:
                options.out.write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
