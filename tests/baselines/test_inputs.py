"""Rivals take and refuse what the estimators of this package do, in the same words."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from banklearn import BankClassifier, BankRegressor
from banklearn.baselines import (
    AlaCarteRegressor,
    MKLClassifier,
    MKLRegressor,
    RFOClassifier,
    RKSClassifier,
    RKSRegressor,
)
from banklearn.baselines.scaling import SCALINGS
from words import is_in_words

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.1 * RNG.standard_normal(30)
LABELS = np.where(Y > 0, "yes", "no")

SMALL = {"n_frequencies": 8, "random_state": 0}
BANK = {"multiples": (0.5, 2.0), "lams": [1.0, 1e-2]}
CLIMB = {"n_components": 2, "n_restarts": 1, "restart_iter": 2, "max_iter": 2}
REGRESSORS = {
    "RKS": RKSRegressor(**SMALL),
    "MKL": MKLRegressor(**SMALL, **BANK),
    "A la Carte": AlaCarteRegressor(**SMALL, **CLIMB),
}
CLASSIFIERS = {
    "RKS": RKSClassifier(**SMALL),
    "MKL": MKLClassifier(**SMALL, **BANK),
    "RFO": RFOClassifier(**SMALL, **CLIMB),
}
#: Each rival with the estimator that it follows and a target for both.
RIVALS = {
    **{f"{name} regressor": (r, BankRegressor(), Y) for name, r in REGRESSORS.items()},
    **{f"{name} classifier": (c, BankClassifier(), LABELS) for name, c in CLASSIFIERS.items()},
}
rivals = pytest.mark.parametrize(("rival", "bank", "y"), RIVALS.values(), ids=RIVALS)
regressors = pytest.mark.parametrize("rival", REGRESSORS.values(), ids=REGRESSORS)
classifiers = pytest.mark.parametrize("rival", CLASSIFIERS.values(), ids=CLASSIFIERS)


def first(value, values):
    """The values as objects, the first of them replaced."""
    changed = np.array(values, dtype=object)
    changed.flat[0] = value
    return changed


def refusal(call):
    """What is said when the call is refused."""
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert is_in_words(caught.value)
    return type(caught.value), str(caught.value)


DAYS = pd.date_range("2020-01-01", periods=30)
TABLES = {
    "a column of dates": pd.DataFrame({"a": X[:, 0], "when": DAYS}),
    "dates": np.column_stack([DAYS, DAYS]),
    "masked values": np.ma.masked_array(X, mask=X > 1.0),
    "columns of one name": pd.DataFrame(X, columns=["a", "a"]),
    "a column of text": pd.DataFrame({"a": X[:, 0], "town": ["Rome"] * 30}),
    "text among numbers": first("Rome", X),
    "lists": first([1.0, 2.0], X),
    "a missing value among objects": first(pd.NA, X),
    "an integer that no float holds": first(10**400, X),
    "complex numbers": X + 1j,
    "rows of different length": [[1.0, 2.0], *([1.0] for _ in range(29))],
    "a path": "data.csv",
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@rivals
def test_tables_to_fit_are_refused_in_the_same_words(rival, bank, y, table):
    assert refusal(lambda: rival.fit(table, y)) == refusal(lambda: bank.fit(table, y))


EXTREME = pd.DataFrame(X, columns=["a", "b"])
EXTREME.loc[7, "b"] = 1.01e307


@rivals
def test_inputs_whose_differences_are_no_numbers(rival, bank, y):
    kind, words = refusal(lambda: rival.fit(EXTREME, y))
    assert kind is ValueError
    assert words.startswith("Column 'b' of X holds 1.01e+307 in row 7. ")
    assert refusal(lambda: bank.fit(EXTREME, y)) == (kind, words)


CHAINS = {"n_frequencies": 4, "n_warmup": 2, "n_draws": 2, "n_chains": 1, "random_state": 0}


@rivals
def test_tables_to_predict_are_refused_in_the_same_words(rival, bank, y):
    rival, bank = rival.fit(X, y), bank.set_params(**CHAINS).fit(X, y)
    for name, table in TABLES.items():
        if name != "a column of text":  # refused for its names: there were none in training
            assert refusal(lambda t=table: rival.predict(t)) == refusal(
                lambda t=table: bank.predict(t)
            )


TARGETS = {
    "dates": DAYS,
    "dates as an array": DAYS.to_numpy(),
    "words": LABELS,
    "masked values": np.ma.masked_array(Y, mask=Y > 0.5),
    "nothing": first(None, Y),
    "missing": first(pd.NA, Y),
    "infinity": first(np.inf, Y),
    "complex numbers": Y + 1j,
    "an integer that no float holds": first(10**400, Y),
    "a number too large": first(1e308, Y),
    "two columns": X,
}


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
@regressors
def test_targets_are_refused_in_the_same_words(rival, y):
    assert refusal(lambda: rival.fit(X, y)) == refusal(lambda: BankRegressor().fit(X, y))


@regressors
def test_numbers_written_as_text_are_numbers(rival):
    found = rival.fit(X, Y.astype(str)).predict(X)
    np.testing.assert_array_equal(found, rival.fit(X, Y).predict(X))


NO_LABELS = {
    "nothing": [None, *LABELS[1:]],
    "not a number": [np.nan, *LABELS[1:]],
    "missing": first(pd.NA, LABELS),
    "text and numbers": [1, *LABELS[1:]],
    "fractions": Y,
    "masked values": np.ma.masked_array(Y > 0, mask=Y > 0.5),
    "one class": ["yes"] * 30,
    "two columns": X > 0,
}


@pytest.mark.parametrize("y", NO_LABELS.values(), ids=NO_LABELS)
@classifiers
def test_labels_are_refused_in_the_same_words(rival, y):
    assert refusal(lambda: rival.fit(X, y)) == refusal(lambda: BankClassifier().fit(X, y))


#: Powers of two change no digit of a number, and squares of these are none.
SIZES = {"large": 2.0**1000, "small": 2.0**-900}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@regressors
def test_targets_of_any_size_are_fitted_alike(rival, size):
    expected = np.array(rival.fit(X, Y).predict(X, return_std=True))
    found = np.array(rival.fit(X, size * Y).predict(X, return_std=True))
    np.testing.assert_allclose(found / size, expected, rtol=1e-6)
    assert np.isfinite(rival.noise_)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@rivals
def test_inputs_of_any_size_are_fitted_alike(rival, bank, y, size):
    expected = rival.fit(X, y).predict(X)
    found = rival.fit(size * X, y).predict(size * X)
    if y is Y:
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    else:
        np.testing.assert_array_equal(found, expected)


HUGE = np.where(X > 0, 1.0, -1.0) * np.finfo(np.float64).max
OUTLIER = np.where(np.arange(30)[:, None] == 0, 1e307, 1e-300 * X)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("rows", [X, OUTLIER], ids=["ordinary", "an outlier"])
@rivals
def test_rows_to_predict_may_be_as_large_as_numbers_are(rival, bank, y, rows, scaling):
    model = clone(rival).set_params(scaling=scaling).fit(rows, y)
    if y is Y:
        assert np.isfinite(model.predict(HUGE, return_std=True)).all()
    else:
        assert np.isfinite(model.predict_proba(HUGE)).all()


@regressors
def test_targets_near_the_largest_number_have_finite_predictions(rival):
    y = 1e307 * Y / np.abs(Y).max()
    assert np.isfinite(rival.fit(X, y).predict(HUGE, return_std=True)).all()


@classifiers
@pytest.mark.parametrize("labels", [LABELS, np.digitize(Y, [-0.4, 0.4])], ids=["two", "three"])
def test_logarithms_of_probabilities(rival, labels):
    model = clone(rival).fit(X, labels)
    rows = np.vstack([X, 1e6 * X])
    log_p, p = model.predict_log_proba(rows), model.predict_proba(rows)
    np.testing.assert_allclose(np.exp(log_p), p, rtol=1e-12, atol=1e-300)
    model.beta_ = 1e6 * model.beta_  # as sure as can be
    assert model.predict_proba(rows).min() == 0.0
    assert np.isfinite(model.predict_log_proba(rows)).all()


@pytest.mark.parametrize(
    "kind", [type(rival) for rival in (*REGRESSORS.values(), *CLASSIFIERS.values())]
)
def test_every_option_is_documented(kind):
    listed = re.split("Parameters\n *-+\n|Attributes\n", kind.__doc__)[1]
    named = {name for line in listed.splitlines() for name in re.findall(r"\w+", line)}
    assert not set(inspect.signature(kind).parameters) - named
    assert re.search(r"^ *random_state : int, RandomState or None; seed of", listed, re.MULTILINE)
