"""What a review found to be accepted silently, or refused in somebody else's words."""

import numpy as np
import pandas as pd
import pytest

from banklearn import BankClassifier, BankRegressor

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 2))
Y = X[:, 0] + 0.1 * RNG.standard_normal(30)
SMALL = {"n_frequencies": 4, "n_warmup": 2, "n_draws": 2, "n_chains": 1, "random_state": 0}


def small(**options):
    return BankRegressor(**{**SMALL, **options})


TARGETS = {
    "missing": ([None, *Y[1:]], "missing values .the first in row 0"),
    "text": (np.array(["a"] * 30), "y holds text"),
    "dates": (np.arange("2020-01-01", "2020-01-31", dtype="datetime64[D]"), "dates or times"),
}


@pytest.mark.parametrize(("y", "words"), TARGETS.values(), ids=TARGETS)
def test_targets_that_are_not_numbers(y, words):
    with pytest.raises(ValueError, match=words):
        small().fit(X, y)


def test_a_column_of_dates():
    table = pd.DataFrame({"a": X[:, 0], "when": pd.date_range("2020-01-01", periods=30)})
    with pytest.raises(ValueError, match="Column 'when' of X holds dates"):
        small().fit(table, Y)


def test_rows_of_different_length():
    with pytest.raises(ValueError, match="rows of the same number of numbers"):
        small().fit([[1.0, 2.0], [3.0]], [1.0, 2.0])


def test_a_path_is_no_table():
    with pytest.raises(ValueError, match=r"is the text 'data\.csv'.*fit\(path, target='y'\)"):
        small().fit("data.csv", Y)


def test_columns_of_the_same_name():
    table = pd.DataFrame(np.column_stack([X, X]), columns=["a", "b", "a", "b"])
    with pytest.raises(ValueError, match="several columns of the same name: 'a', 'b'"):
        small().fit(table, Y)


def test_a_word_for_a_scale():
    with pytest.raises(ValueError, match="must be a number above zero or 'auto', but is 'wide'"):
        small(spectral_scale="wide").fit(X, Y)


@pytest.mark.parametrize(
    ("weight", "words"), [(["a"] * 30, "sample_weight holds text"), ([1e300] * 30, "mean nothing")]
)
def test_weights_that_mean_nothing(weight, words):
    with pytest.raises(ValueError, match=words):
        small().fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("make", [BankRegressor, BankClassifier])
def test_masked_values_are_missing(make):
    hidden = np.ma.masked_array(X, mask=np.zeros(X.shape, dtype=bool))
    make(**SMALL).fit(hidden, Y > 0)
    hidden[3, 1] = np.ma.masked
    with pytest.raises(ValueError, match="X is a masked array with 1 masked"):
        make(**SMALL).fit(hidden, Y > 0)
    with pytest.raises(ValueError, match="y is a masked array"):
        make(**SMALL).fit(X, np.ma.masked_array(Y > 0, mask=X[:, 0] > 0))


@pytest.mark.parametrize(
    "option",
    [
        {"proposal": "at-once"},
        {"gradient_every": 3},
        {"gradient_length": 7},
        {"switch_probability": 0.1},
        {"interweave_every": 0},
    ],
)
def test_what_the_joint_move_would_ignore_is_refused(option):
    with pytest.raises(ValueError, match="has no meaning with inference='laplace-mh'"):
        BankClassifier(**SMALL, inference="laplace-mh", **option).fit(X, Y > 0)


def test_the_joint_move_on_a_device_is_refused():
    with pytest.raises(ValueError, match="computes on the CPU, but device is 'cuda'"):
        BankClassifier(**SMALL, inference="laplace-mh", device="cuda").fit(X, Y > 0)


def test_a_failed_fit_leaves_nothing_half_old():
    model = small().fit(X, Y)
    model.set_params(nu0=0.5)
    with pytest.raises(ValueError, match="nu0 must exceed 1"):
        model.fit(X, 1000 * Y + 7)
    with pytest.raises(Exception, match="not fitted"):
        model.predict(X)


def test_one_class_leaves_an_unfitted_classifier():
    model = BankClassifier(**SMALL)
    with pytest.raises(ValueError, match="holds only one class: 'a'"):
        model.fit(X, ["a"] * 30)
    with pytest.raises(Exception, match="not fitted"):
        model.predict(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_kernel_refuses_what_is_not_a_number(bad):
    kernel = small(input_scaling="standard").fit(X, Y).kernel_
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        kernel([[bad, 0.0]], X)
    with pytest.raises(ValueError, match="lags contains NaN or infinity"):
        kernel.at_lags([bad, 1.0])
    with pytest.raises(ValueError, match="one or two dimensions, but has 0"):
        kernel(1.0)


def test_small_questions_get_sentences():
    model = small().fit(X, Y)
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1, but is 'a'"):
        model.predict_interval(X, "a")
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        model.sample_y(X, 0)
    with pytest.raises(TypeError, match="growing_warmup must be True or False"):
        small(growing_warmup="x").fit(X, Y)
