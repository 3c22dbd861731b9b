"""A command that is interrupted says what it leaves behind."""

import numpy as np
import pytest

from banklearn.cli import estimator, predictions, reproduce, scoring
from banklearn.cli.exits import INTERRUPTED
from banklearn.cli.worker import Worker
from command_line import QUICK, bank

NOTHING = "bank: Interrupted: nothing was written.\n"


@pytest.fixture
def data(tmp_path):
    x = np.random.default_rng(0).standard_normal(60)
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{v:.6f},{np.sin(v):.6f}\n" for v in x))
    return path


def interrupt(*args, **options):
    raise KeyboardInterrupt


def fit(data, out, code=0):
    return bank("fit", data, "--target", "y", "--out", out, *QUICK, code=code)


def test_a_fit_before_its_first_sweep(data, tmp_path, monkeypatch):
    monkeypatch.setattr(estimator, "fit_caught", interrupt)
    assert fit(data, tmp_path / "m.bank", INTERRUPTED).stderr.endswith(NOTHING)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_a_fit_whose_model_is_not_written_yet_goes_on(data, tmp_path, monkeypatch):
    out = tmp_path / "m.bank"
    with monkeypatch.context() as during:
        during.setattr(scoring, "scores", interrupt)
        said = fit(data, out, INTERRUPTED).stderr
    assert f"bank: Interrupted. What was fitted is kept in {out}.checkpoint: the same" in said
    assert not out.exists()
    bank("fit", data, "--target", "y", "--out", out, "--resume", *QUICK)
    assert out.exists()


def test_predictions_before_and_after_they_are_written(data, tmp_path, monkeypatch):
    model, out = tmp_path / "m.bank", tmp_path / "p.csv"
    fit(data, model)
    with monkeypatch.context() as during:
        during.setattr(predictions, "prediction_columns", interrupt)
        told = bank("predict", model, data, "--out", out, code=INTERRUPTED)
        assert told.stderr.endswith(NOTHING)
    monkeypatch.setattr(scoring, "scores", interrupt)
    told = bank("predict", model, data, "--out", out, code=INTERRUPTED)
    assert told.stderr.endswith(f"bank: Interrupted after {out} had been written.\n")
    out.write_text("an older one")
    monkeypatch.setattr(predictions, "prediction_columns", interrupt)
    told = bank("predict", model, data, "--out", out, code=INTERRUPTED)
    assert told.stderr.endswith(NOTHING)  # what lay there before is not of this command


def test_a_comparison(data, monkeypatch):
    monkeypatch.setattr(Worker, "call", interrupt)
    told = bank("compare", data, "--target", "y", code=INTERRUPTED)
    assert told.stderr.endswith(NOTHING)
    assert told.stdout == ""


def test_an_experiment_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "experiment", interrupt)
    said = bank("reproduce", "synthetic", "--out", tmp_path, code=INTERRUPTED).stderr
    assert (
        said
        == f"Interrupted: what was measured stays in {tmp_path}, and the same command goes on.\n"
    )
