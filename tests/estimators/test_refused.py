"""What a review found to be accepted silently, or refused in somebody else's words."""

import datetime
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from adversarial import attempt
from banklearn import (
    BankClassifier,
    BankFeatures,
    BankRegressor,
    RareClassClassifier,
    baselines,
)
from banklearn.bridges import point_model
from banklearn.estimators.data import target_values
from banklearn.estimators.polish import polish

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 2))
Y = X[:, 0] + 0.1 * RNG.standard_normal(30)
SMALL = {"n_frequencies": 4, "n_warmup": 2, "n_draws": 2, "n_chains": 1, "random_state": 0}

RIVALS = [name for name in baselines.__all__ if name.endswith(("Regressor", "Classifier"))]


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


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (Y + 1j, "y holds complex numbers"),
        ([[1.0], [1.0, 2.0]], "one number for each row, but holds lists"),
        ([10**400], "y holds an integer or a fraction beyond"),
    ],
)
def test_targets_to_judge_by_that_are_not_numbers(y, words):
    with pytest.raises(ValueError, match=words):
        target_values(y)


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


LARGEST = float(np.finfo(np.float64).max)
HUGE = np.where(X > 0, LARGEST, -LARGEST)


@pytest.mark.parametrize("scaling", ["standard", "arcsinh", "quantile", "none", "auto"])
@pytest.mark.parametrize("make", [BankRegressor, BankClassifier])
def test_inputs_whose_differences_are_no_numbers(make, scaling):
    words = r"Column 0 of X holds -?1\.8e\+308 in row 0\. Numbers beyond 1e\+307 .*larger unit"
    with pytest.raises(ValueError, match=words):
        make(**SMALL, input_scaling=scaling).fit(HUGE, Y > 0)
    one = pd.DataFrame(X.copy(), columns=["a", "b"])
    one.loc[7, "b"] = 1.01e307
    with pytest.raises(ValueError, match=r"Column 'b' of X holds 1\.01e.307 in row 7"):
        make(**SMALL, input_scaling=scaling).fit(one, Y > 0)


def test_targets_whose_differences_are_no_numbers():
    with pytest.raises(ValueError, match=r"y holds -?1\.8e\+308 in row 0.*larger unit"):
        small().fit(X, HUGE[:, 0])


@pytest.mark.parametrize("scaling", ["standard", "arcsinh", "quantile", "auto"])
def test_numbers_up_to_the_limit_are_used(scaling):
    X_large = 1e307 * X / np.abs(X).max()
    y_large = 1e307 * Y / np.abs(Y).max()
    model = small(input_scaling=scaling).fit(X_large, y_large)
    assert np.isfinite(model.predict_interval(X_large)).all()
    assert np.isfinite(model.predict(HUGE, return_std=True)).all()
    assert np.isfinite(model.log_predictive_density(X_large, HUGE[:, 0])).all()
    same = small(input_scaling=scaling).fit(X / np.abs(X).max(), Y / np.abs(Y).max())
    np.testing.assert_allclose(
        model.predict(X_large) / 1e307, same.predict(X / np.abs(X).max()), rtol=1e-6
    )


def test_rows_to_predict_may_be_as_large_as_numbers_are():
    model, labels = small().fit(X, Y), BankClassifier(**SMALL).fit(X, Y > 0)
    assert np.isfinite(model.predict(HUGE, return_std=True)).all()
    assert np.isfinite(model.predict_interval(HUGE)).all()
    assert np.isfinite(labels.predict_proba(HUGE)).all()
    np.testing.assert_array_equal(model.predict(HUGE), model.predict(1e300 * np.sign(HUGE)))
    assert np.isfinite(model.log_predictive_density(X, HUGE[:, 0])).all()


def test_weights_as_large_as_numbers_are():
    for make in (BankRegressor, BankClassifier):
        with pytest.raises(ValueError, match="such weights mean nothing"):
            make(**SMALL).fit(X, Y > 0, sample_weight=np.abs(HUGE[:, 0]))
        with pytest.raises(ValueError, match="Negative values"):
            make(**SMALL).fit(X, Y > 0, sample_weight=HUGE[:, 0])
    extreme = BankClassifier(**SMALL, class_weight={False: LARGEST, True: 1.0})
    with pytest.raises(ValueError, match="class_weight times sample_weight adds up to inf"):
        extreme.fit(X, Y > 0, sample_weight=np.full(30, 2.0))
    with pytest.raises(ValueError, match="class_weight times the weight of all rows adds up"):
        extreme.fit([(X, Y > 0, np.full(30, 2.0))])


def test_labels_as_large_as_numbers_are():
    with pytest.raises(ValueError, match="Unknown label type"):
        BankClassifier(**SMALL).fit(X, HUGE[:, 0])


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


DAYS = np.arange("2020-01-01", "2020-01-31", dtype="datetime64[D]")
DATES = {
    "dates": DAYS,
    "times": DAYS - DAYS[0],
    "dates as objects": np.array(list(DAYS), dtype=object),
}


@pytest.mark.parametrize("when", DATES.values(), ids=DATES)
def test_dates_are_not_taken_for_numbers(when):
    column = when[:, None]
    model = small().fit(X[:, :1], Y)
    with pytest.raises(ValueError, match="X holds dates or times"):
        small().fit(column, Y)
    with pytest.raises(ValueError, match="X holds dates or times"):
        small().fit(list(column), Y)
    with pytest.raises(ValueError, match="X holds dates or times"):
        model.predict(column)
    series = pd.Series(when, dtype=object if when.dtype == object else None)
    with pytest.raises(ValueError, match="'when' of X holds dates or times"):
        small().fit(pd.DataFrame({"when": series, "a": X[:, 0]}), Y)
    with pytest.raises(ValueError, match="y holds dates or times"):
        small().fit(X, when)
    with pytest.raises(ValueError, match="sample_weight holds dates or times"):
        small().fit(X, Y, sample_weight=when)
    with pytest.raises(ValueError, match="X of block 0 holds dates or times"):
        small().fit([(when[:, None], Y)])
    with pytest.raises(ValueError, match="The weight of block 0 holds dates or times"):
        small().fit([(X, Y, when)])


def with_first(value, values):
    changed = values.astype(object)
    changed[0] = value
    return changed


@pytest.mark.parametrize(
    "value",
    [10**400, -(10**400), 10**5000, Fraction(10**400, 3)],
    ids=["large", "negative", "too long to be printed", "a fraction"],
)
def test_integers_that_no_float_holds(value):
    column = with_first(value, X[:, 0])
    frame = pd.DataFrame({"a": column}, dtype=object)
    for table in (column[:, None], column[:, None].tolist(), frame):
        with pytest.raises(ValueError, match=r"X holds an integer or a fraction beyond 1e\+307"):
            small().fit(table, Y)
    with pytest.raises(ValueError, match="y holds an integer or a fraction beyond"):
        small().fit(X, with_first(value, Y))
    with pytest.raises(ValueError, match="sample_weight holds an integer or a fraction beyond"):
        small().fit(X, Y, sample_weight=column)
    with pytest.raises(ValueError, match=r"X of block 0 holds an integer beyond 1e\+307"):
        small().fit([(column[:, None], Y)])


@pytest.mark.parametrize("make", [BankRegressor, BankClassifier])
def test_masked_weights_are_missing(make):
    hidden = np.ma.masked_array(np.ones(30), mask=np.zeros(30, dtype=bool))
    make(**SMALL).fit(X, Y > 0, sample_weight=hidden)
    hidden[:4] = np.ma.masked
    with pytest.raises(ValueError, match="sample_weight is a masked array with 4 masked"):
        make(**SMALL).fit(X, Y > 0, sample_weight=hidden)
    with pytest.raises(ValueError, match="The weight of block 0 is a masked array"):
        make(**SMALL).fit([(X, Y > 0, hidden)])
    with pytest.raises(ValueError, match="y of block 0 is a masked array"):
        make(**SMALL).fit([(X, np.ma.masked_array(Y > 0, mask=X[:, 0] > 0))])


#: Values of a column that once were refused in the words of NumPy or pandas, or not at all.
ONCE_UNWORDED = {
    "lists": [1.0, 2.0],
    "missing": pd.NA,
    "no time": pd.NaT,
    "nothing": None,
    "complex": 1j,
    "text": "Rome",
}


@pytest.mark.parametrize("value", ONCE_UNWORDED.values(), ids=ONCE_UNWORDED)
def test_errors_are_our_own(value):
    column = X[:, 0].astype(object)
    column[0] = value
    for fit in (
        lambda: small().fit(column[:, None], Y),
        lambda: small().fit(X, column),
        lambda: small().fit(X, Y, sample_weight=column),
        lambda: small().fit([(column[:, None], Y)]),
        lambda: small().fit([(X, column)]),
        lambda: small().fit([(X, Y, column)]),
    ):
        assert attempt(fit) is None


SCALES = ("a0", "b0", "kappa0", "nu0", "max_time", "scale_shape", "spectral_scale")
#: Options and questions that once were refused in the words of NumPy or Python.
ONCE_UNWORDED_OPTIONS = {
    **{
        f"{name} too large": lambda name=name: small(**{name: 10**400}).fit(X, Y) for name in SCALES
    },
    "a share too large": lambda: small(jump_probability=10**400).fit(X, Y),
    "a pause too large": lambda: small(checkpoint_every=10**400).fit(X, Y),
    "an array for a word": lambda: small(trend=np.ones(2)).fit(X, Y),
    "text as a class weight": lambda: labels(class_weight={0: "a", 1: 1.0}),
    "a class weight too large": lambda: labels(class_weight={0: 10**400, 1: 1.0}),
    "an array as a class weight": lambda: labels(class_weight={0: np.ones(2), 1: 1.0}),
    "a word for class weights": lambda: labels(class_weight="even"),
    "text as a quantile": lambda: small().fit(X, Y).predict_quantiles(X, "a"),
    "a quantile too large": lambda: small().fit(X, Y).predict_quantiles(X, 10**400),
    "a coverage too large": lambda: small().fit(X, Y).predict_interval(X, 10**400),
    "text among labels": lambda: labels().log_predictive_density(X, with_first("a", Y > 0)),
    "text for numbers": lambda: small().fit(X, Y).log_predictive_density(X, ["a"] * 30),
}


def labels(**options):
    return BankClassifier(**SMALL, **options).fit(X, (Y > 0).astype(int))


@pytest.mark.parametrize("ask", ONCE_UNWORDED_OPTIONS.values(), ids=ONCE_UNWORDED_OPTIONS)
def test_options_are_refused_in_our_own_words(ask):
    assert attempt(ask) is None


TIMES = {
    "pandas": pd.DataFrame({"a": X[:, 0], "b": pd.to_timedelta(np.arange(30), "h")}),
    "periods": pd.DataFrame({"a": X[:, 0], "b": pd.period_range("2020", periods=30, freq="D")}),
    "objects": pd.DataFrame({"a": X[:, 0], "b": 30 * [datetime.date(2020, 1, 1)]}),
    "polars": pl.DataFrame({"a": X[:, 0], "b": 30 * [datetime.timedelta(hours=1)]}),
    "polars dates": pl.DataFrame({"a": X[:, 0], "b": 30 * [datetime.date(2020, 1, 1)]}),
    "arrow": pa.table({"a": X[:, 0], "b": 30 * [datetime.timedelta(hours=1)]}),
    "arrow dates": pa.table({"a": X[:, 0], "b": 30 * [datetime.datetime(2020, 1, 1)]}),
}


@pytest.mark.parametrize("table", TIMES.values(), ids=TIMES)
def test_times_of_every_kind_of_table(table):
    with pytest.raises(ValueError, match="Column 'b' of X holds dates or times"):
        small().fit(table, Y)


@pytest.mark.parametrize(
    "value", [datetime.date(2020, 1, 1), pd.Timestamp("2020"), pd.Period("2020")]
)
def test_dates_as_objects_to_predict(value):
    with pytest.raises(ValueError, match="y holds dates or times"):
        small().fit(X, 30 * [value])


def test_arrow_tables_are_tables():
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    model = small().fit(table, Y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.predict(table), small().fit(X, Y).predict(X))
    with pytest.raises(ValueError, match="Column 'b' of X holds text"):
        small().fit(table.set_column(1, "b", [30 * ["u"]]), Y)
    with pytest.raises(ValueError, match="several columns of the same name: 'a'"):
        small().fit(table.rename_columns(["a", "a"]), Y)


def test_rows_that_are_not_there_yet():
    with pytest.raises(TypeError, match=r"Pass X\.collect\(\)"):
        small().fit(pl.DataFrame({"a": X[:, 0]}).lazy(), Y)


def test_a_checkpoint_without_a_name():
    with pytest.raises(TypeError, match="checkpoint must be a folder or None, not ''"):
        small(checkpoint="").fit(X, Y)


def test_kernels_and_point_models_know_their_columns():
    table = pd.DataFrame(X, columns=["a", "b"])
    model = small().fit(table, Y)
    for function in (model.kernel_, point_model(model), polish(model, table, Y).kernel_):
        np.testing.assert_array_equal(function(table), function(X))
        words = "X has the columns b, a, but the model was trained on a, b"
        with pytest.raises(ValueError, match=words):
            function(table[["b", "a"]])
    assert small().fit(X, Y).kernel_(table).shape == (30, 30)


SEEDED = {
    **{kind.__name__: kind for kind in (BankRegressor, BankClassifier, BankFeatures)},
    **{kind.__name__: kind for kind in (RareClassClassifier, *map(vars(baselines).get, RIVALS))},
}


def seeded(name, value):
    """A fit with that random_state, to numbers where the estimator has no classes."""
    estimator = SEEDED[name](random_state=value)
    return estimator.fit(X, Y > 0 if hasattr(estimator, "predict_proba") else Y)


@pytest.mark.parametrize("name", SEEDED)
def test_a_generator_or_a_truth_value_is_no_random_state(name):
    with pytest.raises(ValueError, match=r"is a Generator.*random_state=int\(rng\.integers"):
        seeded(name, np.random.default_rng(0))
    for value in (True, np.True_, [1]):
        with pytest.raises(ValueError, match=r"whole number from 0 .* a RandomState or None, but"):
            seeded(name, value)


def test_samples_are_seeded_as_fits_are():
    model = small().fit(X, Y)
    with pytest.raises(ValueError, match=r"random_state must be .* but is a Generator"):
        model.sample_y(X, random_state=np.random.default_rng(0))
    with pytest.raises(ValueError, match="but is True"):
        model.sample_y(X, random_state=True)
    for value in (None, np.random, 3, np.int64(3)):
        assert model.sample_y(X, random_state=value).shape == (30, 1)
    one, other = (model.sample_y(X, random_state=np.random.RandomState(3)) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one, model.sample_y(X, random_state=3))
