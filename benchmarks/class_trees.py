"""Ways to tell classes apart, side by side: error, log loss and seconds per sweep on hold-outs.

    OPENBLAS_NUM_THREADS=1 python benchmarks/class_trees.py --sets digits space7 --repeats 3

A stick, the tree that is the default (a stick of frequent classes, rare ones in halves), and halves
of all classes but one with most rows, fitted to the same rows with the same seeds; a repeat holds
out another quarter of the rows, stratified by class. digits are scikit-learn's (ten classes of one
size); of space7 only the training rows of fold 0 are looked at (seven classes, the first with four
fifths of all rows).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from banklearn import BankClassifier
from banklearn.datasets import folds, load
from banklearn.estimators import classifier
from banklearn.model.class_tree import ClassTree, Node, grow, stick

Array = NDArray[np.float64]
#: Rows of classes with at most so many of all rows are scored on their own, too.
FEW = 100


def halves(mass: Array) -> ClassTree:
    """All ranges in halves, below a class with more than half of all rows."""

    def cut(first: int, last: int, middle: int) -> list[Node]:
        parts = [(first, middle), (middle, last)]
        rest = [node for a, b in parts if b - a > 1 for node in cut(a, b, (a + b) // 2)]
        return [Node(first, middle, last), *rest]

    C = len(mass)
    return ClassTree(tuple(cut(0, C, 1 if 2 * mass[0] > mass.sum() else C // 2)))


TREES: dict[str, Callable[[Array], ClassTree]] = {
    "tree": grow,
    "stick": lambda mass: stick(len(mass)),
    "halves": halves,
}


SCORES = ("error", "log loss", "log loss, rare", "seconds per sweep")


def rows_of(name: str) -> tuple[Array, NDArray[np.int64]]:
    """Rows that may be looked at."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X, y
    data = load(name)
    train, _ = folds(len(data.y))[0]
    return data.X[train], data.y[train].astype(np.int64)


def measure(name: str, kind: str, seed: int, options: argparse.Namespace) -> dict[str, object]:
    """One fit and its scores on the rows held out."""
    X, y = rows_of(name)
    few = [c for c, n in zip(*np.unique(y, return_counts=True), strict=True) if n <= FEW]
    X, X_out, y, y_out = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    model = BankClassifier(
        options.frequencies,
        n_chains=options.chains,
        n_warmup=options.warmup,
        n_draws=options.draws,
        random_state=seed,
    )
    begin = time.process_time()
    with patch.object(classifier, "grow", TREES[kind]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains this short have not settled
        model.fit(X, y)
    seconds = time.process_time() - begin
    predicted = model.predict(X_out)
    density, rare = model.log_predictive_density(X_out, y_out), np.isin(y_out, few)
    found = {
        str(c): f"{int((predicted[y_out == c] == c).sum())}/{int((y_out == c).sum())}"
        for c in model.classes_[model.stick_]
    }
    return {
        "set": name,
        "classes": kind,
        "seed": seed,
        "error": float((predicted != y_out).mean()),
        "log loss": float(-density.mean()),
        "log loss, rare": float(-density[rare].mean()) if rare.any() else None,
        "seconds per sweep": seconds / sum(model.n_sweeps_),
        "found": found,
    }


def main() -> None:
    """Measure and print, one line of JSON for each fit, then means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["digits"], choices=["digits", "space7"])
    parser.add_argument("--kinds", nargs="+", default=list(TREES), choices=list(TREES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--frequencies", type=int, default=128)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--warmup", type=int, default=100)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time")
    parser.add_argument("--out", type=Path, help="append the lines to this file as well")
    options = parser.parse_args()
    for name in options.sets:
        cells = [(kind, seed) for seed in range(options.repeats) for kind in options.kinds]
        results = []
        with ProcessPoolExecutor(options.jobs) as pool:
            fits = [pool.submit(measure, name, *cell, options) for cell in cells]
            for fit in as_completed(fits):
                results.append(fit.result())
                line = json.dumps(results[-1])
                print(line, flush=True)
                if options.out:
                    with options.out.open("a", encoding="utf-8") as file:
                        file.write(line + "\n")
        for kind in options.kinds:
            mine = [r for r in results if r["classes"] == kind]
            means = {k: np.mean([r[k] for r in mine]) for k in SCORES if mine[0][k] is not None}
            print(f"{name:8} {kind:6}", *(f"{k} {v:.5g}" for k, v in means.items()), sep="  ")


if __name__ == "__main__":
    main()
