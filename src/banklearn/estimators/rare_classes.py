"""RareClassClassifier: rare classes predicted as readily as a bound on the error allows."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import (
    _safe_indexing,
    assert_all_finite,
    check_random_state,
    column_or_1d,
    get_tags,
    indexable,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from banklearn.engines.choose import to_memory
from banklearn.estimators import parameters as check
from banklearn.estimators.data import check_weight, validate_data

Array = NDArray[np.float64]
Places = NDArray[np.intp]

#: Powers of the classes' shares that are tried.
POWERS = np.linspace(0.0, 1.0, 21)
#: The error on all rows stays within its bound with this probability, judged by hold-out rows.
CONFIDENCE = 0.9


class Curve(NamedTuple):
    """What each power would have done on the hold-out rows."""

    power: Array
    error: Array
    #: No larger error is likely, given the number of hold-out rows.
    error_bound: Array
    #: The share of rows recognised, averaged over the classes that hold-out rows have.
    recall: Array


class RareClassClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that predicts rare classes as readily as a bound on the error allows.

    The most probable class makes the fewest errors, and may never be a rare one: rows between a
    rare class and a frequent one are more often of the frequent one. Where a rare class should
    be found at the price of some false alarms, a row is given to the class c of the largest
    p_c cost_c instead, with cost_c = share_c ** -power. Power 0 is the most probable class;
    power 1 treats all classes as if they had the same number of rows. Hold-out rows decide the
    power; then the classifier is fitted again with all rows. Probabilities are the classifier's
    own: only the decision changes.

    Parameters
    ----------
    estimator : classifier with predict_proba, default=None
        What gives the probabilities; it is cloned. None takes a BankClassifier.
    max_error : float or None
        The largest power whose error stays below this with a probability of 90 %, judged by the
        hold-out rows, is taken. None takes the power that recognises the largest share of a
        class's rows, averaged over classes; of equals, the smallest.
    holdout : float, default=0.2
        Share of each class's rows that are held out, at least one where a class has two.
    random_state : int, RandomState or None
        Seed of the hold-out, and of the default estimator or one that has none.

    Attributes
    ----------
    estimator_ : the classifier, fitted with all rows.
    classes_ : array of shape (C,)
        The labels.
    power_ : float
        The power that was chosen.
    costs_ : array of shape (C,)
        What missing a row of each class costs beside a row of the most frequent class.
    curve_ : Curve
        Errors and recall on the hold-out rows, by power.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from banklearn import RareClassClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["often", "seldom"], [980, 20])
    >>> X = rng.standard_normal((1000, 1)) + 2.0 * (y == "seldom")[:, None]
    >>> plain = LogisticRegression().fit(X, y)
    >>> ready = RareClassClassifier(LogisticRegression(), max_error=0.1, random_state=0).fit(X, y)
    >>> seldom = X[y == "seldom"]
    >>> int((plain.predict(seldom) == "seldom").sum())
    2
    >>> int((ready.predict(seldom) == "seldom").sum())
    13
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        max_error: float | None = None,
        holdout: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.max_error = max_error
        self.holdout = holdout
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RareClassClassifier:
        """Choose the power on hold-out rows, then fit all rows; a row of weight w counts as w."""
        self._check_options()
        if y is None:
            raise ValueError(
                "RareClassClassifier requires y to be passed, but the target y is None."
            )
        X, y = indexable(to_memory(X), to_memory(y))
        # Remembers names and number of inputs; the estimator looks at the values.
        validate_data(self, X, dtype=None, ensure_all_finite=False, skip_check_array=True)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        weight = check_weight(sample_weight, X)
        if weight is not None:
            used = np.flatnonzero(weight)  # a row of weight zero is none
            X, labels, weight = _safe_indexing(X, used), labels[used], weight[used]
        rng = check_random_state(self.random_state)
        estimator = self._unfitted(rng)

        # All rows first: whatever is wrong with them is said before any time is spent twice.
        self.estimator_ = _fit(estimator, X, labels, weight)
        codes = np.searchsorted(self.classes_, labels)
        mass = np.bincount(codes, weights=weight, minlength=len(self.classes_))
        held = hold_out(codes, self.holdout, rng)
        if not held.any():
            raise ValueError(
                "No class has two rows, so none can be held out to choose how readily a class is "
                f"predicted; there are {len(codes)} rows and {len(mass)} classes."
            )
        rest = np.flatnonzero(~held)
        part = None if weight is None else weight[rest]
        trial = _fit(clone(estimator), _safe_indexing(X, rest), labels[rest], part)
        tested = np.flatnonzero(held)
        self.curve_ = curve(
            trial.predict_proba(_safe_indexing(X, tested)),
            codes[tested],
            mass / mass.sum(),
            np.ones(len(tested)) if weight is None else weight[tested],
        )
        self.power_ = self._choose(self.curve_)
        self.costs_ = costs(mass / mass.sum(), self.power_)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest p_c cost_c, for each row."""
        check_is_fitted(self)
        chosen = (self.estimator_.predict_proba(X) * self.costs_).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def predict_proba(self, X: Any) -> Array:
        """The classifier's own probabilities (n, C), which costs do not change."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        return np.asarray(self.estimator_.classes_)

    def _check_options(self) -> None:
        if self.max_error is not None:
            check.inside("max_error", self.max_error)
        check.inside("holdout", self.holdout)
        check.seed("random_state", self.random_state)
        if self.estimator is not None and not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                "estimator must be a classifier with predict_proba, not "
                f"{type(self.estimator).__name__}."
            )

    def _unfitted(self, rng: np.random.RandomState) -> Any:
        from banklearn.estimators.classifier import BankClassifier

        estimator = BankClassifier() if self.estimator is None else clone(self.estimator)
        if estimator.get_params().get("random_state", 0) is None:
            estimator.set_params(random_state=int(rng.randint(2**31 - 1)))
        return estimator

    def _choose(self, found: Curve) -> float:
        if self.max_error is None:
            return float(found.power[found.recall.argmax()])
        within = found.error_bound <= self.max_error
        if not within[0]:
            warnings.warn(
                f"With the most probable class {found.error[0]:.3g} of the hold-out rows are "
                f"wrong, and as much as {found.error_bound[0]:.3g} of all rows may be: max_error "
                f"= {self.max_error:g} cannot be promised. Rare classes get no preference.",
                UserWarning,
                stacklevel=3,
            )
            return 0.0
        beyond = np.flatnonzero(~within)
        last = beyond[0] - 1 if len(beyond) else len(within) - 1
        return float(found.power[last])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "power_")


def costs(share: Array, power: float) -> Array:
    """share ** -power, beside that of the most frequent class."""
    return np.asarray((share / share.max()) ** -power)


def hold_out(codes: Places, part: float, rng: np.random.RandomState) -> NDArray[np.bool_]:
    """Rows to hold out: this part of each class, at least one of two, never all of a class."""
    held = np.zeros(len(codes), dtype=bool)
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        count = min(max(1, round(part * len(rows))), len(rows) - 1)
        held[rng.permutation(rows)[:count]] = True
    return held


def curve(p: Array, codes: Places, share: Array, weight: Array) -> Curve:
    """Errors and recall of each power on rows with probabilities p (n, C) and classes codes."""
    wrong = np.stack([(p * costs(share, a)).argmax(axis=1) != codes for a in POWERS])
    weight = weight / weight.max()
    error = wrong @ weight / weight.sum()
    present = np.bincount(codes, weights=weight, minlength=len(share))
    missed = np.stack([np.bincount(codes, weight * w, minlength=len(share)) for w in wrong])
    seen = present > 0.0  # a class of one row is not held out
    recall = 1.0 - (missed[:, seen] / present[seen]).mean(axis=1)
    # The exact upper limit for a share (Clopper and Pearson, 1934); rows of different weights
    # count as fewer rows of one weight (Kish, 1965).
    n = weight.sum() ** 2 / (weight**2).sum()
    bound = beta.ppf(CONFIDENCE, n * error + 1.0, np.maximum(n * (1.0 - error), 1e-9))
    return Curve(POWERS, error, np.where(error < 1.0, bound, 1.0), recall)


def _fit(estimator: Any, X: Any, y: NDArray[Any], weight: Array | None) -> Any:
    """Fit; weights are named only where there are some."""
    return estimator.fit(X, y) if weight is None else estimator.fit(X, y, sample_weight=weight)
