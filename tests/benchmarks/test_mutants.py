"""The planted errors still fit the code, and the machinery notices one of them."""

import importlib
import sys

import pytest


@pytest.fixture
def scripts(repository, monkeypatch):
    """Import a module of the benchmarks folder by name."""
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    yield importlib.import_module
    for name in {"mutants", "mutation", "planted", "planting", "master_seeds"} & set(sys.modules):
        del sys.modules[name]


def test_every_planted_error_fits_in_one_place(scripts, repository):
    mutants = scripts("mutants")
    errors = scripts("planted").MUTANTS
    assert len(errors) >= 25
    assert len({error.name for error in errors}) == len(errors)
    for error in errors:
        assert mutants.job_of(error).text
        assert all((repository / test).exists() for test in error.tests)


def test_an_error_that_fits_nowhere_is_told(scripts):
    mutants, planted = scripts("mutants"), scripts("planted")
    lost = planted.Mutant("lost", "gram.py", "no such text", "", ())
    with pytest.raises(ValueError, match=r"occurs 0 times in gram\.py"):
        mutants.job_of(lost)


@pytest.mark.timeout(600)
def test_a_planted_error_is_caught_and_its_absence_is_not(scripts, tmp_path, capsys):
    mutants, planting = scripts("mutants"), scripts("planting")
    out = tmp_path / "table.md"
    assert mutants.main(["--only", "jitter", "--out", str(out)]) == 0
    assert "test_help_is_counted" in out.read_text()
    (result,) = planting.run_jobs([planting.Job("as it is", ("tests/numerics/test_linalg.py",))], 1)
    assert result.caught_by == ""


def test_mutation_knows_the_tests_of_every_module(scripts, repository):
    mutation = scripts("mutation")
    for layer in mutation.LAYERS:
        for path in (repository / "src" / "banklearn" / layer).glob("*.py"):
            if path.name not in ("__init__.py", "equations.py"):
                assert f"{layer}/{path.name}" in mutation.TESTS
    for tests in mutation.TESTS.values():
        assert all((repository / test).exists() for test in tests)


def test_the_table_of_master_seeds_marks_a_failure(scripts):
    table = scripts("master_seeds").table(
        {3: {"alone": {"a: K": 0.5, "b: |W|": 0.01}, "calibration": {"c: f": 1e-9}}}, 1e-6
    )
    assert "| 3 | updates alone | 2 | 1.0e-02 | b: \\|W\\| | yes |" in table
    assert "| 3 | calibration | 1 | 1.0e-09 | c: f | **no** |" in table
