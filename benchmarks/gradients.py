"""Whether gradient moves pay on this machine: hold-outs of training rows, at equal time.

    python benchmarks/gradients.py [--sets noise,bike,eeg] [--rows 4000] [--seconds 80]
        [--every 0,5] [--seeds 0,1] [--frequencies 192] [--out FILE]

For each set and seed, fits that differ in ``gradient_every`` alone run at the same time, each in a
process of its own with one thread, so that they share the machine alike whatever else it does. Rows
are drawn from the training rows of the first fold; a fifth of them is held out. Printed are the
error on held-out rows (MSE of the standardised target, or error rate), minus the log predictive
density, the mean log likelihood of the last ten draws, and sweeps made.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="gradient moves at equal time")
    parser.add_argument("--sets", default="noise,bike,eeg")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--seconds", type=float, default=80.0)
    parser.add_argument("--every", default="0,5", help="values of gradient_every, side by side")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--frequencies", type=int, default=192)
    parser.add_argument("--out", type=Path, default=None, help="append results as lines of JSON")
    parser.add_argument("--one", default=None, help=argparse.SUPPRESS)
    return parser.parse_args()


def one(name: str, seed: int, every: str, given: argparse.Namespace) -> dict[str, Any]:
    """One fit, in this process."""
    import numpy as np

    from banklearn import BankClassifier, BankRegressor
    from banklearn.datasets import folds, load

    data = load(name)
    train = folds(len(data.y))[0][0]
    rows = np.random.default_rng(1000 + seed).permutation(train)[: given.rows]
    X, y = data.X[rows], data.y[rows]
    kept = len(y) - len(y) // 5
    kind = BankRegressor if data.task == "regression" else BankClassifier
    if data.task == "regression":
        y = (y - y[:kept].mean()) / y[:kept].std()
    options: dict[str, Any] = {"n_chains": 1, "random_state": seed, "max_time": given.seconds}
    # First something small, so that compiling is no part of the time.
    kind(20, n_warmup=2, n_draws=1, gradient_every=1, random_state=0).fit(X[:200], y[:200])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the time is meant to end the fit
        model = kind(
            given.frequencies,
            n_draws=400,
            gradient_every=every if every == "auto" else int(every),
            **options,
        )
        model.fit(X[:kept], y[:kept])
    if data.task == "regression":
        error = float(((model.predict(X[kept:]) - y[kept:]) ** 2).mean())
        density = -float(model.log_predictive_density(X[kept:], y[kept:]).mean())
    else:
        p = model.predict_proba(X[kept:])
        place = np.searchsorted(model.classes_, y[kept:])
        error = float((p.argmax(axis=1) != place).mean())
        density = -float(np.log(np.maximum(p[np.arange(len(place)), place], 1e-12)).mean())
    trace = model.trace_[0]
    return {
        "set": name,
        "seed": seed,
        "every": every,
        "error": error,
        "minus_log_density": density,
        "log_likelihood": float(trace["log_likelihood"][trace["warmup"] :][-30:].mean()),
        "sweeps": model.n_sweeps_[0],
        "warmup": int(trace["warmup"]),
        "draws": len(model.draws_),
        "schedule": model.schedule_[0],
    }


def main() -> None:
    given = arguments()
    if given.one:
        name, seed, every = given.one.split(":")
        print(json.dumps(one(name, int(seed), every, given)))
        return
    print("| set | seed | gradient_every | error | minus log density | log lik. | sweeps |")
    print("|---|---|---|---|---|---|---|")
    for name in given.sets.split(","):
        for seed in given.seeds.split(","):
            children = [
                subprocess.Popen(
                    [sys.executable, __file__, *sys.argv[1:], "--one", f"{name}:{seed}:{every}"],
                    stdout=subprocess.PIPE,
                    env={**os.environ, **ONE_THREAD},
                    text=True,
                )
                for every in given.every.split(",")
            ]
            for child in children:
                text, _ = child.communicate()
                if child.returncode:
                    raise SystemExit(f"A fit of {name} failed.")
                found = json.loads(text.splitlines()[-1])
                print(
                    f"| {name} | {seed} | {found['every']} | {found['error']:.4f} | "
                    f"{found['minus_log_density']:.4f} | {found['log_likelihood']:.1f} | "
                    f"{found['sweeps']} |",
                    flush=True,
                )
                if given.out is not None:
                    with given.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
