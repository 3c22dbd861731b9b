"""What goes into a classifier: unusual data works, bad data gets a sentence."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from banklearn import BankClassifier

SMALL = {
    "n_frequencies": 8,
    "n_warmup": 6,
    "n_draws": 6,
    "n_chains": 1,
    "thin": 1,
    "random_state": 0,
}
BOTH = pytest.mark.parametrize("inference", ["polya-gamma", "laplace-mh"])


def make_data(n=60, d=2, C=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    edges = np.linspace(-0.6, 0.6, C - 1) if C > 2 else [0.0]
    return X, np.digitize(X[:, 0] + 0.4 * rng.standard_normal(n), edges)


X, Y = make_data()
Y3 = make_data(C=3)[1]


def small(**changes):
    return BankClassifier(**(SMALL | changes))


def changed(A, value):
    A = np.array(A, dtype=float)
    A[3] = value
    return A


BAD_DATA = {
    "nan in X": (changed(X, np.nan), Y, None, "NaN"),
    "infinity in X": (changed(X, np.inf), Y, None, "infinity"),
    "nan in y": (X, changed(Y, np.nan), None, "NaN"),
    "one-dimensional X": (X[:, 0], Y, None, "Expected 2D array"),
    "fewer labels": (X, Y[:-1], None, "inconsistent numbers of samples"),
    "two-dimensional y": (X, np.column_stack([Y, Y]), None, "y should be a 1d array"),
    "no rows": (X[:0], Y[:0], None, "0 sample"),
    "continuous y": (X, X[:, 1], None, "continuous"),
    "one class": (X, np.zeros(60, dtype=int), None, "at least two classes.*only one class: "),
    "one class of text": (X, np.full(60, "cat"), None, "only one class: .*cat"),
    "one class left by weights": (X, Y, (Y == 0).astype(float), "only one class"),
    "text column": (
        pd.DataFrame({"a": X[:, 0], "city": ["Rome"] * 60}),
        Y,
        None,
        "Column 'city' of X holds text",
    ),
    "negative weights": (X, Y, changed(np.ones(60), -1.0), "[Nn]egative"),
    "weights that are all zero": (X, Y, np.zeros(60), "zero"),
}


@pytest.mark.parametrize(("A", "y", "weight", "words"), BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data_gets_a_sentence(A, y, weight, words):
    with pytest.raises(ValueError, match=words):
        small().fit(A, y, sample_weight=weight)


BAD_PARAMETERS = {
    "inference": ("variational", None),
    "n_frequencies": (0, "8"),
    "trend": ("cubic",),
    "class_weight": ({0: -1.0, 1: 1.0}, {0: np.nan, 1: 1.0}, {0: np.inf, 1: 1.0}, "heavy"),
}


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n, values in BAD_PARAMETERS.items() for v in values]
)
def test_bad_parameters_get_a_sentence_that_names_them(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        small(**{name: value}).fit(X, Y)


LABELS = np.where(Y > 0, "up", "down").astype(object)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=["None", "nan", "NA"])
def test_a_missing_label_is_refused_by_its_row(missing):
    labels = LABELS.copy()
    labels[7] = missing
    for y in (labels, list(labels), pd.Series(labels)):
        with pytest.raises(ValueError, match="no label in row 7"):
            small().fit(X, y)


def test_text_among_numbers_is_refused_by_its_row():
    labels = LABELS.copy()
    labels[5] = 3
    with pytest.raises(ValueError, match=r"mixes text and other labels.* in row 5"):
        small().fit(X, labels)


def test_a_class_may_be_called_nan():
    model = small().fit(X, np.where(Y > 0, "nan", "None").astype(object))
    assert list(model.classes_) == ["None", "nan"]


def test_balance_leaves_a_class_without_weight_out():
    weight = np.where(Y3 == 1, 0.0, 1.0)
    model = small(class_weight="balanced").fit(X, Y3, sample_weight=weight)
    assert list(model.classes_) == [0, 2]


def test_class_weights_that_leave_nothing_are_said():
    with pytest.raises(ValueError, match="leave no row"):
        small(class_weight={0: 0.0, 1: 0.0}).fit(X, Y)
    with pytest.raises(ValueError, match="only one class"):
        small(class_weight={0: 0.0, 1: 1.0}).fit(X, Y)


@pytest.fixture(scope="module")
def fitted():
    return small().fit(X, Y)


BAD_QUESTIONS = {
    "coverage 1": (lambda m: m.predict_proba_interval(X, coverage=1), "between 0 and 1"),
    "other columns": (lambda m: m.predict(X[:, :1]), "1 features"),
    "nan rows": (lambda m: m.predict_proba(changed(X, np.nan)), "NaN"),
    "labels of another length": (lambda m: m.log_predictive_density(X, Y[:5]), "60 rows"),
}


@pytest.mark.parametrize(("ask", "words"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
def test_bad_questions_get_a_sentence(ask, words, fitted):
    with pytest.raises(ValueError, match=words):
        ask(fitted)


@pytest.mark.parametrize(
    "name", ["predict", "predict_proba", "decision_function", "predict_latent"]
)
def test_questions_before_fit_get_a_sentence(name):
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(small(), name)(X)


def usable(model, A):
    C = len(model.classes_)
    p = model.predict_proba(A)
    lower, upper = model.predict_proba_interval(A)
    assert p.shape == lower.shape == upper.shape == (len(A), C)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all((lower >= 0) & (lower <= upper) & (upper <= 1))
    assert set(model.predict(A)) <= set(model.classes_)
    mean, std = model.predict_latent(A)
    assert np.all(np.isfinite(mean))
    assert np.all(std >= 0)
    assert np.all(np.isfinite(model.decision_function(A)))
    return p


ODD_DATA = {
    "two rows": (X[[0, 1]], [0, 1]),
    "a constant column": (np.column_stack([X, np.full(60, 5.0)]), Y),
    "constant columns only": (np.full((60, 2), 5.0), Y),
    "one input": (X[:, :1], Y3),
    "duplicated rows": (np.repeat(X, 2, axis=0), np.repeat(Y3, 2)),
    "duplicated inputs": (np.repeat(X[:5], 12, axis=0), Y3),
    "separable": (X, (X[:, 0] > 0).astype(int)),
    "far apart": (X + 1000.0 * Y3[:, None], Y3),
    "huge values": (1e200 * X, Y),
    "an outlier": (changed(X, 1e12), Y),
    "float32": (X.astype(np.float32), Y3),
    "boolean labels": (X, Y.astype(bool)),
    "float labels": (X, Y.astype(float) - 0.0),
    "negative labels": (X, 2 * Y - 1),
    "text labels": (X, np.array(["no", "yes", "perhaps"])[Y3]),
    "labels as objects": (X, np.array(["no", "yes", "perhaps"], dtype=object)[Y3]),
    "labels of a frame": (X, pd.Series(np.array(["b", "a"])[Y], index=range(100, 160))),
    "categories": (X, pd.Series(np.array(["b", "a"])[Y], dtype="category")),
    "a class of one row": (X, np.where(np.arange(60) == 7, 2, Y)),
    "as many classes as rows": (X[:12], np.arange(12)),
    "more inputs than rows": (make_data(10, 30)[0], [0, 1] * 5),
    "lists": (X.tolist(), Y.tolist()),
}


@BOTH
@pytest.mark.parametrize(("A", "y"), ODD_DATA.values(), ids=ODD_DATA)
@pytest.mark.filterwarnings("ignore:The number of unique classes is greater than 50")
def test_unusual_data_works(A, y, inference):
    model = small(inference=inference).fit(A, y)
    usable(model, A)
    assert list(model.classes_) == sorted(set(np.asarray(y).tolist()))


@BOTH
def test_rare_classes_keep_small_probabilities(inference):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((500, 2))
    y = np.zeros(500, dtype=int)
    y[rng.choice(500, 5, replace=False)] = 1
    p = usable(small(inference=inference, n_draws=20).fit(A, y), A)[:, 1]
    # The mean probability is the share of the class, not one half.
    assert 0.003 < p.mean() < 0.04


@BOTH
def test_separable_data_is_separated_and_stays_finite(inference):
    A, _ = make_data(200)
    y = (A[:, 0] > 0).astype(int)
    model = small(inference=inference, n_warmup=30, n_draws=20).fit(A, y)
    p = usable(model, A)
    assert model.score(A, y) > 0.97
    assert np.all(np.isfinite(model.log_predictive_density(A, y)))
    assert p[:, 1][A[:, 0] > 1].min() > 0.9


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_keep_their_names(frame):
    table = frame({"length": X[:, 0], "width": X[:, 1]})
    model = small().fit(table, Y)
    assert model.feature_names_in_.tolist() == ["length", "width"]
    np.testing.assert_array_equal(model.predict_proba(table), small().fit(X, Y).predict_proba(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame({"width": X[:, 1], "length": X[:, 0]}))


@BOTH
@pytest.mark.parametrize("y", [Y, Y3], ids=["2 classes", "3 classes"])
def test_weights_are_repetitions_bit_for_bit(y, inference):
    counts = np.random.default_rng(0).integers(1, 4, 60)
    weighted = small(inference=inference).fit(X, y, sample_weight=counts)
    repeated = small(inference=inference).fit(X.repeat(counts, axis=0), y.repeat(counts))
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    plain = small(inference=inference).fit(X, y)
    assert np.abs(weighted.predict_proba(X) - plain.predict_proba(X)).max() > 1e-6


def test_rows_of_weight_zero_are_not_there():
    keep = np.random.default_rng(1).random(60) < 0.7
    weighted = small().fit(X, Y3, sample_weight=keep.astype(float))
    left_out = small().fit(X[keep], Y3[keep], sample_weight=np.ones(keep.sum()))
    np.testing.assert_array_equal(weighted.predict_proba(X), left_out.predict_proba(X))


def test_class_weights_multiply_sample_weights():
    weight = np.random.default_rng(2).integers(1, 4, 60).astype(float)
    by_class = small(class_weight={0: 3.0, 1: 0.5}).fit(X, Y, sample_weight=weight)
    by_row = small().fit(X, Y, sample_weight=weight * np.where(Y == 0, 3.0, 0.5))
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))


def test_class_weights_of_text_labels():
    words = np.array(["no", "yes"])[Y]
    named = small(class_weight={"no": 2.0}).fit(X, words)
    by_row = small().fit(X, words, sample_weight=np.where(Y == 0, 2.0, 1.0))
    np.testing.assert_array_equal(named.predict_proba(X), by_row.predict_proba(X))


@pytest.mark.parametrize("how", ["memory", "blocks"])
def test_class_weights_of_labels_that_no_row_has(how):
    words = np.array(["no", "yes"])[Y]
    rows = (X, words) if how == "memory" else ([(X, words)],)
    with pytest.raises(ValueError, match=r"'yess', a label that no row has, and none for .* 'yes'"):
        small(class_weight={"no": 2.0, "yess": 3.0}).fit(*rows)
    # As in scikit-learn: a part of the rows may lack a class.
    more = small(class_weight={"no": 2.0, "yes": 3.0, "perhaps": 9.0}).fit(*rows)
    same = small(class_weight={"no": 2.0, "yes": 3.0}).fit(*rows)
    np.testing.assert_array_equal(more.predict_proba(X), same.predict_proba(X))


def test_balanced_classes_have_equal_weight_and_count_repetitions():
    y = np.where(np.arange(60) < 50, 0, 1)
    balanced = small(class_weight="balanced").fit(X, y)
    by_row = small().fit(X, y, sample_weight=np.where(y == 0, 60 / 100, 60 / 20))
    np.testing.assert_allclose(balanced.predict_proba(X), by_row.predict_proba(X), rtol=1e-9)
    assert balanced.predict_proba(X)[:, 1].mean() > small().fit(X, y).predict_proba(X)[:, 1].mean()
    counts = np.random.default_rng(0).integers(1, 4, 60)
    weighted = small(class_weight="balanced").fit(X, y, sample_weight=counts)
    repeated = small(class_weight="balanced").fit(X.repeat(counts, axis=0), y.repeat(counts))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-8)


@BOTH
def test_too_little_time_is_said(inference):
    model = small(max_time=1e-6, inference=inference)
    with pytest.warns(ConvergenceWarning, match="ended the fit early"):
        model.fit(X, Y3)
    usable(model, X)


def test_the_size_of_log_odds_has_a_prior_that_separable_labels_cannot_wash_out():
    X = np.linspace(-2, 2, 200)[:, None]
    model = BankClassifier(8, n_warmup=200, n_draws=100, n_chains=1, random_state=0)
    model.fit(X, X[:, 0] > 0.01)
    assert (model.prior_.lam_log_mean, model.prior_.lam_log_sd) == (-3.0, 1.5)
    # Any small lam separates: within five deviations of the prior, and not far below its mean.
    sizes = np.log([draw.lam for draw in model.draws_])
    assert sizes.min() > -3.0 - 5 * 1.5
    assert sizes.mean() > -3.0 - 2.5 * 1.5


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"), "y holds dates, such as 2020-01"),
        (np.array([1, 2**63 + 5], "uint64"), "at most 2\\*\\*63 - 1"),
    ],
)
def test_labels_that_no_file_could_hold(labels, words):
    X = np.arange(20.0)[:, None]
    with pytest.raises(ValueError, match=words):
        BankClassifier(4).fit(X, labels[np.arange(20) % 2])


def test_a_density_of_labels_of_another_kind_is_refused():
    X = np.arange(20.0)[:, None]
    model = BankClassifier(4, n_warmup=1, n_draws=1, n_chains=1).fit(X, np.arange(20) % 2)
    with pytest.raises(ValueError, match="cannot be compared with those of the fit, such as 0"):
        model.log_predictive_density(X[:2], np.array(["0", "1"]))
    assert model.log_predictive_density(X[:1], np.array([7])) == -np.inf


def test_text_beside_a_nullable_column_is_named():
    table = pd.DataFrame(
        {
            "a": np.arange(20.0),
            "b": pd.Series(np.arange(20) > 9, dtype="boolean"),
            "colour": pd.Categorical(["red", "blue"] * 10),
        }
    )
    with pytest.raises(ValueError, match="Column 'colour' of X holds text"):
        BankClassifier(4).fit(table, np.arange(20) % 2)
