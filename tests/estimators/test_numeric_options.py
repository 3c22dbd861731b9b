"""Every numeric option of every estimator, at values that mean nothing and at the ends."""

import inspect
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adversarial import attempt
from banklearn import BankClassifier, BankFeatures, BankRegressor, load_model
from banklearn.baselines import (
    AlaCarteRegressor,
    MKLClassifier,
    MKLRegressor,
    RFOClassifier,
    RKSClassifier,
    RKSRegressor,
)
from banklearn.estimators.polish import polish
from banklearn.limits import LARGEST_OPTION, SMALLEST_OPTION
from banklearn.numerics.linalg import NumericalError
from words import is_in_words

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 2))
Y = X[:, 0] + 0.1 * RNG.standard_normal(30)
CHAINS = {"n_frequencies": 4, "n_warmup": 2, "n_draws": 2, "n_chains": 1, "random_state": 0}
RIVAL = {"n_frequencies": 40, "random_state": 0, "scaling": "standard"}
ESTIMATORS = {
    BankRegressor: CHAINS,
    BankClassifier: CHAINS,
    BankFeatures: {},
    RKSRegressor: RIVAL,
    RKSClassifier: RIVAL,
    MKLRegressor: RIVAL,
    MKLClassifier: RIVAL,
    AlaCarteRegressor: RIVAL,
    RFOClassifier: RIVAL,
}
#: Options that hold no number, several words of which would be too many cases for nothing.
WORDS = {
    *("trend", "input_scaling", "proposal", "growing_warmup", "merge_duplicates", "device"),
    *(
        "checkpoint",
        "warm_start",
        "arithmetic",
        "inference",
        "class_weight",
        "estimator",
        "error_law",
    ),
    *("kernels", "weights", "scaling", "select", "covariance"),
}
NUMERIC = [
    (kind, name)
    for kind in ESTIMATORS
    for name in inspect.signature(kind).parameters
    if name not in WORDS
]
LISTS = [
    (k, name) for k, name in NUMERIC if name in ("scales", "lams", "multiples", "n_components")
]
MEANINGLESS = (
    *(1e308, math.nan, math.inf, -math.inf, -1, -0.5, np.float32(np.inf), "many"),
    *(10**400, 10**5000, -(10**400), Fraction(10**400, 3), 1j),
)


def refuse(kind, name, value):
    """The option is refused by its name, in words, and without a warning from below."""
    model = kind(**{**ESTIMATORS[kind], name: value})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, TypeError), match=f"^{name} must ") as caught:
            model.fit(X, Y > 0)
    assert is_in_words(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("kind", "name"), NUMERIC, ids=[f"{kind.__name__}-{name}" for kind, name in NUMERIC]
)
def test_what_means_nothing_is_refused_in_words(kind, name):
    for value in MEANINGLESS:
        refuse(kind, name, value)


@pytest.mark.parametrize(
    ("kind", "name"), LISTS, ids=[f"{kind.__name__}-{name}" for kind, name in LISTS]
)
def test_lists_of_numbers_are_looked_at_one_by_one(kind, name):
    for value in ([1, 1e308], [1, 10**400], (1, math.nan), np.array([-1]), ["a"], [], [[1]]):
        refuse(kind, name, value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"a0": 1e308}, r"a0 must lie between 1e-30 and 1e\+30, but is 1e\+308"),
        ({"b0": 1e-308}, r"b0 must lie between 1e-30 and 1e\+30, but is 1e-308"),
        ({"nu0": 1.25}, r"nu0 must exceed 1 by at least 0\.5 for 2 varying inputs, but is 1\.25"),
        ({"n_chains": 10**400}, "n_chains must be at most 4096, but is about 1e400"),
        ({"n_frequencies": 10**5}, "n_frequencies must be at most 65536, but is 100000"),
        ({"max_time": 1e300}, r"at most 1e\+09 seconds, or None for no limit, but is 1e\+300"),
        ({"random_state": -1}, "random_state must be a whole number from 0 to 4294967295"),
        ({"random_state": 1.0}, r"must be a whole number .* but is 1\.0\.$"),
    ],
)
def test_the_sentence_says_what_was_seen_and_what_may_be(options, words):
    with pytest.raises(ValueError, match=words):
        BankRegressor(**{**CHAINS, **options}).fit(X, Y)


def test_questions_to_a_fitted_model_have_limits_too():
    model = BankRegressor(**CHAINS).fit(X, Y)
    for value in MEANINGLESS:
        assert attempt(lambda v=value: model.sample_y(X, v)) is None
        assert attempt(lambda v=value: model.predict_interval(X, v)) is None
        assert attempt(lambda v=value: polish(model, X, Y, max_iter=v)) is None
        assert attempt(lambda v=value: BankFeatures.from_fitted(model, max_draws=v)) is None


ends = st.sampled_from([SMALLEST_OPTION, LARGEST_OPTION, 1])
PRIORS = {
    **{n: ends for n in ("kappa0", "alpha_shape", "alpha_rate", "scale_shape", "spectral_scale")},
    "nu0": st.sampled_from([1.5, LARGEST_OPTION, 10**30, Fraction(7, 2)]),
}
NOISE = {"a0": ends, "b0": st.sampled_from([SMALLEST_OPTION, LARGEST_OPTION, 10**30])}


@settings(max_examples=60, deadline=None)
@given(data=st.data(), classes=st.booleans())
def test_all_options_may_be_at_their_ends_together(tmp_path_factory, data, classes):
    kind = BankClassifier if classes else BankRegressor
    options = {n: data.draw(s, n) for n, s in (PRIORS if classes else PRIORS | NOISE).items()}
    if classes:
        options["inference"] = data.draw(st.sampled_from(["polya-gamma", "laplace-mh"]))
    model = attempt(lambda: kind(**CHAINS, **options).fit(X, Y > 0 if classes else Y))
    assert model is not None, "these options are within their limits"
    found = model.predict_proba(X) if classes else model.predict(X, return_std=True)
    assert np.isfinite(found).all()
    path = tmp_path_factory.mktemp("ends") / "model.bank"
    model.set_params(**{n: float(v) for n, v in options.items() if n != "inference"})
    model.save(path)
    np.testing.assert_array_equal(load_model(path).predict(X), model.predict(X))


RIVALS = [(k, n) for k, n in NUMERIC if ESTIMATORS[k] is RIVAL]
ENDS = [(k, n) for k, n in RIVALS if n in ("a0", "b0", "lam", "lams", "scales", "multiples")]


@pytest.mark.parametrize(
    ("kind", "name"), ENDS, ids=[f"{kind.__name__}-{name}" for kind, name in ENDS]
)
@pytest.mark.parametrize("value", [SMALLEST_OPTION, LARGEST_OPTION])
def test_rivals_at_the_ends(kind, name, value):
    """A number, or a sentence: a ridge can be too small for the rows."""
    labels = Y > 0 if kind.__name__.endswith("Classifier") else Y
    given = value if name in ("a0", "b0", "lam") else [value]
    model = attempt(lambda: kind(**{**RIVAL, name: given}).fit(X, labels))
    assert model is None or np.isfinite(model.predict(X)).all()
    assert model is not None or name in ("lam", "lams")


def test_a_ridge_too_small_is_named():
    with pytest.raises(NumericalError, match="the ridge is too small for these rows"):
        RFOClassifier(**RIVAL, lam=SMALLEST_OPTION).fit(X, Y > 0)
