"""Model files of the command line: the estimator and, beside it, how its table was used."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from banklearn.cli.exits import MODEL, USAGE, RefusedError
from banklearn.tables import TablePlan

#: Names the variable with the largest size of a model file, in bytes, that is read.
LIMIT = "BANKLEARN_MAX_BYTES"


@dataclass(frozen=True)
class Record:
    """What the command line stores beside the estimator."""

    plan: TablePlan
    source: str
    digest: str
    holdout: float
    seed: int
    rows: int
    held_out: int
    scores: dict[str, float] | None
    notes: list[str]
    unusable: list[str]
    warnings: list[str]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        scores: dict[str, float | None] | None = None
        if self.scores is not None:
            scores = {k: v if math.isfinite(v) else None for k, v in self.scores.items()}
        return {**plain, "plan": self.plan.to_json(), "scores": scores}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Record:
        """The record that to_json wrote."""
        scores = data["scores"] and {
            name: math.nan if value is None else value for name, value in data["scores"].items()
        }
        return cls(**{**data, "plan": TablePlan.from_json(data["plan"]), "scores": scores})


def save(model: Any, path: Path, record: Record) -> None:
    """Write model and record into one file."""
    model.save(path, extra={"table": record.to_json()})


def load_any(path: Path) -> tuple[Any, Record | None]:
    """Estimator of a model file, and its record unless it was saved from Python."""
    from banklearn import load_model

    if not path.exists():
        raise RefusedError(f"{path} does not exist; bank fit writes model files.", MODEL)
    model = load_model(path, **_limit())
    stored: Any = getattr(model, "extra_", {}).get("table")
    # Somebody's own `extra` may have a "table", too.
    ours = isinstance(stored, dict) and {field.name for field in fields(Record)} <= stored.keys()
    return model, Record.from_json(stored) if ours else None


def load(path: Path) -> tuple[Any, Record]:
    """Estimator and record of a model file."""
    model, record = load_any(path)
    if record is None:
        raise RefusedError(
            f"{path} holds a model without a table: it was saved from Python, where inputs come as "
            "numbers. Load it there with banklearn.load_model.",
            MODEL,
        )
    return model, record


def _limit() -> dict[str, int]:
    """The largest file to be read, where the environment says."""
    text = os.environ.get(LIMIT)
    if not text:
        return {}
    if not (text.isascii() and text.isdigit()):
        raise RefusedError(f"{LIMIT} should be a number of bytes, but is {text!r}.", USAGE)
    return {"max_bytes": int(text)}
