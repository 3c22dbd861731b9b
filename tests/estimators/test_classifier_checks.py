"""BankClassifier keeps the contract of scikit-learn's estimators."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from banklearn import BankClassifier

SMALL = {"n_frequencies": 8, "n_warmup": 4, "n_draws": 4, "n_chains": 1, "random_state": 0}


@parametrize_with_checks(
    [
        BankClassifier(**SMALL),
        BankClassifier(**SMALL, inference="laplace-mh"),
    ]
)
def test_the_contract_of_an_estimator(estimator, check):
    check(estimator)


def make_data(n=90, C=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, np.digitize(X[:, 0] + 0.3 * rng.standard_normal(n), [-0.5, 0.5][: C - 1])


@pytest.mark.parametrize("inference", ["polya-gamma", "laplace-mh"])
def test_it_works_inside_pipelines_searches_and_wrappers(inference):
    X, y = make_data()
    model = BankClassifier(**SMALL, inference=inference)
    p = cross_val_predict(
        make_pipeline(StandardScaler(), model), X, y, cv=3, method="predict_proba"
    )
    assert p.shape == (90, 3)
    search = GridSearchCV(model, {"n_frequencies": [4, 16]}, cv=3, scoring="neg_log_loss")
    assert np.isfinite(search.fit(X, y).best_score_)
    assert OneVsRestClassifier(model).fit(X, y).predict_proba(X).shape == (90, 3)
    assert CalibratedClassifierCV(model, cv=3).fit(X, y).score(X, y) > 0.5


def test_parameters_are_stored_and_cloned():
    model = BankClassifier(77, inference="laplace-mh", class_weight={0: 2.0})
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "draws_")
    # Nothing is checked before fit.
    BankClassifier(inference="guess", class_weight="heavy")
