"""A small part of benchmarks/fuzz_model_file.py, and files that get through where checks lack.

Those in corpus/ crash, predict NaN or name a place for a later fit to write to, when the checks of
values and of parameters are left out.
"""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from banklearn import ModelFileError, load_model

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.bank"))


@pytest.fixture
def script(repository, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    yield importlib.import_module("fuzz_model_file")
    del sys.modules["fuzz_model_file"]


def test_damaged_and_altered_files_are_refused_or_harmless(script, seed):
    outcomes, memory = script.fuzz(500, seed + 1)
    assert set(outcomes) == {"refused", "loaded"}, outcomes
    assert memory < 64 << 20


def test_the_search_would_find_a_crash(script, monkeypatch):
    """With the checks of values left out, files get through that predict NaN or crash."""
    from banklearn.storage import model_checks

    monkeypatch.setattr(model_checks, "check_values", lambda meta, arrays: None)
    outcomes, _ = script.fuzz(400, 0)
    assert set(outcomes) - {"refused", "loaded"}


def test_the_search_would_find_a_path_that_is_taken_over(script, monkeypatch):
    """With local parameters let through, some files say where a later fit is to write."""
    from banklearn.estimators import files

    monkeypatch.setattr(files, "LOCAL", ())
    monkeypatch.setattr(script, "PARAMETERS", ["checkpoint"])
    monkeypatch.setattr(script, "make_case", lambda good, rng: script.edit_header(good[0], rng))
    outcomes, _ = script.fuzz(150, 0)
    assert set(outcomes) - {"refused", "loaded"} == {"checkpoint taken from the file"}


def test_edits_leave_the_values_that_they_use_as_they_are(script, repository):
    """An edit inside a value that was put in before would go into all later files."""
    good = (repository / "tests/storage/golden/regressor-1.bank").read_bytes()
    before, rng = repr(script.NASTY), np.random.default_rng(0)
    for _ in range(500):
        script.edit_header(good, rng)
    assert repr(script.NASTY) == before


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_would_get_through_without_checks_is_refused(path):
    with pytest.raises(ModelFileError):
        load_model(path)
