"""``bank reproduce`` from beginning to end at tiny sizes, and what an interruption does to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from banklearn.datasets.names import SPECS
from banklearn.datasets.parquet import write_table
from banklearn.experiments import Options, experiment, parse_budget
from banklearn.experiments.results import read_results

typer = pytest.importorskip("typer")

#: What differs from run to run.
TIMES = ("seconds", "processor_seconds", "seconds_to_score", "seconds per sweep")


@pytest.fixture
def small_sets(tmp_path, monkeypatch):
    """A data folder with small stand-ins for four sets of the paper."""
    folder = tmp_path / "data"
    rng = np.random.default_rng(0)
    for name in ("concrete", "noise", "pima", "diabetic"):
        X = rng.standard_normal((90, SPECS[name].n_features))
        f = np.sin(2.0 * X[:, 0]) + X[:, 1]
        y = f if SPECS[name].task == "regression" else (f > 0).astype(float)
        columns = {f"x{i}": column for i, column in enumerate(X.T)}
        write_table(folder / f"{name}.parquet", {**columns, "y": y})
    monkeypatch.setenv("BANKLEARN_DATA", str(folder))
    return folder


def options(out, **changes):
    return Options(out, budget=parse_budget("tiny"), cores_per_job=1, quiet=True, **changes)


def without_times(records):
    return [{k: v for k, v in r.items() if k not in TIMES} for r in records]


def test_a_killed_run_goes_on_and_ends_with_the_same_numbers(tmp_path, small_sets):
    whole = experiment("regression")(options(tmp_path / "whole", methods=("rks", "bank")))
    out = tmp_path / "killed"
    command = [sys.executable, "-m", "banklearn.cli.reproduce", "regression", "--out", str(out)]
    command += ["--methods", "rks,bank", "--budget", "tiny", "--cores-per-job", "1", "--quiet"]
    process = subprocess.Popen(command, env={**os.environ})
    try:
        deadline = time.monotonic() + 240.0
        while len(list((out / "cells").glob("*.json"))) < 3:
            assert process.poll() is None, "the run ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = {p: p.read_bytes() for p in (out / "cells").glob("*.json")}
    assert 3 <= len(kept) < len(whole)
    assert not (out / "regression.parquet").exists()
    again = experiment("regression")(options(out, methods=("rks", "bank")))
    assert without_times(again) == without_times(whole)
    assert {p: p.read_bytes() for p in kept} == kept
    assert without_times(read_results(out / "regression.parquet")) == without_times(whole)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("synthetic", {"sets": ("paper",), "folds": (0, 1)}),
        ("regression", {"sets": ("noise",), "folds": (0, 1)}),
        ("classification", {"sets": ("pima",), "folds": (0, 1)}),
        ("timing", {"sets": ("waves",)}),
        ("rivals", {"sets": ("noise", "pima"), "methods": ("trees", "gp"), "folds": (0, 1)}),
    ],
)
def test_every_experiment_goes_on_and_ends_with_the_same_numbers(
    name, changes, tmp_path, small_sets
):
    """As if it had been stopped half way: half of its cells are there, and no results."""
    whole = experiment(name)(options(tmp_path, **changes))
    cells = sorted((tmp_path / "cells").glob("*.json"))
    for path in (*cells[::2], tmp_path / f"{name}.parquet"):
        path.unlink()
    kept = {path: path.read_bytes() for path in cells[1::2]}
    again = experiment(name)(options(tmp_path, **changes))
    assert kept
    assert without_times(again) == without_times(whole)
    assert {path: path.read_bytes() for path in kept} == kept
    assert sorted((tmp_path / "cells").glob("*.json")) == cells


def test_tables_and_figures_are_written_and_methods_add_up(tmp_path, small_sets):
    run = experiment("classification")
    run(options(tmp_path, methods=("rks",), folds=(0, 1)))
    records = run(options(tmp_path, methods=("rfo", "mkl"), folds=(0, 1), sets=("pima",)))
    assert {(r["set"], r["method"]) for r in records} == {
        ("pima", "rks"),
        ("diabetic", "rks"),
        ("pima", "rfo"),
        ("pima", "mkl"),
    }
    text = (tmp_path / "classification.md").read_text(encoding="utf-8")
    assert "0.332 ± 0.0201" in text  # the paper's own number
    assert "\N{DAGGER}" in text  # everything is reduced here
    assert (tmp_path / "classification.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "classification.svg").read_text(encoding="utf-8")
    assert all(r["seed"] == 0 and r["version"] for r in records)


def test_absent_rivals_are_named_and_the_others_run(tmp_path, small_sets, monkeypatch):
    from banklearn.experiments import methods

    found = methods.importlib.util.find_spec
    monkeypatch.setattr(
        methods.importlib.util,
        "find_spec",
        lambda name: None if name in ("lightgbm", "gpytorch") else found(name),
    )
    records = experiment("rivals")(
        options(
            tmp_path, sets=("concrete", "pima"), folds=(0,), methods=("trees", "lightgbm", "gp")
        )
    )
    assert {r["method"] for r in records} == {"trees", "gp"}
    assert all(np.isfinite(r["nlpd"]) for r in records)
    assert "LightGBM was not run on pima: it needs lightgbm" in (tmp_path / "rivals.md").read_text()


def test_wrong_words_are_explained(tmp_path, small_sets, monkeypatch):
    for changes, message in (
        ({"sets": ("pima",)}, "is a set for classification"),
        ({"methods": ("svm",)}, "The methods are rks"),
        ({"folds": (7,)}, "There is no fold 7"),
    ):
        with pytest.raises(ValueError, match=message):
            experiment("regression")(options(tmp_path, **changes))
    monkeypatch.setenv("BANKLEARN_DATA", str(tmp_path / "empty"))
    with pytest.raises(ValueError, match="nothing to measure"):
        experiment("regression")(options(tmp_path))


def test_timing_fits_slopes(tmp_path, small_sets):
    records = experiment("timing")(options(tmp_path, sets=("waves",), methods=("regression",)))
    assert {r["axis"] for r in records} == {"N", "M"}
    text = (tmp_path / "timing.md").read_text(encoding="utf-8")
    assert "slope" in text
    assert (tmp_path / "timing.png").exists()
    from banklearn.experiments.timing_summary import slope

    assert slope([1, 2, 4], [3.0, 12.0, 48.0]) == pytest.approx(2.0)


@pytest.mark.needs_data
def test_timing_reports_errors_on_real_sets(tmp_path):
    records = experiment("timing")(options(tmp_path, sets=("bike",)))
    assert all(0.0 < r["error"] < 10.0 for r in records)
    assert {r["N"] for r in records if r["axis"] == "N"} == {20, 40, 80, 160, 320}


def test_synthetic_draws_its_figure(tmp_path):
    records = experiment("synthetic")(options(tmp_path, sets=("paper",), folds=(0,)))
    assert len(records[0]["curves"]["mean"]) == 161
    assert "share of lags inside" in (tmp_path / "synthetic.md").read_text(encoding="utf-8")
    assert (tmp_path / "synthetic.svg").exists()


def test_the_command_line_explains_itself(tmp_path):
    from banklearn.cli.reproduce import reproduce

    with pytest.raises(typer.Exit) as stop:
        reproduce("table3", tmp_path, quiet=True)
    assert stop.value.exit_code == 2
