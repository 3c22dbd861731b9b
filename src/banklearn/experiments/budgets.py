"""How much work a fit may cost, and the words that say so where that is less than the defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from banklearn.datasets.names import Task

#: Sets with fewer rows than this are small.
SMALL = 2000
BANK = ("bank", "bank-laplace")
#: Rivals that can be told how many seconds to train for, and what serves them best then: in a few
#: hundred steps Adam gets nowhere at the rate of a long training (hold-outs of training rows).
TIMED: dict[str, dict[str, Any]] = {"svgp": {"learning_rate": 0.1, "wide_start": True}}


@dataclass(frozen=True)
class Budget:
    """Seconds for a BaNK fit on small and on large sets (None: as long as its sweeps take).

    ``reduce`` lowers the effort of the rivals that optimise, on sets with more rows than SMALL;
    ``equal`` gives the seconds to every method that can train until time is up; ``tiny`` makes
    everything so small that only the machinery is tried.
    """

    name: str
    seconds: tuple[float | None, float | None] = (None, None)
    reduce: bool = False
    tiny: bool = False
    equal: bool = False

    def settings(self, method: str, task: Task, rows: int) -> tuple[dict[str, Any], str]:
        """What to change of a method's defaults for a set with so many rows, and a note."""
        if self.tiny:
            return {**TINY.get(method, {})}, "tiny"
        if method in BANK or (self.equal and method in TIMED):
            limit = self.seconds[rows >= SMALL]
            # No note: whether the limit cut anything is known after the fit.
            return ({} if limit is None else {**TIMED.get(method, {}), "max_time": limit}), ""
        if self.reduce and rows >= SMALL and (method, task) in REDUCED:
            return REDUCED[method, task]
        return {}, ""


#: On sets from SMALL rows on: settings and what they mean.
REDUCED: dict[tuple[str, Task], tuple[dict[str, Any], str]] = {
    ("mkl", "classification"): (
        {"n_shortlist": 2, "max_search_rows": 5000},
        "bandwidth and kernel weights from 5000 rows, 2 candidates",
    ),
    ("alacarte", "regression"): (
        {"n_restarts": 2, "restart_iter": 25, "max_iter": 60, "max_search_rows": 10_000},
        "2 restarts of 25 steps, then at most 60, on 10 000 rows",
    ),
    ("rfo", "classification"): (
        {"n_restarts": 2, "restart_iter": 30, "max_iter": 60, "max_search_rows": 5000},
        "2 restarts of 30 steps, then at most 60",
    ),
    ("svgp", "regression"): ({"epochs": 50}, "50 epochs"),
    ("svgp", "classification"): ({"epochs": 30}, "30 epochs"),
}

_FEW = {"n_frequencies": 24}
TINY: dict[str, dict[str, Any]] = {
    "rks": _FEW,
    "mkl": _FEW,
    "mkl-uniform": _FEW,
    "alacarte": {**_FEW, "n_restarts": 1, "restart_iter": 3, "max_iter": 3, "n_components": [2]},
    "rfo": {**_FEW, "n_restarts": 1, "restart_iter": 3, "max_iter": 3, "n_components": [2]},
    "bank": {**_FEW, "n_warmup": 6, "n_draws": 3, "n_chains": 1, "thin": 1},
    "bank-laplace": {**_FEW, "n_warmup": 6, "n_draws": 3, "n_chains": 1, "thin": 1},
    "trees": {"max_trees": 10},
    "lightgbm": {"max_trees": 10},
    "svgp": {"n_inducing": 16, "epochs": 2},
    "gp": {"optimise": False},
}

BUDGETS = {
    "full": Budget("full"),
    "protocol": Budget("protocol", (110.0, 450.0), reduce=True),
    "tiny": Budget("tiny", tiny=True),
}


def parse_budget(text: str) -> Budget:
    """A budget by name, or a number of seconds for each BaNK fit with the rivals reduced."""
    if text in BUDGETS:
        return BUDGETS[text]
    try:
        seconds = float(text)
    except ValueError:
        seconds = float("nan")
    if not 0 < seconds < float("inf"):
        raise ValueError(
            f"{text!r} is no budget; give {', '.join(BUDGETS)}, or the seconds of a BaNK fit."
        )
    return Budget(f"{seconds:g} s", (seconds, seconds), reduce=True)
