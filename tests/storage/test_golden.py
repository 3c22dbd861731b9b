"""Files that earlier versions wrote are read, and predict what they did."""

import json
from pathlib import Path

import numpy as np
import pytest

from banklearn import load_model
from banklearn.model.class_tree import stick
from helpers import close
from trees import HALVES

FOLDER = Path(__file__).parent / "golden"
ROWS = np.linspace(-1.5, 1.5, 12).reshape(4, 3)


@pytest.mark.parametrize("name", ["regressor", "classifier", "laplace", "stick", "tree", "errors"])
def test_version_1(name):
    expected = json.loads((FOLDER / "expected-1.json").read_text(encoding="utf-8"))[name]
    model = load_model(FOLDER / f"{name}-1.bank")
    answer = model.predict_proba if hasattr(model, "classes_") else model.predict_interval
    close(np.asarray(answer(ROWS)), np.array(expected), 1e-9)
    assert model.provenance_["versions"]["banklearn"] == "0.1.0"
    assert model.random_state == 3


@pytest.mark.parametrize(("name", "parts"), [("regressor", None), ("errors", 6)])
def test_a_law_of_errors_is_read_where_there_is_one(name, parts):
    law = load_model(FOLDER / f"{name}-1.bank").error_law_
    assert (law and len(law.scale)) == parts


def test_five_classes_of_a_file_without_a_tree_are_on_a_stick(tmp_path):
    model = load_model(FOLDER / "stick-1.bank")
    assert model.tree_ == stick(5)
    model.save(tmp_path / "again.bank")
    assert load_model(tmp_path / "again.bank").tree_ == stick(5)


def test_five_classes_of_a_file_with_a_tree_are_in_it(tmp_path):
    model = load_model(FOLDER / "tree-1.bank")
    assert model.tree_ == HALVES
    model.save(tmp_path / "again.bank")
    assert load_model(tmp_path / "again.bank").tree_ == HALVES
