"""The methods that can be compared, by name: the paper's and those beyond it."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from banklearn.datasets.names import Task
from banklearn.experiments.gaussian_processes import EXACT_ROWS


@dataclass(frozen=True)
class Method:
    """How a method is made: "module:Class" by task, with settings of its own.

    ``needs`` are packages that may be absent, ``most_rows`` the training rows beyond which the
    method is not tried, ``cost`` a rough guess of its time that only orders the work.
    """

    title: str
    makers: dict[Task, str]
    settings: dict[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    most_rows: int | None = None
    cost: float = 1.0

    def missing(self) -> str:
        """The packages that are not installed, as a sentence's end, or nothing."""
        absent = [name for name in self.needs if importlib.util.find_spec(name) is None]
        return f"it needs {' and '.join(absent)}, not installed here" if absent else ""

    def make(self, task: Task, settings: dict[str, Any]) -> Any:
        """An estimator, not yet fitted."""
        module, _, name = self.makers[task].partition(":")
        kind = getattr(importlib.import_module(module), name)
        return kind(**{**self.settings, **settings})


def _pair(module: str, stem: str) -> dict[Task, str]:
    return {
        "regression": f"{module}:{stem}Regressor",
        "classification": f"{module}:{stem}Classifier",
    }


_BASELINES, _HERE = "banklearn.baselines", "banklearn.experiments"

METHODS: dict[str, Method] = {
    "rks": Method("RKS", _pair(_BASELINES, "RKS")),
    "mkl": Method("MKL", _pair(_BASELINES, "MKL"), cost=4.0),
    "mkl-uniform": Method(
        "MKL, equal weights", _pair(_BASELINES, "MKL"), {"weights": "uniform"}, cost=1.5
    ),
    "alacarte": Method("A la Carte", {"regression": f"{_BASELINES}:AlaCarteRegressor"}, cost=20.0),
    "rfo": Method("RFO", {"classification": f"{_BASELINES}:RFOClassifier"}, cost=8.0),
    "bank": Method("BaNK", _pair("banklearn", "Bank"), cost=50.0, needs=("polyagamma",)),
    "bank-laplace": Method(
        "BaNK, joint move",
        {"classification": "banklearn:BankClassifier"},
        {"inference": "laplace-mh"},
        cost=60.0,
        needs=("polyagamma",),
    ),
    "trees": Method("scikit-learn trees", _pair(f"{_HERE}.boosting", "Boosted"), cost=0.5),
    "lightgbm": Method(
        "LightGBM",
        _pair(f"{_HERE}.boosting", "Boosted"),
        {"library": "lightgbm"},
        ("lightgbm",),
        cost=0.5,
    ),
    "svgp": Method(
        "SVGP",
        _pair(f"{_HERE}.gaussian_processes", "SVGP"),
        needs=("torch", "gpytorch"),
        cost=10.0,
    ),
    "gp": Method(
        "exact GP",
        _pair(f"{_HERE}.gaussian_processes", "ExactGP"),
        most_rows=EXACT_ROWS,
        cost=10.0,
    ),
}


def check_methods(names: Sequence[str]) -> None:
    """Refuse a method that does not exist."""
    for name in names:
        if name not in METHODS:
            raise ValueError(f"There is no method {name!r}. The methods are {', '.join(METHODS)}.")
