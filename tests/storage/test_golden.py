"""Files that earlier versions wrote are read, and predict what they did."""

import json
from pathlib import Path

import numpy as np
import pytest

from banklearn import load_model
from helpers import close

FOLDER = Path(__file__).parent / "golden"
ROWS = np.linspace(-1.5, 1.5, 12).reshape(4, 3)


@pytest.mark.parametrize("name", ["regressor", "classifier", "laplace"])
def test_version_1(name):
    expected = json.loads((FOLDER / "expected-1.json").read_text(encoding="utf-8"))[name]
    model = load_model(FOLDER / f"{name}-1.bank")
    answer = model.predict_proba if hasattr(model, "classes_") else model.predict_interval
    close(np.asarray(answer(ROWS)), np.array(expected), 1e-9)
    assert model.provenance_["versions"]["banklearn"] == "0.1.0"
    assert model.random_state == 3
