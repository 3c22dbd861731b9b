"""What goes in: unusual data works, bad data gets a sentence."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from banklearn import BankRegressor, CheckpointError
from helpers import close

SMALL = {
    "n_frequencies": 8,
    "n_warmup": 6,
    "n_draws": 6,
    "n_chains": 1,
    "thin": 1,
    "random_state": 0,
}


def make_data(n=60, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(n)


X, Y = make_data()


def small(**changes):
    return BankRegressor(**(SMALL | changes))


def changed(A, value):
    A = A.copy()
    A[3] = value
    return A


BAD_DATA = {
    "nan in X": (changed(X, np.nan), Y, None, "NaN"),
    "infinity in X": (changed(X, np.inf), Y, None, "infinity"),
    "nan in y": (X, changed(Y, np.nan), None, "NaN"),
    "infinity in y": (X, changed(Y, -np.inf), None, "infinity"),
    "one-dimensional X": (X[:, 0], Y, None, "Expected 2D array"),
    "three-dimensional X": (X[None], Y, None, "dim"),
    "fewer targets": (X, Y[:-1], None, "inconsistent numbers of samples"),
    "two-dimensional y": (X, np.column_stack([Y, Y]), None, "y should be a 1d array"),
    "no rows": (X[:0], Y[:0], None, "0 sample"),
    "no columns": (X[:, :0], Y, None, "0 feature"),
    "text column": (
        pd.DataFrame({"a": X[:, 0], "city": ["Rome"] * len(X)}),
        Y,
        None,
        "Column 'city' of X holds text",
    ),
    "text array": (np.full((60, 2), "red", dtype=object), Y, None, "Column 0 of X holds text"),
    "text target": (X, np.full(60, "red", dtype=object), None, "y holds text"),
    "complex X": (X + 1j, Y, None, "Complex"),
    "negative weights": (X, Y, changed(np.ones(60), -1.0), "[Nn]egative"),
    "nan weights": (X, Y, changed(np.ones(60), np.nan), "NaN"),
    "weights of another length": (X, Y, np.ones(59), "sample_weight"),
    "weights that are all zero": (X, Y, np.zeros(60), "zero"),
}


@pytest.mark.parametrize(("A", "y", "weight", "words"), BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data_gets_a_sentence(A, y, weight, words):
    with pytest.raises(ValueError, match=words):
        small().fit(A, y, sample_weight=weight)


BAD_PARAMETERS = {
    "n_frequencies": (0, -3, 2.5, "8", None, True),
    "n_chains": (0, 1.0),
    "n_warmup": (-1, 0.5),
    "n_draws": (0, None),
    "thin": (0,),
    "max_time": (0, -1.0, np.inf, np.nan, "soon"),
    "trend": ("cubic", None),
    "input_scaling": ("log",),
    "spectral_scale": (0.0, -1.0, "wide", np.nan),
    "scale_shape": (0.0,),
    "kappa0": (0.0, "a"),
    "nu0": (-1.0, 0.5),
    "alpha_shape": (0.0,),
    "alpha_rate": (np.inf,),
    "a0": (0.0,),
    "b0": (-1e-6,),
    "jump_probability": (-0.1, 1.5, "half"),
    "switch_probability": (-0.1, 1.5),
    "interweave_every": (-1, 0.5),
    "proposal": ("one-by-one",),
    "verbose": (-1,),
    "gradient_every": (-1, 0.5),
    "gradient_length": (0, 1.5),
}


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n, values in BAD_PARAMETERS.items() for v in values]
)
def test_bad_parameters_get_a_sentence_that_names_them(name, value):
    with pytest.raises((ValueError, TypeError), match=f"{name} must"):
        small(**{name: value}).fit(X, Y)


@pytest.fixture(scope="module")
def fitted():
    return small().fit(X, Y)


BAD_QUESTIONS = {
    "coverage 2": (lambda m: m.predict_interval(X, coverage=2), "between 0 and 1"),
    "coverage 0": (lambda m: m.predict_interval(X, coverage=0), "between 0 and 1"),
    "quantile 1": (lambda m: m.predict_quantiles(X, [0.5, 1.0]), "between 0 and 1"),
    "quantile nan": (lambda m: m.predict_quantiles(X, np.nan), "between 0 and 1"),
    "other columns": (lambda m: m.predict(X[:, :1]), "1 features"),
    "nan rows": (lambda m: m.predict(changed(X, np.nan)), "NaN"),
    "targets of another length": (lambda m: m.log_predictive_density(X, Y[:5]), "60 rows"),
    "nan targets": (lambda m: m.log_predictive_density(X, changed(Y, np.nan)), "NaN"),
}


@pytest.mark.parametrize(("ask", "words"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
def test_bad_questions_get_a_sentence(ask, words, fitted):
    with pytest.raises(ValueError, match=words):
        ask(fitted)


@pytest.mark.parametrize("name", ["predict", "predict_interval", "sample_y"])
def test_questions_before_fit_get_a_sentence(name):
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(small(), name)(X)


def usable(model, A):
    mean, std = model.predict(A, return_std=True)
    lower, upper = model.predict_interval(A)
    assert mean.shape == std.shape == lower.shape == upper.shape == (len(A),)
    assert np.all(np.isfinite(mean))
    assert np.all(std > 0)
    assert np.all(lower < upper)
    assert np.all(np.isfinite(model.kernel_(np.asarray(A, dtype=float))))
    return mean


ODD_DATA = {
    "a constant column": (np.column_stack([X, np.full(60, 5.0)]), Y),
    "constant columns only": (np.full((60, 2), 5.0), Y),
    "one input": (X[:, :1], Y),
    "fewer rows than frequencies": (X[:5], Y[:5]),
    "two rows": (X[:2], Y[:2]),
    "duplicated rows": (np.repeat(X, 2, axis=0), np.repeat(Y, 2)),
    "duplicated inputs": (np.repeat(X[:5], 12, axis=0), Y),
    "an integer target": (X, (10 * Y).astype(int)),
    "float32": (X.astype(np.float32), Y.astype(np.float32)),
    "huge values": (1e200 * X, 1e250 * Y),
    "tiny values": (1e-200 * X, 1e-250 * Y),
    "an outlier": (changed(X, 1e12), Y),
    "columns in order of memory": (np.asfortranarray(X), Y),
    "more inputs than rows": (make_data(10, 30)[0], Y[:10]),
    "lists": (X.tolist(), Y.tolist()),
    "a column for a target": (X, pd.Series(Y, index=range(100, 160))),
    "binary inputs": ((X > 0).astype(float), Y),
}


@pytest.mark.parametrize(("A", "y"), ODD_DATA.values(), ids=ODD_DATA)
@pytest.mark.parametrize("trend", ["auto", "linear", "none"])
def test_unusual_data_works(A, y, trend):
    usable(small(trend=trend).fit(A, y), A)


@pytest.mark.parametrize("input_scaling", ["auto", "none", "standard", "arcsinh", "quantile"])
@pytest.mark.parametrize("proposal", ["in-turn", "at-once"])
def test_every_option_works(input_scaling, proposal):
    model = small(
        input_scaling=input_scaling,
        proposal=proposal,
        scale_shape=None,
        spectral_scale=0.7,
        growing_warmup=False,
        n_warmup=0,
    )
    usable(model.fit(X, Y), X)
    assert model.starting_point_.scale == pytest.approx(0.7)
    # The paper's base measure: the scale is given and stays.
    assert model.prior_.psi_shape is None


def test_inputs_too_large_to_leave_unscaled_say_so():
    with pytest.raises(ValueError, match="extreme size"):
        small(input_scaling="none", trend="linear").fit(1e300 * X, Y)


def test_one_row_is_refused():
    with pytest.raises(ValueError, match="at least two rows, but n_samples = 1"):
        small().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="at least two rows"):
        small().fit(X, Y, sample_weight=np.arange(60) == 3)


@pytest.mark.parametrize("value", [0.0, 7.25, -1e300, 1e-300])
def test_a_constant_target_works_and_says_what_it_means(value):
    with pytest.warns(UserWarning, match="y does not vary"):
        model = small().fit(X, np.full(60, value))
    usable(model, X)


def test_a_constant_target_is_predicted():
    with pytest.warns(UserWarning, match="y does not vary"):
        model = small().fit(X, np.full(60, 7.25))
    mean, std = model.predict(X, return_std=True)
    close(mean, 7.25, 0, 0.01)
    assert np.all(std < 0.1)


def test_rows_far_from_the_data_get_finite_predictions(fitted):
    far = np.array([[1e6, 0.0], [0.0, -1e20], [1e100, 1e100]])
    usable(fitted, far)


@pytest.mark.parametrize("trend", ["constant", "none"])
def test_far_from_the_data_nothing_explodes_without_a_linear_trend(trend):
    model = small(trend=trend).fit(X, Y)
    mean = usable(model, np.array([[1e20, 0.0], [1e100, -1e100]]))
    assert np.all(np.abs(mean) < 1e3 * np.abs(Y).max())


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_keep_their_names(frame):
    table = frame({"length": X[:, 0], "width": X[:, 1]})
    model = small().fit(table, Y)
    assert model.feature_names_in_.tolist() == ["length", "width"]
    assert model.n_features_in_ == 2
    close(model.predict(table), small().fit(X, Y).predict(X), 1e-12)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame({"width": X[:, 1], "length": X[:, 0]}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


def test_a_frame_with_text_names_the_column():
    table = pl.DataFrame({"a": X[:, 0], "city": ["Rome"] * 60})
    with pytest.raises(ValueError, match="city"):
        small().fit(table, Y)


def test_weights_are_repetitions():
    counts = np.random.default_rng(0).integers(1, 4, 60)
    weighted = small().fit(X, Y, sample_weight=counts)
    repeated = small().fit(X.repeat(counts, axis=0), Y.repeat(counts))
    close(weighted.predict(X), repeated.predict(X), 1e-9)
    plain = small().fit(X, Y)
    assert np.abs(weighted.predict(X) - plain.predict(X)).max() > 1e-6


def test_rows_of_weight_zero_are_not_there():
    keep = np.random.default_rng(1).random(60) < 0.7
    weighted = small().fit(X, Y, sample_weight=keep.astype(float))
    left_out = small().fit(X[keep], Y[keep], sample_weight=np.ones(keep.sum()))
    close(weighted.predict(X), left_out.predict(X), 1e-9)


def test_a_number_as_a_weight_counts_for_every_row():
    close(
        small().fit(X, Y, sample_weight=2.0).predict(X),
        small().fit(X, Y, sample_weight=np.full(60, 2.0)).predict(X),
        1e-12,
    )


@pytest.mark.parametrize("n_draws", [1, 20])
@pytest.mark.parametrize("n_chains", [1, 3])
def test_too_little_time_is_said(n_draws, n_chains):
    model = small(max_time=1e-6, n_draws=n_draws, n_chains=n_chains)
    with pytest.warns(ConvergenceWarning, match=r"max_time = 1e-06 s ended the fit early: 0 of 6"):
        model.fit(X, Y)
    usable(model, X)
    assert len(model.draws_) == n_chains


def test_enough_time_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = small(max_time=60.0, n_chains=2).fit(X, Y)
    assert len(model.draws_) == 12


def test_weights_that_add_up_to_one_are_no_counts():
    X = np.linspace(0.0, 3.0, 50)[:, None]
    model = BankRegressor(4, n_warmup=2, n_draws=2, n_chains=1, random_state=0)
    with pytest.warns(UserWarning, match="adds up to 1: .* Divide the weights by their mean"):
        model.fit(X, X[:, 0], sample_weight=np.full(50, 1 / 50))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model.fit(X, X[:, 0], sample_weight=np.full(50, 0.1))


def test_a_checkpoint_that_is_a_file_is_refused_at_once(tmp_path):
    path = tmp_path / "afile"
    path.write_text("mine")
    X = np.linspace(0.0, 3.0, 50)[:, None]
    with pytest.raises(CheckpointError, match=r"must be a folder, but .*afile is a file"):
        BankRegressor(4, checkpoint=path).fit(X, X[:, 0])


def test_a_client_that_is_none():
    X = np.linspace(0.0, 3.0, 50)[:, None]
    with pytest.raises(TypeError, match=r"client must be a dask\.distributed\.Client, but is 3"):
        BankRegressor(4).fit(X, X[:, 0], client=3)
