"""``bank inspect``: what a model file holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from banklearn.cli import options as use

#: Sweeps per chain below which nothing can be said: each half of a chain needs four.
FEWEST = 8
#: Inputs that are named where there is no table of columns.
MOST_NAMES = 20


def inspect(model: use.Model, json: use.Json = False) -> None:
    """Say what a model file holds: task, columns, scores, chains, settings.

    $ bank inspect flats.bank
    """
    from banklearn.cli import say
    from banklearn.cli.files import load_any

    estimator, record = load_any(model)
    found = {
        "command": "inspect",
        "estimator": type(estimator).__name__,
        "file_bytes": model.stat().st_size,
        "inputs": names_of(estimator) if record is None else record.plan.inputs,
        "chains": chains(estimator),
        "diagnostics": diagnostics(estimator),
        "components": _spread([len(draw.pi) - 1 for draw in estimator.draws_]),
        "trend": estimator.trend_,
        "input_scaling": estimator.input_scaling_.kind,
        "parameters": {k: _plain(v) for k, v in estimator.get_params().items()},
        "provenance": estimator.provenance_,
        **({} if record is None else record.to_json()),
    }
    if json:
        say.as_json(found)
    else:
        _show(estimator, record, found)


def names_of(estimator: Any) -> list[str]:
    """The inputs of a model that knows no table, by name where they have one."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = [f"input {i}" for i in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def chains(estimator: Any) -> list[dict[str, Any]]:
    """Sweeps, warm-up and kept draws of each chain."""
    return [
        {
            "sweeps": int(sweeps),
            "warmup": int(trace["warmup"]),
            "draws": sum(draw.chain == i for draw in estimator.draws_),
        }
        for i, (sweeps, trace) in enumerate(zip(estimator.n_sweeps_, estimator.trace_, strict=True))
    ]


def diagnostics(estimator: Any) -> dict[str, dict[str, float]]:
    """R-hat and effective sample size of quantities without labels, after the warm-up."""
    from banklearn.posterior.diagnostics import effective_sample_size, r_hat

    after = [
        {name: trace[name][int(trace["warmup"]) :] for name in ("log_likelihood", "K", "lam")}
        for trace in estimator.trace_
    ]
    shortest = min(len(trace["K"]) for trace in after)
    if shortest < FEWEST:
        return {}
    found = {}
    for name in ("log_likelihood", "K", "lam"):
        values = np.array([trace[name][:shortest] for trace in after], dtype=float)
        found[name] = {"r_hat": r_hat(values), "ess": effective_sample_size(values)}
    return found


def _spread(values: Any) -> dict[str, float]:
    values = np.asarray(values, dtype=float)
    return {"mean": float(values.mean()), "low": float(values.min()), "high": float(values.max())}


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _show(estimator: Any, record: Any, found: dict[str, Any]) -> None:
    from banklearn.cli import say
    from banklearn.cli.scoring import in_words
    from banklearn.report.words import number

    out = say.result_console()
    size = f"{found['file_bytes'] / 1e6:.1f} MB"
    if record is None:
        inputs = found["inputs"]
        out.print(
            f"[bold]{found['estimator']}[/], saved from Python, fitted to "
            f"{estimator.provenance_['rows']} rows; {size}. It knows no table: bank predict and "
            "bank report cannot use it, banklearn.load_model in Python can."
        )
        rest = f" and {len(inputs) - MOST_NAMES} more" if len(inputs) > MOST_NAMES else ""
        out.print(say.escape(f"Inputs: {', '.join(inputs[:MOST_NAMES])}{rest}."))
    else:
        target = record.plan.target
        classes = f" into {len(target.classes)} classes" if target.classes else ""
        out.print(
            f"[bold]{target.task}{classes} of {say.escape(repr(target.name))}[/], fitted to "
            f"{record.rows} rows of {say.escape(record.source)}; {size}"
        )
        out.print(say.grid("Columns", ["column", "used as"], record.plan.describe(), left=2))
    rows = [
        [str(i), str(c["sweeps"]), str(c["warmup"]), str(c["draws"])]
        for i, c in enumerate(found["chains"])
    ]
    out.print(say.grid("Chains", ["chain", "sweeps", "warm-up", "draws kept"], rows))
    if found["diagnostics"]:
        names = {"log_likelihood": "log likelihood", "K": "components", "lam": "precision"}
        rows = [
            [names[key], number(value["r_hat"], 4), number(value["ess"])]
            for key, value in found["diagnostics"].items()
        ]
        out.print(say.grid("Agreement of the chains", ["quantity", "R-hat", "effective"], rows))
    spread = found["components"]
    out.print(
        f"{estimator.n_frequencies} frequencies in {spread['low']:.0f} to {spread['high']:.0f} "
        f"components; inputs {found['input_scaling']}, trend {found['trend']}."
    )
    if record is None:
        return
    if record.scores is not None:
        for sentence in in_words(record.scores, record.held_out):
            out.print(sentence)
    for sentence in (*record.unusable, *record.warnings):
        out.print(f"[bold yellow]·[/] {say.escape(sentence)}")
