"""What is kept beside a cell suffices to score it again, and small models are whole models."""

from __future__ import annotations

import numpy as np
import pytest

from banklearn import BankClassifier, BankRegressor, load_model
from banklearn.baselines import RKSRegressor
from banklearn.experiments import small_models
from banklearn.experiments.predictions import (
    class_rows,
    read_predictions,
    regression_rows,
    writer,
)
from banklearn.experiments.scores import (
    classification_scores,
    probability_scores,
    regression_scores,
)

SMALL = {
    "n_frequencies": 16,
    "n_chains": 2,
    "n_warmup": 5,
    "n_draws": 6,
    "thin": 1,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2))
    return X, 50.0 + 3.0 * np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(120)


@pytest.fixture(scope="module")
def regressor(rows):
    X, y = rows
    return BankRegressor(**SMALL).fit(X[:80], y[:80])


def kept(path, **arrays):
    writer(arrays)(path)
    return read_predictions(path)


def test_a_regression_can_be_scored_from_its_file(rows, regressor, tmp_path):
    X, y = rows[0][80:], rows[1][80:]
    found = kept(tmp_path / "a.npz", y=y, **regression_rows(regressor, X, y))
    scores = regression_scores(regressor, X, y)
    assert np.mean((found["mean"] - found["y"]) ** 2) == pytest.approx(scores["error"])
    assert -found["log_density"].mean() == pytest.approx(scores["nlpd"])
    inside = (found["cdf"] > 0.025) & (found["cdf"] < 0.975)
    assert inside.mean() == pytest.approx(scores["coverage"])
    np.testing.assert_allclose(found["std"], regressor.predict(X, return_std=True)[1])
    variance = found["scale"] ** 2 * found["dof"] / (found["dof"] - 2.0)
    np.testing.assert_allclose(variance, found["std"] ** 2)


def test_rivals_keep_what_they_have(rows, tmp_path):
    X, y = rows
    model = RKSRegressor(n_frequencies=16, random_state=0).fit(X[:80], y[:80])
    found = kept(tmp_path / "a.npz", **regression_rows(model, X[80:], y[80:]))
    assert set(found) == {"mean", "std"}


def test_a_classification_can_be_scored_from_its_file(rows, tmp_path):
    X, y = rows[0], np.digitize(rows[1], [49.0, 51.0])
    model = BankClassifier(**SMALL).fit(X[:80], y[:80])
    p = model.predict_proba(X[80:])
    found = kept(tmp_path / "a.npz", y=y[80:], **class_rows(p, model.classes_))
    again = probability_scores(found["probabilities"], found["classes"], found["y"])
    scores = classification_scores(model, X[80:], y[80:])
    assert again["error"] == scores["error"]
    assert again["nlpd"] == pytest.approx(scores["nlpd"], rel=1e-5)
    assert again["ece"] == pytest.approx(scores["ece"], rel=1e-5)


def test_small_models_hold_draws_of_all_chains(rows, regressor, tmp_path):
    path = tmp_path / "a.bank"
    small_models.writer(regressor)(path)
    whole = path.stat().st_size
    np.testing.assert_array_equal(load_model(path).predict(rows[0]), regressor.predict(rows[0]))
    small_models.writer(regressor, whole // 2)(path)
    assert path.stat().st_size <= whole // 2
    fewer = load_model(path)
    assert {draw.chain for draw in fewer.draws_} == {0, 1}
    assert len(regressor.draws_) == 12  # the model itself is as it was
    assert np.corrcoef(fewer.predict(rows[0]), regressor.predict(rows[0]))[0, 1] > 0.9
