"""The results page is what its script writes, and says what the records say."""

from __future__ import annotations

import importlib
import json

import pytest

from banklearn.experiments.results import read_results, write_results
from banklearn.experiments.scores import pack
from banklearn.experiments.tables import seconds_of


@pytest.fixture
def script(repository, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    return importlib.import_module("results_page")


def test_the_committed_page_is_the_generated_one(script, repository):
    expected = script.page(repository / "benchmarks" / "results" / "reproduce", None)
    written = (repository / "docs" / "results.md").read_text(encoding="utf-8")
    assert written == expected, "docs/results.md is old: `make results` writes it again"


def record(name, task, method, fold, error, **more):
    common = {"seconds": 1.0, "reduced": "", "version": "0", "python": "3", "cpu": "c", "cores": 2}
    return (
        {"set": name, "task": task, "method": method, "fold": fold, "error": error} | common | more
    )


def test_losses_marks_and_reductions_reach_the_page(script, tmp_path):
    folds = range(5)
    rows = [record("concrete", "regression", "rks", f, 0.05 + 0.001 * f) for f in folds]
    rows += [
        record("concrete", "regression", "bank", f, 0.09 + 0.002 * f, reduced=f"{f} of 10 sweeps")
        for f in folds
    ]
    write_results(tmp_path / "regression.parquet", rows)
    right = [True] * 60 + [False] * 40
    write_results(
        tmp_path / "classification.parquet",
        [record("pima", "classification", "rfo", 0, 0.4, right=pack(right), rows=100)],
    )
    text = script.page(tmp_path, tmp_path / "docs")
    assert "concrete: RKS 0.05200 ± 0.00071, BaNK 0.0940 ± 0.0014" in text
    assert "**0.05200 ± 0.00071**\\*" in text
    assert "0.0940 ± 0.0014\N{DAGGER}" in text
    assert "0 to 4 of 10 sweeps (5 folds)" in text
    assert "RKS: at or below the paper's error on 1 of 1 sets" in text
    assert "RFO on pima: 0.4, wanted at most 0.27: missed" in text
    assert "A la Carte: all sets" in text  # among what is not measured yet
    assert (tmp_path / "docs" / "images" / "reproduce" / "regression.svg").exists()


def test_a_lower_error_that_is_not_significant_is_named_as_such(script, tmp_path):
    errors = {"rks": (0.10, 0.09, 0.11, 0.10, 0.09), "bank": (0.11, 0.08, 0.12, 0.09, 0.10)}
    rows = [
        record("concrete", "regression", method, fold, error)
        for method, each in errors.items()
        for fold, error in enumerate(each)
    ]
    rows += [
        record("noise", "regression", m, f, 0.2 + (m == "rks")) for m in errors for f in (0, 1)
    ]
    write_results(tmp_path / "regression.parquet", rows)
    worse, near = (
        script.page(tmp_path, None)
        .split("is significantly lower than BaNK:")[1]
        .split("does not tell the two apart:")
    )
    assert "on none of these sets" in worse
    assert "concrete: RKS 0.0980" in near.split("Every cell")[0]
    assert "noise" not in near.split("Every cell")[0]


def test_cells_from_elsewhere_join_the_results(script, tmp_path):
    collect = importlib.import_module("collect")
    old = [record("noise", "regression", m, 0, 0.5) for m in ("rks", "bank")]
    write_results(tmp_path / "regression.parquet", old)
    cells = tmp_path / "cells"
    cells.mkdir()
    for new in (
        record("noise", "regression", "bank", 0, 0.25),
        record("noise", "regression", "trees", 0, 0.3),
        record("pima", "classification", "bank", 0, 0.2, right=pack([True]), rows=1),
        {"lines": []},  # of another experiment
    ):
        (cells / f"{len(list(cells.iterdir()))}.json").write_text(json.dumps(new))
    collect.main([str(cells), "--results", str(tmp_path)])
    assert [(r["method"], r["error"]) for r in read_results(tmp_path / "regression.parquet")] == [
        ("bank", 0.25),
        ("rks", 0.5),
    ]
    assert len(read_results(tmp_path / "classification.parquet")) == 1
    assert {r["method"] for r in read_results(tmp_path / "rivals.parquet")} == {"trees"}
    text = script.page(tmp_path, None).split("## Beyond the paper")[1]
    assert "| noise | **0.25**\\* | 0.3 |" in text
    assert "pima" not in text.split("## Time")[0]
    with pytest.raises(SystemExit, match="holds no records"):
        collect.main([str(tmp_path / "docs"), "--results", str(tmp_path)])


def test_seconds_on_one_core_are_those_of_the_processor():
    assert seconds_of({"seconds": 9.0, "processor_seconds": 3.0, "cores": 1}) == 3.0
    assert seconds_of({"seconds": 9.0, "processor_seconds": 16.0, "cores": 2}) == 9.0
    assert seconds_of({"seconds": 9.0, "cores": 1}) == 9.0
