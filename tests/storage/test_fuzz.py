"""A small part of benchmarks/fuzz_model_file.py, and files that get through where checks lack.

Those in corpus/ crash or predict NaN when the checks of values are left out.
"""

import importlib
import sys
from pathlib import Path

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
    outcomes, _ = script.fuzz(200, 0)
    assert set(outcomes) - {"refused", "loaded"}


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_would_get_through_without_checks_is_refused(path):
    with pytest.raises(ModelFileError):
        load_model(path)
