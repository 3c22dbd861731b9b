"""The measurement behind both tables: one method on one fold of one set."""

from __future__ import annotations

import json
import time
import warnings
from functools import cache
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from banklearn.datasets import folds, load
from banklearn.datasets.names import Task, find_spec
from banklearn.experiments import predictions, small_models
from banklearn.experiments.cells import Cell, parameters_of
from banklearn.experiments.methods import METHODS
from banklearn.experiments.scores import probability_scores, regression_scores
from banklearn.posterior.settling import least_draws

RUNNER = "banklearn.experiments.one_fold:measure"


def make_cell(
    name: str,
    fold: int,
    method: str,
    settings: dict[str, Any],
    note: str = "",
    cost: float = 1.0,
    keep: tuple[str, ...] = (predictions.ENDING,),
) -> Cell:
    """The cell of one fit; the seed is part of its settings."""
    arguments = {"name": name, "fold": fold, "method": method, "settings": settings}
    task = find_spec(name).task
    parameters = configuration(method, task, json.dumps(settings, sort_keys=True))
    return Cell(
        f"{name}-{fold}-{method}",
        RUNNER,
        arguments,
        note,
        cost,
        parameters,
        keep,
        settings.get("max_time"),
    )


@cache
def configuration(method: str, task: Task, settings: str) -> str:
    """All parameters of an estimator, so that a changed default is measured anew."""
    how = METHODS[method]
    if how.missing():
        return ""
    return parameters_of(how.make(task, json.loads(settings)))


def measure(name: str, fold: int, method: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Fit on the training rows of a fold, score on its test rows.

    The target of a regression is divided by its standard deviation over all rows, so that errors
    are on the paper's scale; everything else is fitted on training rows.
    """
    data = load(name)
    y = data.y / data.y.std() if data.task == "regression" else data.y
    train, test = folds(len(y))[fold]
    model = METHODS[method].make(data.task, settings)
    compile_first(method, data.task)
    begin, begin_busy = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the record tells what was cut
        model.fit(data.X[train], y[train])
    seconds, busy = time.perf_counter() - begin, time.process_time() - begin_busy
    begin = time.perf_counter()
    if data.task == "regression":
        scores = regression_scores(model, data.X[test], y[test])
        rows = predictions.regression_rows(model, data.X[test], y[test])
    else:
        p = np.asarray(model.predict_proba(data.X[test]))
        scores = probability_scores(p, model.classes_, y[test])
        rows = predictions.class_rows(p, model.classes_)
    seconds_to_score = time.perf_counter() - begin
    files = {predictions.ENDING: predictions.writer({"test": test, "y": y[test], **rows})}
    if hasattr(model, "draws_"):
        files[small_models.ENDING] = small_models.writer(model)
    return {
        "set": name,
        "task": data.task,
        "fold": fold,
        "method": method,
        "settings": settings,
        "seed": settings.get("random_state"),
        "seconds": seconds,
        "processor_seconds": busy,
        "seconds_to_score": seconds_to_score,
        **scores,
        **chain_facts(model),
        "files": files,
    }


@cache
def compile_first(method: str, task: Task) -> None:
    """Fit BaNK to next to nothing once per process: compiling is no part of a fit's seconds."""
    if not method.startswith("bank"):
        return
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = X[:, 0] if task == "regression" else (X[:, 0] > 0).astype(float)
    small = {"n_frequencies": 20, "n_chains": 1, "n_warmup": 2, "n_draws": 1, "thin": 1}
    moves = {"gradient_every": 1, "gradient_length": 1} if method == "bank" else {}
    METHODS[method].make(task, {**small, **moves, "device": "cpu", "random_state": 0}).fit(X, y)


def chain_facts(model: Any) -> dict[str, Any]:
    """What is worth knowing of a BaNK fit: sweeps, draws, choices, and whether time cut it.

    Of others, the steps of their training where they count them.
    """
    if not hasattr(model, "draws_"):
        return {"steps": model.n_steps_} if hasattr(model, "n_steps_") else {}
    planned = model.n_warmup + least_draws(model.n_draws) * model.thin
    made = min(model.n_sweeps_)
    return {
        "sweeps": [int(n) for n in model.n_sweeps_],
        "draws": len(model.draws_),
        "device": model.provenance_["device"],
        "scaling": model.input_scaling_.kind,
        "trend": model.trend_,
        "components": [int(t["K"][-1]) for t in model.trace_],
        "reduced": "" if made >= planned else f"{made} of {planned} sweeps",
    }
