"""RareClassClassifier: rare classes as readily as a bound on the error allows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from banklearn import BankClassifier, RareClassClassifier
from banklearn.estimators.rare_classes import (
    CONFIDENCE,
    POWERS,
    Curve,
    costs,
    curve,
    equal_rows,
    hold_out,
)

SMALL = {"n_frequencies": 4, "n_warmup": 2, "n_draws": 2, "n_chains": 1, "random_state": 0}


@parametrize_with_checks(
    [
        RareClassClassifier(LogisticRegression()),
        RareClassClassifier(BankClassifier(**SMALL), max_error=0.3, random_state=0),
    ]
)
@pytest.mark.filterwarnings("ignore:With the most probable class:UserWarning")
def test_the_contract_of_an_estimator(estimator, check):
    check(estimator)


def make_data(seed=0, rows=(900, 60, 12)):
    """Three classes on a line, each rarer than the one before, two units apart."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.array(["often", "rare", "seldom"]), rows)
    centre = np.repeat([0.0, 2.0, 4.0], rows)
    return (centre + rng.standard_normal(len(y)))[:, None], y


def test_costs_are_powers_of_shares():
    share = np.array([0.8, 0.1, 0.1])
    np.testing.assert_allclose(costs(share, 0.5), [1.0, np.sqrt(8.0), np.sqrt(8.0)], rtol=1e-15)
    np.testing.assert_array_equal(costs(share, 0.0), 1.0)


def test_power_zero_is_the_most_probable_class_and_power_one_treats_classes_alike():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([5.0, 1.0, 0.3], 200)
    codes = rng.integers(0, 3, 200)
    share = np.array([0.7, 0.25, 0.05])
    found = curve(p, codes, share, np.ones(200))
    assert found.power[0] == 0.0
    assert found.power[-1] == 1.0
    assert found.error[0] == pytest.approx((p.argmax(1) != codes).mean(), rel=1e-12)
    assert found.error[-1] == pytest.approx(((p / share).argmax(1) != codes).mean(), rel=1e-12)


def test_the_curve_is_what_a_plain_count_gives():
    rng = np.random.default_rng(2)
    p = rng.dirichlet([3.0, 1.0, 1.0, 0.5], 150)
    codes = rng.choice(4, 150, p=[0.5, 0.3, 0.15, 0.05])
    share = np.array([0.6, 0.2, 0.15, 0.05])
    found = curve(p, codes, share, np.ones(150))
    for k, power in enumerate(POWERS):
        chosen = (p * share**-power).argmax(1)
        wrong = int((chosen != codes).sum())
        assert found.error[k] == pytest.approx(wrong / 150, rel=1e-12)
        recalls = [(chosen[codes == c] == c).mean() for c in range(4)]
        assert found.recall[k] == pytest.approx(np.mean(recalls), rel=1e-12)
        both_sides = 1.0 - 2.0 * (1.0 - CONFIDENCE)
        limit = binomtest(wrong, 150).proportion_ci(both_sides, method="exact").high
        assert found.error_bound[k] == pytest.approx(limit, rel=1e-9)


def test_equal_weights_are_no_weights_and_unequal_ones_make_fewer_rows():
    rng = np.random.default_rng(3)
    p, codes = rng.dirichlet([2.0, 1.0], 80), rng.choice(2, 80)
    share = np.array([0.7, 0.3])
    plain = curve(p, codes, share, np.ones(80))
    for name, value in curve(p, codes, share, np.full(80, 7.0))._asdict().items():
        np.testing.assert_allclose(value, getattr(plain, name), rtol=1e-12)
    # Half the rows of weight zero: what the other half says, bound included.
    weight = np.repeat([1.0, 0.0], 40)
    half = curve(p[:40], codes[:40], share, np.ones(40))
    for name, value in curve(p, codes, share, weight)._asdict().items():
        np.testing.assert_allclose(value, getattr(half, name), rtol=1e-9)


def test_nothing_right_and_nothing_wrong_have_bounds():
    codes = np.tile([0, 1], 10)
    p = np.where(np.arange(2) == codes[:, None], 0.9, 0.1)
    share = np.array([0.5, 0.5])
    wrong = curve(p, 1 - codes, share, np.ones(20))
    np.testing.assert_array_equal(wrong.error_bound, 1.0)
    right = curve(p, codes, share, np.ones(20))
    np.testing.assert_allclose(right.error_bound, 1.0 - 0.1 ** (1 / 20), rtol=1e-12)


def test_a_part_of_each_class_is_held_out():
    codes = np.repeat([0, 1, 2, 3], [100, 10, 2, 1])
    group = np.arange(len(codes))
    held = hold_out(group, codes, 0.2, np.random.RandomState(0))
    assert np.bincount(codes[held], minlength=4).tolist() == [20, 2, 1, 0]
    most = hold_out(group, codes, 0.99, np.random.RandomState(0))
    assert np.bincount(codes[most], minlength=4).tolist() == [99, 9, 1, 0]
    other = hold_out(group, codes, 0.2, np.random.RandomState(1))
    assert (held != other).any()


def test_equal_rows_are_held_out_together():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (400, 3)).astype(float)
    codes = rng.integers(0, 2, 400)
    group = equal_rows(X, codes)
    _, expected = np.unique(np.column_stack([X, codes]), axis=0, return_inverse=True)
    pairs = set(zip(group.tolist(), expected.ravel().tolist(), strict=True))
    assert len(pairs) == len(set(group.tolist())) == len(set(expected.ravel().tolist()))
    held = hold_out(group, codes, 0.3, np.random.RandomState(0))
    assert not set(group[held].tolist()) & set(group[~held].tolist())
    for other in (X.astype(str), csr_array(X)):
        assert len(set(equal_rows(other, codes).tolist())) == 400


def test_a_row_given_three_times_is_a_row_of_weight_three():
    X, y = make_data(rows=(300, 40, 12))
    model = RareClassClassifier(LogisticRegression(), max_error=0.15, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=np.full(len(y), 3.0))
    repeated = clone(model).fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    for name, value in weighted.curve_._asdict().items():
        np.testing.assert_allclose(getattr(repeated.curve_, name), value, rtol=1e-9, err_msg=name)
    assert weighted.power_ == repeated.power_


def test_weights_of_all_sizes_are_repetitions():
    X, y = make_data(rows=(300, 40, 12))
    weight = np.random.default_rng(6).integers(1, 6, len(y))
    model = RareClassClassifier(LogisticRegression(tol=1e-10), max_error=0.2, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=weight.astype(float))
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    for name, value in weighted.curve_._asdict().items():
        np.testing.assert_allclose(getattr(repeated.curve_, name), value, rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(weighted.costs_, repeated.costs_, rtol=1e-12)


def test_classes_of_two_rows_do_not_hide_the_errors_of_the_others():
    # Half of the frequent class's rows look like a class of their own two rows.
    rng = np.random.default_rng(7)
    tiny = np.arange(1, 101)
    X = np.concatenate([np.repeat(tiny, 2), rng.permutation(np.repeat(tiny, 2)), np.zeros(200)])
    y = np.concatenate([np.repeat(tiny, 2), np.zeros(400, dtype=int)])
    table = np.zeros((101, 101))
    table[0, 0] = 1.0
    table[tiny, tiny], table[tiny, 0] = 0.5, 0.5

    class Known(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X):
            return table[np.asarray(X)[:, 0].round().astype(int)]

    X = (X + 1e-3 * rng.random(len(X)))[:, None]
    model = RareClassClassifier(Known(), max_error=0.4, random_state=0).fit(X, y)
    for power, error in zip(model.curve_.power, model.curve_.error, strict=True):
        truth = ((table[X[:, 0].round().astype(int)] * costs_of(y, power)).argmax(1) != y).mean()
        assert error == pytest.approx(truth, abs=0.05), power


def costs_of(y, power):
    return (np.bincount(y) / len(y)) ** -power


def test_copies_promise_no_more_than_the_rows_themselves():
    X, y = make_data(rows=(200, 60, 12))
    forest = RandomForestClassifier(10, random_state=0)
    model = RareClassClassifier(forest, max_error=0.1, random_state=0)
    with pytest.warns(UserWarning, match="cannot be promised"):
        model.fit(np.repeat(X, 4, axis=0), np.repeat(y, 4))


def test_rows_of_a_class_that_cannot_be_held_out_count_as_wrong():
    p = np.tile([0.8, 0.1, 0.1], (30, 1))
    share = np.array([0.6, 0.3, 0.1])
    codes = np.repeat([0, 1], [20, 10])
    found = curve(p, codes, share, np.ones(30))
    assert found.error[0] == pytest.approx(0.1 + 0.9 * 10 / 30, rel=1e-12)
    assert found.recall[0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("max_error", "power"), [(0.5, 1.0), (0.25, 0.05), (0.2, 0.05), (0.19, 0.0)]
)
def test_the_largest_power_before_the_bound_is_passed(max_error, power):
    bound = np.full(21, 0.4)
    bound[:4] = [0.1, 0.2, 0.3, 0.15]  # the fourth lies within again, beyond one that does not
    found = Curve(POWERS, bound / 2, bound, np.ones(21))
    assert RareClassClassifier(max_error=max_error)._choose(found) == pytest.approx(power)


def test_without_a_bound_recall_decides_and_of_equals_the_smallest_power():
    recall = np.full(21, 0.5)
    recall[[3, 7]] = 0.9
    found = Curve(POWERS, recall, recall, recall)
    assert RareClassClassifier()._choose(found) == POWERS[3]


def test_rare_classes_are_found_within_the_error_that_was_allowed():
    X, y = make_data()
    X_new, y_new = make_data(1)
    plain = LogisticRegression().fit(X, y)
    ready = RareClassClassifier(LogisticRegression(), max_error=0.1, random_state=0).fit(X, y)
    found = [(m.predict(X_new)[y_new != "often"] != "often").sum() for m in (plain, ready)]
    assert ready.power_ > 0.2
    assert found[1] > found[0] + 5
    assert (ready.predict(X_new) != y_new).mean() < 0.1
    np.testing.assert_array_equal(ready.predict_proba(X_new), plain.predict_proba(X_new))
    share = np.array([900, 60, 12]) / 972
    np.testing.assert_allclose(ready.costs_, (share / share.max()) ** -ready.power_, rtol=1e-12)
    chosen = (plain.predict_proba(X_new) * ready.costs_).argmax(1)
    np.testing.assert_array_equal(ready.predict(X_new), ready.classes_[chosen])


def test_a_bound_that_cannot_be_kept_is_said():
    X, y = make_data()
    model = RareClassClassifier(LogisticRegression(), max_error=0.001, random_state=0)
    with pytest.warns(UserWarning, match=r"max_error = 0.001 cannot be promised"):
        model.fit(X, y)
    assert model.power_ == 0.0
    np.testing.assert_array_equal(model.predict(X), model.estimator_.predict(X))


def test_rows_of_weight_zero_are_none():
    X, y = make_data()
    weight = np.random.default_rng(4).integers(0, 3, len(y)).astype(float)
    weight[y == "seldom"] = 0.0
    used = weight > 0
    model = RareClassClassifier(LogisticRegression(), max_error=0.2, random_state=0)
    a = clone(model).fit(X, y, sample_weight=weight)
    b = clone(model).fit(X[used], y[used], sample_weight=weight[used])
    assert a.classes_.tolist() == ["often", "rare"]
    assert a.power_ == b.power_
    np.testing.assert_array_equal(a.costs_, b.costs_)
    mass = np.array([weight[y == c].sum() for c in a.classes_])
    np.testing.assert_allclose(a.costs_, (mass / mass.max()) ** -a.power_, rtol=1e-12)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_tables_keep_the_names_of_their_inputs(frame):
    X, y = make_data(rows=(60, 20, 9))
    model = RareClassClassifier(BankClassifier(**SMALL), random_state=0)
    model.fit(frame({"place": X[:, 0]}), list(y))
    assert model.feature_names_in_.tolist() == ["place"]
    assert set(model.predict(frame({"place": X[:, 0]}))) <= set(y)


def test_one_seed_gives_one_model_and_seeds_the_estimator():
    X, y = make_data(rows=(60, 20, 9))
    inner = BankClassifier(**SMALL | {"random_state": None})
    a, b = (RareClassClassifier(inner, random_state=5).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    np.testing.assert_array_equal(a.curve_.recall, b.curve_.recall)
    assert a.estimator_.random_state is not None
    assert inner.random_state is None
    kept = RareClassClassifier(BankClassifier(**SMALL), random_state=5).fit(X, y)
    assert kept.estimator_.random_state == 0


def test_the_default_is_a_bank_classifier():
    made = RareClassClassifier(random_state=3)._unfitted(np.random.RandomState(3))
    assert type(made) is BankClassifier
    assert made.random_state is not None


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"max_error": 0.0}, ValueError, "max_error must lie between 0 and 1, but is 0"),
        ({"max_error": 1.5}, ValueError, "max_error must lie between 0 and 1, but is 1.5"),
        ({"holdout": 1.0}, ValueError, "holdout must lie between 0 and 1, but is 1"),
        ({"random_state": -1}, ValueError, "random_state must be a whole number from 0"),
        ({"estimator": RidgeClassifier()}, TypeError, "with predict_proba, not RidgeClassifier"),
    ],
)
def test_options_that_cannot_be(options, error, words):
    X, y = make_data()
    with pytest.raises(error, match=words):
        RareClassClassifier(**options).fit(X, y)


def test_targets_that_cannot_be():
    X, y = make_data()
    model = RareClassClassifier(LogisticRegression())
    with pytest.raises(ValueError, match="target y is None"):
        model.fit(X, None)
    with pytest.raises(ValueError, match=r"No class has two different rows.* 2 rows and 2 classes"):
        model.fit(X[:2], ["a", "b"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.fit(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError, match="zero"):
        model.fit(X, y, sample_weight=np.zeros(len(y)))


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a", float("nan"), "b"], "no label in row 1"),
        (["a", None, "b"], "no label in row 1"),
        (pd.Series(["a", pd.NA, "b"], dtype="string"), "no label in row 1"),
        (pl.Series(["a", None, "b"]), "no label in row 1"),
        (["a", 7, "b"], "mixes text and other labels"),
        (np.ma.masked_array([0, 1, 1], [False, True, False]), "masked"),
    ],
    ids=["nan", "None", "NA", "null", "mixed", "masked"],
)
def test_labels_that_are_none_are_refused(labels, words):
    with pytest.raises(ValueError, match=words):
        RareClassClassifier(LogisticRegression()).fit(np.zeros((3, 1)), labels)


@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_an_estimator_that_leaves_a_class_out_is_refused(left_out):
    X, y = make_data(rows=(40, 20, 9))
    codes = np.unique(y, return_inverse=True)[1]
    weights = {c: float(c != left_out) for c in range(3)}
    model = RareClassClassifier(BankClassifier(**SMALL, class_weight=weights))
    with pytest.raises(ValueError, match="no weight of zero for a class"):
        model.fit(X, codes)


def test_a_checkpoint_is_refused_before_anything_is_fitted(tmp_path):
    X, y = make_data(rows=(40, 20, 9))
    inner = BankClassifier(**SMALL, checkpoint=tmp_path / "kept")
    for estimator in (inner, make_pipeline(StandardScaler(), inner)):
        with pytest.raises(ValueError, match="fits its estimator twice"):
            RareClassClassifier(estimator).fit(X, y)
    assert not (tmp_path / "kept").exists()


def test_a_fit_that_fails_leaves_the_one_before():
    X, y = make_data(rows=(60, 20, 9))
    model = RareClassClassifier(LogisticRegression(), random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="No class has two different rows"):
        model.fit(X[:2], ["a", "b"])
    np.testing.assert_array_equal(model.predict(X), before)


def test_estimators_inside_a_pipeline_are_seeded_and_weights_need_a_taker():
    X, y = make_data(rows=(60, 20, 9))
    inner = make_pipeline(StandardScaler(), BankClassifier(**SMALL | {"random_state": None}))
    a, b = (RareClassClassifier(inner, random_state=5).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    with pytest.raises(TypeError, match="KNeighborsClassifier takes no sample_weight"):
        RareClassClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=np.full(len(y), 2.0))


def test_a_class_of_next_to_no_weight_has_a_finite_cost():
    assert np.isfinite(costs(np.array([1.0, 1e-310]), 1.0)).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_agree_with_what_is_predicted(classes):
    rng = np.random.default_rng(classes)
    y = np.repeat(np.arange(classes), [240, 20, 12][:classes])
    X = rng.standard_normal((len(y), 2)) + 1.2 * y[:, None]
    model = RareClassClassifier(LogisticRegression(), random_state=0).fit(X, y)
    score, p = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-12)
    assert model.power_ > 0
    weighed = np.log(p * model.costs_)
    if classes == 2:
        assert score.shape == (len(X),)
        np.testing.assert_allclose(score, weighed[:, 1] - weighed[:, 0], atol=1e-12)
        np.testing.assert_array_equal(model.predict(X), model.classes_[(score > 0).astype(int)])
        assert get_scorer("roc_auc")(model, X, y) == roc_auc_score(y, p[:, 1])
    else:
        np.testing.assert_allclose(score, weighed, rtol=1e-12)
        np.testing.assert_array_equal(model.predict(X), model.classes_[score.argmax(axis=1)])
    assert (model.predict(X) != p.argmax(axis=1)).any()


def test_logarithms_of_what_is_certain_are_finite():
    X = np.array([[-1e6], [-1e6 + 1], [1e6], [1e6 + 1]])
    model = RareClassClassifier(LogisticRegression(), holdout=0.5, random_state=0)
    model.fit(X, [0, 0, 1, 1])
    assert model.predict_proba(X).min() == 0.0
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert np.isfinite(model.decision_function(X)).all()


class Interrupted(LogisticRegression):
    """Ctrl-C comes in the fit of this number."""

    at = 2
    fits = 0

    def fit(self, X, y, sample_weight=None):
        Interrupted.fits += 1
        if Interrupted.fits == Interrupted.at:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


def test_an_interrupt_in_the_second_fit_keeps_the_first(monkeypatch):
    X, y = make_data(rows=(60, 20, 9))
    monkeypatch.setattr(Interrupted, "fits", 0)
    model = RareClassClassifier(LogisticRegression(), random_state=0).fit(X, y)
    model.estimator = Interrupted()
    with pytest.warns(UserWarning, match="power_ is 0"):
        model.fit(X, y)
    assert model.power_ == 0.0
    assert not hasattr(model, "curve_")
    np.testing.assert_array_equal(model.predict(X), LogisticRegression().fit(X, y).predict(X))


def test_after_an_interrupt_in_the_first_fit_there_is_no_second():
    X, y = make_data(rows=(60, 20, 9))

    class Partial(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            self.provenance_ = {"stopped_by": "interrupt"}
            assert not hasattr(self, "seen_")
            seen.append(len(y))
            return super().fit(X, y, sample_weight)

    seen = []
    with pytest.warns(UserWarning, match="Interrupted before it was chosen"):
        RareClassClassifier(Partial(), random_state=0).fit(X, y)
    assert seen == [len(y)]


def test_rows_of_which_none_can_be_held_out_are_refused_before_any_fit():
    class Never(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError("nothing is to be fitted")

    with pytest.raises(ValueError, match="No class has two different rows"):
        RareClassClassifier(Never()).fit(np.repeat([[0.0], [1.0]], 9, 0), np.repeat([0, 1], 9))
