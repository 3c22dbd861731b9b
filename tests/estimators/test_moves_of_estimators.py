"""The moves that an estimator's parameters ask for."""

import numpy as np
import pytest
from sklearn.base import clone

from banklearn import BankClassifier, BankRegressor
from banklearn.estimators.moves import tuning_of

SMALL = {"n_frequencies": 6, "n_chains": 1, "n_warmup": 10, "n_draws": 2, "random_state": 0}


def test_a_share_of_sweeps_exchanges_and_the_trace_says_which():
    X = np.random.default_rng(0).standard_normal((40, 2))
    model = BankRegressor(**SMALL, exchange_share=0.5).fit(X, X[:, 0])
    shares = model.trace_[0]["accepted_exchanges"]
    assert np.isfinite(shares).tolist() == [False, True] * 8
    own = model.trace_[0]["accepted_local"]
    assert not np.isfinite(own[1::2]).any()
    none = BankRegressor(**SMALL, exchange_share=0.0).fit(X, X[:, 0])
    assert np.isnan(none.trace_[0]["accepted_exchanges"]).all()
    at_once = BankRegressor(**SMALL, proposal="at-once").fit(X, X[:, 0])
    assert np.isnan(at_once.trace_[0]["accepted_exchanges"]).all()


@pytest.mark.parametrize("kind", [BankRegressor, BankClassifier])
def test_four_of_five_sweeps_exchange_by_default(kind):
    tuning = tuning_of(kind())
    assert [tuning.exchanges(sweep) for sweep in range(1, 6)] == [False, True, True, True, True]


@pytest.mark.parametrize("inference", ["polya-gamma", "laplace-mh"])
def test_a_pickle_without_an_exchange_can_be_shown_copied_and_fitted_anew(inference):
    X = np.random.default_rng(0).standard_normal((40, 2))
    y = X[:, 0] > 0
    model = BankClassifier(**SMALL, inference=inference).fit(X, y)
    state = model.__getstate__()
    del state["exchange_share"]
    old = BankClassifier.__new__(BankClassifier)
    old.__setstate__(state)
    np.testing.assert_array_equal(old.predict_proba(X), model.predict_proba(X))
    assert "BankClassifier" in repr(old)
    np.testing.assert_array_equal(clone(old).fit(X, y).predict_proba(X), model.predict_proba(X))
