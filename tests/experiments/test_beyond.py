"""Rivals beyond the paper learn something simple and give laws that can be scored."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from banklearn.experiments.boosting import BoostedRegressor
from banklearn.experiments.budgets import Budget
from banklearn.experiments.gaussian_processes import SVGPClassifier, SVGPRegressor
from banklearn.experiments.methods import METHODS
from banklearn.experiments.predictions import regression_rows
from banklearn.experiments.scores import (
    classification_scores,
    pack,
    pooled_error,
    regression_scores,
    unpack,
)
from banklearn.experiments.tables import entries, side_by_side

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


def test_what_a_rival_cannot_do_is_refused():
    X, y = waves(60)
    with pytest.raises(ValueError, match=r"library='catboost'; use \"scikit-learn\" or"):
        BoostedRegressor(library="catboost").fit(X, y)
    with pytest.raises(ValueError, match="tells two classes apart, not 3"):
        SVGPClassifier().fit(X, np.arange(60) % 3)


def test_svgp_may_start_from_wide_kernels():
    for package in METHODS["svgp"].needs:
        pytest.importorskip(package)
    X, y = waves(60)
    settings = {"n_inducing": 5, "epochs": 1, "batch_rows": 60, "learning_rate": 1e-9}
    for wide, length in ((False, np.log(2.0)), (True, np.sqrt(2.0))):
        model = SVGPRegressor(**settings, random_state=0, wide_start=wide).fit(X, y)
        found = model.model_.covar_module.base_kernel.lengthscale.detach().cpu().numpy()
        np.testing.assert_allclose(found, length, rtol=1e-5)


def test_a_model_without_a_law_has_an_error_alone():
    X, y = waves(60)
    model = LinearRegression().fit(X, y)
    assert set(regression_scores(model, X, y)) == {"error"}
    assert set(regression_rows(model, X, y)) == {"mean"}
    np.testing.assert_array_equal(regression_rows(model, X, y)["mean"], model.predict(X))


@pytest.mark.alone
def test_svgp_trains_until_its_time_is_up():
    for package in METHODS["svgp"].needs:
        pytest.importorskip(package)
    X, y = waves()
    settings = {**SMALL["svgp"], "random_state": 0}
    by_epochs = METHODS["svgp"].make("regression", settings).fit(X, y)
    assert by_epochs.n_steps_ == 60 * 5
    begin = time.monotonic()
    timed = METHODS["svgp"].make("regression", {**settings, "max_time": 1.0}).fit(X, y)
    assert 1.0 <= time.monotonic() - begin < 3.0
    assert timed.n_steps_ != by_epochs.n_steps_
    assert timed.n_steps_ > 5


def test_equal_time_is_for_methods_that_can_be_timed():
    budget = Budget("20,40", (20.0, 40.0), reduce=True, equal=True)
    for method in ("bank", "svgp"):
        assert budget.settings(method, "regression", 500)[0]["max_time"] == 20.0
        assert budget.settings(method, "regression", 5000)[0]["max_time"] == 40.0
    assert "max_time" not in budget.settings("trees", "regression", 5000)[0]
    unequal = Budget("20,40", (20.0, 40.0), reduce=True)
    assert unequal.settings("svgp", "regression", 5000) == ({"epochs": 50}, "50 epochs")


def test_methods_stand_side_by_side():
    def record(method, error, nlpd):
        facts = {"set": "bike", "task": "regression", "fold": 0, "seconds": 1.0, "cores": 2}
        return {**facts, "method": method, "error": error, "nlpd": nlpd, "coverage": 0.95}

    found = entries([record("bank", 0.05, 0.2), record("svgp", 0.07, 0.1)])
    header, _, line = side_by_side(found).splitlines()
    assert header.startswith("| set | MSE, BaNK | MSE, SVGP | nlpd, BaNK |")
    assert line == "| bike | **0.05** | 0.07 | 0.2 | **0.1** | 0.95 | 0.95 |"
    assert side_by_side(found[:1]) == ""


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
