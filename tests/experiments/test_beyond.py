"""Rivals beyond the paper learn something simple and give laws that can be scored."""

from __future__ import annotations

import numpy as np
import pytest

from banklearn.experiments.methods import METHODS
from banklearn.experiments.scores import (
    classification_scores,
    pack,
    pooled_error,
    regression_scores,
    unpack,
)

SMALL = {
    "trees": {"max_trees": 300},
    "lightgbm": {"max_trees": 300},
    "svgp": {"n_inducing": 30, "epochs": 60, "batch_rows": 100, "learning_rate": 0.05},
    "gp": {},
}


def waves(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("method", SMALL)
def test_regression(method):
    for package in METHODS[method].needs:
        pytest.importorskip(package)
    X, y = waves()
    model = METHODS[method].make("regression", {**SMALL[method], "random_state": 0})
    scores = regression_scores(model.fit(X[:300], y[:300]), X[300:], y[300:])
    assert scores["error"] < 0.04  # the noise is 0.01, the variance 0.5
    assert scores["nlpd"] < 0.0
    assert 0.85 < scores["coverage"] <= 1.0


@pytest.mark.parametrize("method", SMALL)
def test_classification(method):
    for package in METHODS[method].needs:
        pytest.importorskip(package)
    X, y = waves()
    labels = np.where(y > 0, "up", "down")
    model = METHODS[method].make("classification", {**SMALL[method], "random_state": 0})
    scores = classification_scores(model.fit(X[:300], labels[:300]), X[300:], labels[300:])
    assert scores["error"] < 0.12
    assert scores["missed"] == 0
    assert scores["nlpd"] < 0.35
    right = unpack(scores["right"], scores["rows"])
    assert scores["error"] == pytest.approx(np.mean(~right))
    predicted = model.predict(X[300:])
    np.testing.assert_array_equal(predicted == labels[300:], right)


def test_a_label_that_was_never_seen_is_wrong_and_not_a_mistake_of_ours():
    X, y = waves(60)
    model = METHODS["trees"].make("classification", {"max_trees": 5, "random_state": 0})
    model.fit(X, (y > 0).astype(int))
    scores = classification_scores(model, X[:4], np.array([0, 1, 2, -1]))
    assert scores["error"] >= 0.5
    assert scores["nlpd"] > 100.0
    assert scores["missed"] >= 2  # 2 and -1


def test_packing_booleans_loses_nothing(seed):
    right = np.random.default_rng(seed).random(1001) < 0.3
    np.testing.assert_array_equal(unpack(pack(right), 1001), right)


def test_calibration_of_folds_together_is_that_of_their_rows():
    X, y = waves(400)
    labels = (y > 0).astype(int)
    model = METHODS["trees"].make("classification", {"max_trees": 5, "random_state": 0})
    model.fit(X[:100], labels[:100])
    parts = [classification_scores(model, X[p], labels[p]) for p in np.split(np.arange(400), 8)]
    whole = classification_scores(model, X, labels)
    assert pooled_error(parts) == pytest.approx(whole["ece"], rel=1e-9)
    assert np.mean([part["ece"] for part in parts]) > whole["ece"]
    assert np.isnan(pooled_error([{"ece": 0.1}]))
