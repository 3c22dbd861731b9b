"""Property-based tests of the estimators; `make campaign` runs 10 000 examples of each."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adversarial import CAMPAIGN, CONTAINERS, OUTCOMES, VECTORS, Example, attempt, examples
from banklearn import BankClassifier, BankFeatures, BankRegressor

TINY = {
    "n_frequencies": 2,
    "n_warmup": 1,
    "n_draws": 1,
    "thin": 1,
    "n_chains": 1,
    "random_state": 0,
}


@st.composite
def regressions(draw):
    case = draw(examples())
    case.options.update(
        gradient_every=draw(st.sampled_from([0, 0, 1])),
        proposal=draw(st.sampled_from(["in-turn", "in-turn", "at-once"])),
    )
    name = draw(st.sampled_from(["nothing", "nothing", "a0", "b0"]))
    if name != "nothing":
        case.options[name] = draw(st.sampled_from([1e-12, 1e-3, 1e6]))
    return case


def _repeated(case, place):
    """Rows of an example, some of them many times."""
    weight = None if case.weight is None else case.weight[place]
    return replace(case, X=case.X[place], y=case.y[place], weight=weight)


@st.composite
def classifications(draw):
    case = draw(examples())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    C, rows = draw(st.sampled_from([1, 2, 2, 2, 3, 4, 5, 6, 7])), len(case.X)
    spread = draw(st.sampled_from(["even", "separable", "rare classes"]))
    # Every class has a row, as far as there are rows.
    codes = rng.permutation(np.concatenate([np.arange(C), rng.integers(C, size=rows)])[:rows])
    if spread == "separable":  # by the first input
        codes = np.minimum(np.argsort(np.argsort(case.X[:, 0])) * C // rows, C - 1)
    elif spread == "rare classes":  # with one row each, others with many
        C, frequent = draw(st.integers(4, 7)), draw(st.integers(1, 3))
        codes = np.concatenate([np.arange(C), rng.integers(frequent, size=12 * C)])
        case = _repeated(case, rng.integers(rows, size=len(codes)))
    kind = draw(st.sampled_from(["numbers", "words", "truth", "floats", "objects"]))
    labels = {
        "numbers": codes * 7 - 3,
        "words": np.array(["a", "b", "long word", "", "A", "5", "b "])[codes],
        "truth": codes > 0,
        "floats": codes * 1.0,
        "objects": np.array(list("xyzuvwt"), dtype=object)[codes],
    }[kind]
    inference = draw(st.sampled_from(["polya-gamma", "laplace-mh"]))
    case.options.update(
        inference=inference,
        class_weight=draw(st.sampled_from([None, None, "balanced"])),
    )
    if inference == "polya-gamma":
        case.options.update(
            gradient_every=draw(st.sampled_from([0, 0, 1])),
            proposal=draw(st.sampled_from(["in-turn", "in-turn", "at-once"])),
        )
    return replace(case, y=labels)


def both(case, answer):
    """The answer for plain arrays, and for this example's container; None where refused."""
    plain = case.numbers()
    far = case.contained(case.X_new) if case.narrow is None else case.X_new
    one = attempt(lambda: answer(case, plain, case.X_new))
    other = attempt(lambda: answer(case.held(), case.contained(plain), far))
    OUTCOMES["refused" if one is None else "answered"] += 1
    assert (one is None) == (other is None), "one container is refused, another is not"
    return one, other


def regression(case, X, X_new):
    model = BankRegressor(**case.options).fit(X, case.y, sample_weight=case.weight)
    near = np.stack([*model.predict(X, return_std=True), *model.predict_interval(X)])
    return model, near, np.stack(model.predict(X_new, return_std=True))


def check_regression(case):
    """Finite, ordered, and the same whatever holds the numbers."""
    result, again = both(case, regression)
    if result is None:
        return
    _, near, far = result
    _, std, lower, upper = near
    assert np.isfinite(near).all()
    assert np.isfinite(far).all()
    assert (std >= 0).all()
    assert (lower <= upper).all()
    plain = case.contained(case.numbers())
    with_names = case.contained(case.X_new) if case.narrow is None else case.X_new
    assert not np.isnan(again[0].log_predictive_density(plain, case.y)).any()
    assert np.isfinite(again[0].sample_y(with_names, 1, random_state=0)).all()
    np.testing.assert_array_equal(near, again[1])
    np.testing.assert_array_equal(far, again[2])


@CAMPAIGN
@given(regressions())
def test_a_regressor_answers_or_refuses(case):
    check_regression(case)


def classification(case, X, X_new):
    model = BankClassifier(**case.options).fit(X, case.y, sample_weight=case.weight)
    return model, np.concatenate([model.predict_proba(X), model.predict_proba(X_new)])


def check_classification(case):
    """Probabilities, and the same ones whatever holds the numbers."""
    result, again = both(case, classification)
    if result is None:
        return
    model, p = result
    OUTCOMES["trees"] += not model.tree_.is_stick
    plain = case.numbers()
    C = len(np.unique(case.y if case.weight is None else case.y[case.weight > 0]))
    assert p.shape == (len(plain) + len(case.X_new), C)
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    assert set(model.predict(plain).tolist()) <= set(case.y.tolist())
    lower, upper = model.predict_proba_interval(plain)
    assert (lower <= upper).all()
    assert np.isfinite(model.predict_latent(case.X_new)).all()
    assert np.isfinite(model.decision_function(case.X_new)).all()
    np.testing.assert_array_equal(p, again[1])


@CAMPAIGN
@given(classifications())
def test_a_classifier_answers_or_refuses(case):
    check_classification(case)


def features(case, X, X_new):
    kind = BankClassifier if "inference" in case.options else BankRegressor
    options = {k: v for k, v in case.options.items() if k != "random_state"}
    model = BankFeatures(kind(**options), max_draws=2, random_state=case.options["random_state"])
    model.fit(X, case.y, sample_weight=case.weight)
    return model, np.concatenate([model.transform(X), model.transform(X_new)])


def check_features(case):
    """Finite, cosines and sines of length one, and the same whatever holds the numbers."""
    result, again = both(case, features)
    if result is None:
        return
    model, rows = result
    tree = getattr(model.estimator_, "tree_", None)
    OUTCOMES["trees"] += tree is not None and not tree.is_stick
    names = model.get_feature_names_out()
    assert rows.shape == (len(case.X) + len(case.X_new), len(names))
    assert len(set(names)) == len(names)
    assert np.isfinite(rows).all()
    waves = rows[:, [not name.startswith("trend_") for name in names]]
    np.testing.assert_allclose((waves**2).sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(rows, again[1])


@CAMPAIGN
@given(st.one_of(regressions(), classifications()))
def test_features_answer_or_refuse(case):
    check_features(case)


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_is_read(container):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 2))
    case = Example(X, X[:, 0], X[:2], None, container, None, {**TINY, "spectral_scale": 1.0})
    assert both(case, regression)[1] is not None
    check_regression(case)
    check_classification(replace(case, y=X[:, 0] > 0))


@pytest.mark.parametrize("vector", VECTORS)
def test_every_container_of_a_target_is_read(vector):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 2))
    options = {**TINY, "spectral_scale": 1.0}
    weight = rng.uniform(0.5, 2.0, 12)
    case = Example(X, X[:, 0], X[:2], weight, "rows first", None, options, vector)
    assert both(case, regression)[1] is not None
    check_regression(case)
    for labels in (X[:, 0] > 0, np.where(X[:, 0] > 0, "a", "b"), (X[:, 0] > 0).astype(int)):
        assert both(replace(case, y=labels), classification)[1] is not None
        check_classification(replace(case, y=labels))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, None, pd.NA, "Rome", 1 + 2j])
@pytest.mark.parametrize("make", [BankRegressor, BankClassifier])
@settings(max_examples=4)
@given(place=st.integers(0, 23), frame=st.booleans())
def test_a_single_bad_value_is_refused(make, bad, place, frame):
    X = np.random.default_rng(0).standard_normal((12, 2)).astype(object)
    y = np.arange(12) % 2
    X[place // 2, place % 2] = bad
    table = pd.DataFrame(X, columns=["a", "b"]) if frame else X
    assert attempt(lambda: make(**TINY).fit(table, y)) is None


LINE = np.arange(6.0)[:, None]


def case_of(X, y, **changes):
    fields = {
        "X": np.asarray(X, dtype=float),
        "y": np.asarray(y),
        "X_new": np.array([[0.5], [-3.0]]),
        "weight": None,
        "container": "rows first",
        "narrow": None,
        "options": {**TINY, "spectral_scale": 1.0},
    }
    return Example(**(fields | changes))


#: What once failed: overflow, division by zero, somebody else's words, a warning unexplained.
ONCE_FAILED_REGRESSION = {
    "the density of a target whose square is no number": case_of(
        np.zeros((4, 1)), [1e154, 0.1, -0.5, 0.4], weight=np.array([0.0, 1.0, 0.0, 1.0])
    ),
    "means that round by how rows lie in memory": case_of(
        [
            [-0.70373524, 0.90347018, -1.25906553, 1.0],
            [-1.26542147, 0.0940123, 1.51392377, 1.0],
            [-0.62327446, -0.74349925, 1.34587542, 1.0],
            [0.04132598, -0.92172538, 0.7813114, 1.0],
            [-2.32503077, -0.45772583, 0.26445563, 1.0],
            [-0.21879166, 0.22019512, -0.31392281, 1.0],
            [-1.24591095, -1.00961818, 1.45802068, 1.0],
            [-0.73226735, -0.20917557, 1.96025832, 1.0],
        ],
        [0.1885, -0.6332, -0.3776, -1.0911, -1.2777, 0.6304, 0.5812, 1.2946],
        X_new=np.array([[1.0, -0.6, 1.8, -1.3], [-0.7, 0.9, 0.0, 2.0]]),
        container="columns first",
    ),
    "rows infinitely far away": case_of(1e-167 * LINE, LINE[:, 0], X_new=np.array([[1e129]])),
    "huge targets far away": case_of(
        LINE,
        1e300 * LINE[:, 0],
        X_new=np.array([[1e300], [-1e300]]),
        options={**TINY, "trend": "linear", "input_scaling": "standard"},
    ),
    "a constant target whose mean rounds": case_of(LINE, np.full(6, 1e183)),
    "nearly constant target": case_of(LINE, 1e183 * (1 + 1e-13 * LINE[:, 0])),
    "huge inputs as they are": case_of(
        1e261 * LINE, LINE[:, 0], options={**TINY, "input_scaling": "none", "trend": "linear"}
    ),
    "no degrees of freedom": case_of(
        LINE, np.sin(LINE[:, 0]), weight=np.full(6, 1e-300), options={**TINY, "a0": 1e-12}
    ),
    "one row": case_of(LINE[:1], [1.0]),
}
ONCE_FAILED_CLASSIFICATION = {
    "one class of objects": case_of(LINE, np.array(["x"] * 6, dtype=object)),
    "weights whose square is zero": case_of(
        LINE, np.arange(6) % 2, weight=np.full(6, 1e-300), options={**TINY, "trend": "constant"}
    ),
    "weights that hide the prior": case_of(
        np.full((6, 1), 1e180),
        np.arange(6) > 2,
        weight=np.array([5e24, 5e19, 2e-4, 1e27, 2e7, 2e5]),
        options={**TINY, "inference": "laplace-mh"},
    ),
    "equal columns under heavy weights": case_of(
        np.full((6, 1), 2.0),
        np.arange(6) > 2,
        weight=np.full(6, 1e14),
        options={**TINY, "inference": "laplace-mh", "trend": "none"},
    ),
}


@pytest.mark.parametrize("case", ONCE_FAILED_REGRESSION.values(), ids=ONCE_FAILED_REGRESSION)
def test_what_once_failed_in_regression(case):
    check_regression(case)


@pytest.mark.parametrize(
    "case", ONCE_FAILED_CLASSIFICATION.values(), ids=ONCE_FAILED_CLASSIFICATION
)
def test_what_once_failed_in_classification(case):
    check_classification(case)
