"""``bank reproduce`` from beginning to end at tiny sizes, and what an interruption does to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from matplotlib import pyplot

from banklearn.datasets.names import SPECS
from banklearn.datasets.parquet import write_table
from banklearn.experiments import Options, experiment, figures, parse_budget
from banklearn.experiments.cells import compute
from banklearn.experiments.comparison import plan, write_comparison
from banklearn.experiments.results import read_results, write_results
from banklearn.experiments.synthetic import summary
from banklearn.experiments.timing_summary import slope, write_timing

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
    with pytest.raises(ValueError, match="no synthetic problem 'huge'"):
        experiment("synthetic")(options(tmp_path, sets=("huge",)))
    with pytest.raises(ValueError, match="There is no set to time 'noise'; there are waves"):
        experiment("timing")(options(tmp_path, sets=("noise",)))
    with pytest.raises(ValueError, match="There is no sampler 'hmc'; there are regression"):
        experiment("timing")(options(tmp_path, methods=("hmc",)))
    monkeypatch.setenv("BANKLEARN_DATA", str(tmp_path / "empty"))
    with pytest.raises(ValueError, match="nothing to measure"):
        experiment("regression")(options(tmp_path))


def test_timing_fits_slopes(tmp_path, small_sets):
    records = experiment("timing")(options(tmp_path, sets=("waves",), methods=("regression",)))
    assert {r["axis"] for r in records} == {"N", "M"}
    text = (tmp_path / "timing.md").read_text(encoding="utf-8")
    assert "slope" in text
    assert (tmp_path / "timing.png").exists()
    assert slope([1, 2, 4], [3.0, 12.0, 48.0]) == pytest.approx(2.0)


def test_slopes_that_cannot_be_fitted():
    assert np.isnan(slope([5, 5], [1.0, 2.0]))
    assert np.isnan(slope([1, 2], [1.0, 0.0]))


def record(**changes):
    facts = {"set": "noise", "task": "regression", "fold": 0, "method": "rks", "error": 0.5}
    machine = {"version": "1", "python": "3", "cpu": "x", "cores": 1, "seed": 0, "seconds": 2.5}
    return {**facts, **machine, **changes}


def test_without_matplotlib_there_are_tables(tmp_path, monkeypatch):
    found = figures.importlib.util.find_spec
    monkeypatch.setattr(
        figures.importlib.util, "find_spec", lambda n: None if n == "matplotlib" else found(n)
    )
    write_comparison(tmp_path, "regression", "A title", [record()])
    write_results(tmp_path / "regression.parquet", [record()])
    write_timing(tmp_path, [])
    experiment("synthetic")(options(tmp_path, sets=("paper",), folds=(0,)))
    names = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert names == {
        "regression.md", "regression.parquet", "timing.md", "synthetic.md", "synthetic.parquet"
    }  # fmt: skip
    assert "| noise | 2.5" in (tmp_path / "timing.md").read_text(encoding="utf-8")


def test_seconds_of_the_tables_in_the_same_folder_are_drawn(tmp_path):
    write_timing(tmp_path, [])
    assert [path.name for path in tmp_path.iterdir()] == ["timing.md"]
    several = [record(set=name, method=m) for name in ("noise", "bike") for m in ("rks", "bank")]
    write_results(tmp_path / "regression.parquet", several)
    write_timing(tmp_path, [])
    assert (tmp_path / "timing-runtimes.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "timing.png").exists()


def test_superfluous_panels_are_hidden():
    figure, axes = figures.panels(3, 2, (1.0, 1.0))
    assert len(axes) == 3
    assert [ax.get_visible() for ax in figure.axes] == [True, True, True, False]
    pyplot.close(figure)


def test_a_synthetic_problem_left_for_want_of_time_writes_no_table(tmp_path):
    left = options(tmp_path, sets=("large",), folds=(0,), within=0.0)
    assert experiment("synthetic")(left) == []
    assert not (tmp_path / "synthetic.md").exists()


def test_the_summary_of_either_size_stands_alone():
    one = {"band holds": 0.9, "ratio": 0.5, "log evidence": 2.0, "rbf log evidence": 1.0}
    (found,) = summary([{**one, "size": "paper"}]).items()
    assert found == ("paper size: share of lags inside the 90 % band", 0.9)
    assert list(summary([{**one, "size": "large"}]).values()) == [0.5, 1]


def test_methods_that_a_set_is_too_large_for_are_named(tmp_path):
    made = plan(["regression"], ["toms"], [0], ["gp", "rks"], parse_budget("tiny"), tmp_path)
    assert [cell.label for cell in made.cells if "gp" in cell.label] == []
    assert len(made.cells) == 1
    (note,) = made.notes
    assert "is not tried on toms" in note


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


def test_fits_with_other_random_numbers_are_other_cells(tmp_path, small_sets):
    planned = {
        seed: plan(
            ["regression"], ["noise"], [0], ["bank"], parse_budget("tiny"), tmp_path, seed=seed
        )
        for seed in (0, 1)
    }
    (one,), (other,) = (planned[seed].cells for seed in (0, 1))
    assert one.key != other.key
    scores = [compute(cell, tmp_path) for cell in (one, other)]
    assert scores[0]["error"] != scores[1]["error"]


def interrupted(cell, folder):
    raise KeyboardInterrupt


def test_the_command_line_explains_itself(tmp_path, capsys, monkeypatch):
    from banklearn.cli.reproduce import reproduce

    with pytest.raises(typer.Exit) as stop:
        reproduce("table3", tmp_path, quiet=True)
    said = capsys.readouterr().err
    assert "There is no experiment 'table3'" in said
    assert "timing, rivals; all does one after another." in said
    assert stop.value.exit_code == 2
    with pytest.raises(typer.Exit) as stop:
        reproduce("synthetic", tmp_path, folds="0;1", quiet=True)
    assert stop.value.exit_code == 2
    assert "'0;1' is no list of folds; write for example 0,1." in capsys.readouterr().err
    for seed in (-1, 2**32):
        with pytest.raises(typer.Exit) as stop:
            reproduce("synthetic", tmp_path, folds=str(seed), budget="tiny", quiet=True)
        assert stop.value.exit_code == 2
        said = capsys.readouterr().err
        assert f"There is no seed {seed}: folds of the synthetic problem are seeds" in said
    for wrong, message in (
        ({"sets": "noise"}, "For --sets or --methods name one of synthetic, regression"),
        ({"methods": "rks"}, "For --sets or --methods name one of synthetic, regression"),
        ({"folds": "0,9"}, "There is no fold 9; the folds are 0 to 4."),
    ):
        with pytest.raises(typer.Exit) as stop:
            reproduce("all", tmp_path, budget="tiny", quiet=True, **wrong)
        assert stop.value.exit_code == 2
        assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    blocked = tmp_path / "taken"
    blocked.write_text("no folder")
    with pytest.raises(typer.Exit) as stop:
        reproduce("synthetic", blocked, sets="paper", folds="0", budget="tiny", quiet=True)
    assert stop.value.exit_code == 6
    monkeypatch.setattr("banklearn.experiments.pool.attempt", interrupted)
    with pytest.raises(typer.Exit) as stop:
        reproduce("synthetic", tmp_path, sets="paper", folds="0", budget="tiny", quiet=True)
    assert stop.value.exit_code == 130
