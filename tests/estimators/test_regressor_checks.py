"""BankRegressor keeps the contract of scikit-learn's estimators."""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from banklearn import BankRegressor

SMALL = {"n_frequencies": 8, "n_warmup": 4, "n_draws": 4, "thin": 1, "random_state": 0}


@parametrize_with_checks(
    [
        BankRegressor(**SMALL, n_chains=1),
        BankRegressor(**SMALL, n_chains=2),
        BankRegressor(**SMALL, n_chains=1, proposal="at-once", trend="none"),
    ]
)
def test_the_contract_of_an_estimator(estimator, check):
    check(estimator)


def make_data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(n)


def test_it_works_inside_pipelines_and_searches():
    X, y = make_data()
    model = BankRegressor(**SMALL, n_chains=1)
    assert len(cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3)) == 3
    search = GridSearchCV(model, {"n_frequencies": [4, 16]}, cv=3).fit(X, y)
    assert search.best_params_["n_frequencies"] in (4, 16)


def test_parameters_are_stored_and_cloned():
    model = BankRegressor(77, kappa0=0.3, nu0=9.0, trend="none")
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.n_frequencies == 77
    assert not hasattr(copy, "draws_")
    # Nothing is checked before fit.
    BankRegressor(n_frequencies="many", trend=None)
