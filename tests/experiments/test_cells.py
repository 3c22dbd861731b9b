"""Cells: kept once, shared, run in processes on their own cores, and never half written."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time

import pytest

from banklearn.experiments import experiment, parse_budget
from banklearn.experiments.cells import Cell, compute, installed, read
from banklearn.experiments.pool import _pinned, _threads, core_slots, run_cells, work
from banklearn.experiments.results import merge, read_results, write_results
from experiment_cells import RUNNERS


def cell(name="double", **arguments):
    return Cell(f"test-{name}", f"{RUNNERS}:{name}", arguments)


def test_a_cell_is_measured_once_and_remembered(tmp_path):
    first = run_cells([cell(x=3), cell(x=4)], tmp_path, quiet=True)
    assert sorted(r["value"] for r in first.records.values()) == [6, 8]
    stamp = {p.name: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
    second = run_cells([cell(x=3), cell(x=4)], tmp_path, quiet=True)
    assert second.records == first.records
    assert {p.name: p.stat().st_mtime_ns for p in tmp_path.iterdir()} == stamp
    assert {"version", "python", "packages", "cores"} <= set(next(iter(first.records.values())))


def test_arguments_make_the_identity_and_notes_do_not(tmp_path):
    noted = Cell("test-double", f"{RUNNERS}:double", {"x": 3}, note="reduced", cost=9.0)
    assert noted.key == cell(x=3).key != cell(x=4).key
    assert compute(noted, tmp_path)["reduced"] == "reduced"


def test_files_are_kept_where_they_are_asked_for(tmp_path):
    asked = Cell("test-attach", f"{RUNNERS}:attach", {"text": "rows"}, keep=(".txt", ".none"))
    record = compute(asked, tmp_path)
    assert "files" not in record
    assert asked.path(tmp_path).with_suffix(".txt").read_text() == "rows"
    plain = Cell("test-attach", f"{RUNNERS}:attach", {"text": "other"})
    compute(plain, tmp_path)
    assert not plain.path(tmp_path).with_suffix(".txt").exists()


def test_a_record_never_lies_there_without_its_files(tmp_path):
    broken = Cell("test-attach", f"{RUNNERS}:attach", {"text": None}, keep=(".txt",))
    outcome = run_cells([broken], tmp_path, quiet=True)
    assert broken.key in outcome.failures
    assert read(broken, tmp_path) is None


def test_what_cannot_end_in_time_is_left_for_the_next_run(tmp_path, monkeypatch):
    """A cell that would take too long is not begun, a shorter one is taken instead."""
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(os.path.dirname(__file__)))
    long = Cell("test-double", f"{RUNNERS}:double", {"x": 1}, cost=9.0, at_most=5000.0)
    short = Cell("test-double", f"{RUNNERS}:double", {"x": 2}, cost=5.0, at_most=1.0)
    first = run_cells([short, long], tmp_path, cores_per_job=1, quiet=True, within=200.0)
    assert list(first.records) == [short.key]
    assert not first.failures
    assert first.left == [long]
    second = run_cells([short, long], tmp_path, quiet=True)
    assert set(second.records) == {short.key, long.key}
    assert second.left == []


def test_what_runs_too_long_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(os.path.dirname(__file__)))
    slow = Cell("test-nap", f"{RUNNERS}:nap", {"seconds": 200.0})
    begin = time.monotonic()
    outcome = run_cells([slow], tmp_path, cores_per_job=1, quiet=True, within=2.0)
    assert time.monotonic() - begin < 100.0
    assert outcome.left == [slow]
    assert not outcome.records
    assert not outcome.failures


def test_a_process_that_dies_is_replaced_and_one_that_lives_goes_on(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(os.path.dirname(__file__)))
    bad = Cell("test-crash", f"{RUNNERS}:crash", {"x": 0}, cost=9.0)
    good = [cell(x=1), cell(x=2)]
    outcome = run_cells([bad, *good], tmp_path, cores_per_job=1, quiet=True, within=200.0)
    assert sorted(record["value"] for record in outcome.records.values()) == [2, 4]
    assert outcome.failures == {bad.key: "its process ended with exit code 7"}
    assert outcome.left == []
    # Nothing is left to do, or nothing can be begun: no process is started.
    again = run_cells(good, tmp_path, cores_per_job=1, quiet=True, within=200.0)
    assert again.records == outcome.records
    late = run_cells([cell(x=3)], tmp_path, cores_per_job=1, quiet=True, within=0.0)
    assert late.left == [cell(x=3)]


def test_a_process_gets_its_threads_and_the_parent_keeps_its_own(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "5")
    with _threads(3):
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "3"
    assert "OMP_NUM_THREADS" not in os.environ
    assert os.environ["MKL_NUM_THREADS"] == "5"
    with _threads(0):
        assert os.environ["MKL_NUM_THREADS"] == "5"


def test_where_processes_cannot_be_pinned_they_are_not(monkeypatch):
    before = getattr(os, "sched_getaffinity", lambda _: None)(0)
    with _pinned(set()):
        assert getattr(os, "sched_getaffinity", lambda _: None)(0) == before
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert core_slots(3, 10_000) == [set(), set(), set()]


@pytest.mark.parametrize("wrong", [{"jobs": 0}, {"cores_per_job": 0}])
def test_no_jobs_and_no_cores_are_refused(wrong, tmp_path):
    with pytest.raises(ValueError, match="must be at least 1, but are"):
        run_cells([], tmp_path, **wrong)


def test_an_interrupted_run_says_how_far_it_came(tmp_path, monkeypatch, capsys):
    def interrupted(cell, folder):
        if cell.arguments["x"] == 2:
            raise KeyboardInterrupt
        compute(cell, folder)

    monkeypatch.setattr("banklearn.experiments.pool.attempt", interrupted)
    cells = [Cell("test-double", f"{RUNNERS}:double", {"x": x}, cost=-x) for x in (1, 2)]
    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, tmp_path)
    said = " ".join(capsys.readouterr().err.split())
    assert "Interrupted with 1 of 2 cells measured; the same command goes on from there." in said


def test_packages_that_are_absent_have_no_version():
    assert installed("numpy")
    assert installed("no-such-package-of-ours") is None


def test_a_failure_is_told_and_stops_nothing(tmp_path):
    bad, good = cell("fail", x=1), cell(x=1)
    outcome = run_cells([bad, good], tmp_path, quiet=True)
    assert list(outcome.records) == [good.key]
    assert "planted" in outcome.failures[bad.key]
    assert read(bad, tmp_path) is None


def test_a_damaged_file_is_named(tmp_path):
    compute(cell(x=1), tmp_path)
    cell(x=1).path(tmp_path).write_text("{")
    with pytest.raises(ValueError, match="remove it to measure it again"):
        run_cells([cell(x=1)], tmp_path, quiet=True)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no pinning on this system")
def test_processes_have_cores_and_threads_of_their_own_and_survive_a_crash(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(os.path.dirname(__file__)))
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        with pytest.raises(ValueError, match="need 2 cores, but this process may use 1"):
            run_cells([cell(x=1)], tmp_path, jobs=2, cores_per_job=1, quiet=True)
        return
    cells = [cell("where", x=i) for i in range(4)] + [cell("crash", x=0)]
    outcome = run_cells(cells, tmp_path, jobs=2, cores_per_job=1, quiet=True)
    seen = [r["cores_seen"] for r in outcome.records.values()]
    assert len(seen) == 4
    assert all(len(s) == 1 for s in seen)
    assert all(r["threads"] == "1" for r in outcome.records.values())
    assert "exit code" in outcome.failures[cells[-1].key]


def test_what_a_process_does_with_the_cells_that_come(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    here, there = multiprocessing.Pipe()
    for job in ((cell(x=5), tmp_path), (cell("fail", x=1), tmp_path), None):
        here.send(job)
    try:
        work(there, 1)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert here.recv() is None
    assert read(cell(x=5), tmp_path)["value"] == 10
    assert "planted" in here.recv()
    assert not here.poll()


def test_slots_are_disjoint():
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("no pinning on this system")
    (slot,) = core_slots(1, 1)
    assert len(slot) == 1
    with pytest.raises(ValueError, match="ask for fewer jobs"):
        core_slots(10_000, 2)


def test_results_add_up_and_survive_the_file(tmp_path):
    path = tmp_path / "r.parquet"
    old = [{"set": "a", "fold": 0, "method": "rks", "error": 1.0, "settings": {"b": [1, 2]}}]
    new = [{"set": "a", "fold": 0, "method": "bank", "error": 0.1 + 0.2}]
    write_results(path, merge(old, new, ("set", "fold", "method")))
    assert read_results(path) == [new[0], old[0]]
    again = [{**old[0], "error": 2.0}]
    assert merge(read_results(path), again, ("set", "fold", "method"))[1]["error"] == 2.0
    assert read_results(tmp_path / "none.parquet") == []


def test_budgets_and_experiments_by_name():
    assert parse_budget("60").settings("bank", "regression", 100) == ({"max_time": 60.0}, "")
    assert parse_budget("full").settings("alacarte", "regression", 10**5) == ({}, "")
    settings, note = parse_budget("protocol").settings("alacarte", "regression", 10**5)
    assert settings["max_search_rows"] < 20_000
    assert "10 000 rows" in note
    assert parse_budget("protocol").settings("alacarte", "regression", 1000) == ({}, "")
    with pytest.raises(ValueError, match="is no budget"):
        parse_budget("much")
    with pytest.raises(ValueError, match="The experiments are synthetic"):
        experiment("table3")


def test_records_are_plain_json(tmp_path):
    compute(cell(x=2), tmp_path)
    (path,) = tmp_path.glob("*.json")
    assert json.loads(path.read_text())["value"] == 4
