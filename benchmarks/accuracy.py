"""Prediction error on the paper's data sets, beside RKS tuned on a hold-out.

Results are cached by set, fold, method and configuration, so an interrupted run goes on where it
stopped. Quick protocol: all five folds of sets under 2 000 rows, folds 0 and 1 of the others.
Nothing is set per data set; the time limit depends on the number of rows alone.

    python benchmarks/accuracy.py [--sets noise,bike] [--folds 0,1] [--full] [--methods bank,rks]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import banklearn
from banklearn import BankClassifier, BankRegressor
from banklearn.baselines import RKSClassifier, RKSRegressor
from banklearn.datasets import folds, load

HERE = Path(__file__).parent
CACHE = HERE / ".cache" / "accuracy"
REGRESSION = ("concrete", "noise", "prop", "bike", "toms")
CLASSIFICATION = ("pima", "diabetic", "eeg", "space", "susy", "skin", "space7")
SMALL = 2000
#: Seconds a fit may take, below SMALL rows and above; --limits changes them.
LIMIT = {"small": 110.0, "large": 450.0}
#: Best value of any method in the paper's tables.
PAPER = {
    "concrete": 0.0682, "noise": 0.3217, "prop": 8.9e-6, "bike": 0.0467, "toms": 0.0083,
    "pima": 0.2592, "diabetic": 0.279, "eeg": 0.0544, "space": 0.0009, "susy": 0.2005,
    "skin": 0.0004,
}  # fmt: skip


def make(method: str, task: str, rows: int) -> Any:
    limit = LIMIT["small" if rows < SMALL else "large"]
    if method == "bank":
        kind = BankRegressor if task == "regression" else BankClassifier
        return kind(random_state=0, max_time=limit)
    kind = RKSRegressor if task == "regression" else RKSClassifier
    return kind(random_state=0)


def calibration_error(p: np.ndarray, right: np.ndarray, bins: int = 15) -> float:
    """Expected calibration error of the predicted class's probability."""
    place = np.minimum((p * bins).astype(int), bins - 1)
    return float(
        sum(
            abs(right[place == b].mean() - p[place == b].mean()) * (place == b).mean()
            for b in range(bins)
            if (place == b).any()
        )
    )


def regression_scores(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    if hasattr(model, "predict_interval"):
        mean = model.predict(X)
        low, high = model.predict_interval(X)
        density = model.log_predictive_density(X, y)
    else:
        mean, std = model.predict(X, return_std=True)
        low, high = mean - 1.96 * std, mean + 1.96 * std
        density = -0.5 * ((y - mean) / std) ** 2 - np.log(std) - 0.5 * np.log(2 * np.pi)
    return {
        "error": float(np.mean((mean - y) ** 2)),
        "nlpd": float(-np.mean(density)),
        "coverage": float(np.mean((y >= low) & (y <= high))),
    }


def classification_scores(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    p = model.predict_proba(X)
    predicted = model.classes_[p.argmax(axis=1)]
    right = predicted == y
    at = np.searchsorted(model.classes_, y)
    return {
        "error": float(1.0 - right.mean()),
        "nlpd": float(-np.mean(np.log(np.maximum(p[np.arange(len(y)), at], 1e-300)))),
        "ece": calibration_error(p.max(axis=1), right),
        "classes_present": sorted(int(c) for c in np.unique(y)),
        "classes_predicted": sorted(int(c) for c in np.unique(predicted)),
    }


def one(name: str, fold: int, method: str) -> dict[str, Any]:
    data = load("space", target="y7") if name == "space7" else load(name)
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    task = "regression" if name in REGRESSION else "classification"
    if task == "regression":
        y = y / y.std()
    train, test = list(folds(len(y)))[fold]
    model = make(method, task, len(y))
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[train], y[train])
    seconds = time.perf_counter() - begin
    score: Callable[..., dict[str, Any]] = (
        regression_scores if task == "regression" else classification_scores
    )
    out = {
        "set": name, "fold": fold, "method": method, "seconds": seconds,
        **score(model, X[test], y[test]),
    }  # fmt: skip
    if method == "bank":
        out["sweeps"] = model.n_sweeps_
        out["draws"] = len(model.draws_)
        out["scaling"] = model.input_scaling_.kind
        out["trend"] = model.trend_
        out["components"] = [int(t["K"][-1]) for t in model.trace_]
    return out


def key(name: str, fold: int, method: str) -> str:
    rows = 1000 if name in ("concrete", "noise", "pima", "diabetic") else 10**4
    described = repr(sorted(make(method, _task(name), rows).get_params().items()))
    digest = hashlib.sha256(f"{banklearn.__version__}{described}".encode()).hexdigest()[:10]
    return f"{name}-{fold}-{method}-{digest}"


def _task(name: str) -> str:
    return "regression" if name in REGRESSION else "classification"


def cached(name: str, fold: int, method: str) -> dict[str, Any]:
    path = CACHE / f"{key(name, fold, method)}.json"
    if path.exists():
        return json.loads(path.read_text())
    result = one(name, fold, method)
    result["python"], result["version"] = platform.python_version(), banklearn.__version__
    CACHE.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".part").write_text(json.dumps(result, indent=1))
    path.with_suffix(".part").rename(path)
    return result


def spread(results: list[dict[str, Any]], field: str) -> str:
    values = np.array([r[field] for r in results if field in r])
    if not len(values):
        return "-"
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{values.mean():.4g} ± {error:.2g}"


def table(results: list[dict[str, Any]]) -> str:
    lines = [
        "| set | folds | paper's best | method | error | nlpd | coverage 95 % | ECE | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    seen = sorted({(r["set"], r["method"]) for r in results}, key=_order)
    for name, method in seen:
        rows = [r for r in results if (r["set"], r["method"]) == (name, method)]
        cells = [spread(rows, f) for f in ("error", "nlpd", "coverage", "ece", "seconds")]
        paper = f"{PAPER[name]:g}" if name in PAPER else "-"
        lines.append(f"| {name} | {len(rows)} | {paper} | {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _order(pair: tuple[str, str]) -> tuple[int, str]:
    return ((*REGRESSION, *CLASSIFICATION).index(pair[0]), pair[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join((*REGRESSION, *CLASSIFICATION)))
    parser.add_argument("--folds", default="", help="for example 0,1; default by protocol")
    parser.add_argument("--methods", default="bank,rks")
    parser.add_argument("--full", action="store_true", help="all five folds of every set")
    parser.add_argument("--out", default=str(HERE / "results" / "accuracy.md"))
    parser.add_argument("--limits", default="", help="seconds below and above 2000 rows: 110,450")
    arguments = parser.parse_args()
    if arguments.limits:
        LIMIT["small"], LIMIT["large"] = (float(v) for v in arguments.limits.split(","))
    if not os.environ.get("BANKLEARN_DATA"):
        sys.exit("Set BANKLEARN_DATA to the folder with the Parquet files of the paper's sets.")
    results = []
    for name in arguments.sets.split(","):
        small = name in ("concrete", "noise", "pima", "diabetic")
        wanted = range(5) if small or arguments.full else range(2)
        if arguments.folds:
            wanted = [int(f) for f in arguments.folds.split(",")]
        for fold in wanted:
            for method in arguments.methods.split(","):
                result = cached(name, fold, method)
                results.append(result)
                print(json.dumps(result), flush=True)
    text = table(results)
    print(text)
    out = Path(arguments.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text + "\n")


if __name__ == "__main__":
    main()
