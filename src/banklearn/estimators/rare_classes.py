"""RareClassClassifier: rare classes predicted as readily as a bound on the error allows."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
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
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from banklearn.engines.choose import to_memory
from banklearn.estimators import parameters as check
from banklearn.estimators.data import check_weight, refuse_unsorted_labels, validate_data
from banklearn.limits import SMALLEST_OPTION
from banklearn.numerics.duplicates import row_hash
from banklearn.sources.values import refuse_masked
from banklearn.warned import warn_caller

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
    power, judged by a second fit without them. Probabilities are those of the classifier fitted
    with all rows: only the decision changes.

    Parameters
    ----------
    estimator : classifier with predict_proba, default=None
        What gives the probabilities; it is cloned. None takes a BankClassifier. Leave its
        class weights out: rare classes would be preferred twice.
    max_error : float or None
        The largest power whose error stays below this with a probability of 90 %, judged by the
        hold-out rows, is taken (with weights that differ, about 90 %). None takes the power that
        recognises the largest share of a class's rows, averaged over classes; of equals, the
        smallest.
    holdout : float, default=0.2
        Share of each class's rows that are held out, at least one where a class has two. Rows of
        equal numbers stay together.
    random_state : int, RandomState or None
        Seed of the hold-out, and of every estimator inside that has none.

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
        Errors and recall on the hold-out rows, by power. A fit that was interrupted before the
        power was chosen has none, and power 0.

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
    12
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
        """Fit all rows, and choose the power by a fit without some; a row of weight w counts as w.

        All rows come first: whatever is wrong with them is said before any time is spent twice.
        """
        self._check_options()
        X, labels, weight = self._checked(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        estimator = self._unfitted(rng)
        classes, codes = np.unique(labels, return_inverse=True)
        group = equal_rows(X, codes)
        held = hold_out(group, codes, self.holdout, rng)
        # A single class, and rows without inputs, are refused by the estimator.
        if len(classes) > 1 and 0 not in np.shape(X)[1:] and not held.any():
            raise ValueError(
                "No class has two different rows, so none can be held out to choose how readily a "
                f"class is predicted; there are {len(codes)} rows and {len(classes)} classes."
            )
        fitted = _fit(estimator, X, labels, weight)
        if len(fitted.classes_) != len(classes) or (fitted.classes_ != classes).any():
            raise ValueError(
                f"y has the classes {classes.tolist()}, but the estimator learned "
                f"{np.asarray(fitted.classes_).tolist()}: give it no weight of zero for a class."
            )
        mass = np.bincount(codes, weights=weight).astype(np.float64)
        self._undecided(fitted, len(mass))
        if getattr(fitted, "provenance_", {}).get("stopped_by") == "interrupt":
            self._warn_undecided()
            return self
        rest, tested = np.flatnonzero(~held), np.flatnonzero(held)
        part = None if weight is None else weight[rest]
        try:
            trial = _fit(clone(estimator), _safe_indexing(X, rest), labels[rest], part)
        except KeyboardInterrupt:
            self._warn_undecided()
            return self
        # Rows that are equal were seen once, however often they are there.
        _, first, copies = np.unique(group[tested], return_index=True, return_inverse=True)
        seen = tested[first]
        count = np.bincount(copies, None if weight is None else weight[tested]).astype(np.float64)
        share = mass / mass.sum()
        p = trial.predict_proba(_safe_indexing(X, seen))
        found = curve(p, codes[seen], share, as_in_all_rows(count, codes[seen], mass))
        self.curve_, self.power_ = found, self._choose(found)
        self.costs_, self.estimator_ = costs(share, self.power_), fitted
        return self

    def _undecided(self, fitted: Any, n_classes: int) -> None:
        """What is known before the power is chosen: classes are predicted as the estimator does."""
        self.estimator_, self.power_, self.costs_ = fitted, 0.0, np.ones(n_classes)
        if hasattr(self, "curve_"):
            del self.curve_

    def _warn_undecided(self) -> None:
        warn_caller(
            "Interrupted before it was chosen how readily rare classes are predicted: power_ is 0, "
            "so that classes are those of the estimator itself, and there is no curve_.",
            UserWarning,
        )

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest p_c cost_c, for each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self._weighed(X).argmax(axis=1)])

    def decision_function(self, X: Any) -> Array:
        """log(p_c cost_c) (n, C); of two classes (n,) that of the second less that of the first.

        The class of the largest is the one that is predicted; of two classes the second is, where
        the difference is above zero. Probabilities do not say which class that is.
        """
        check_is_fitted(self)
        score = _log(self._weighed(X))
        return score[:, 1] - score[:, 0] if len(self.costs_) == 2 else score

    def predict_proba(self, X: Any) -> Array:
        """The classifier's own probabilities (n, C), which costs do not change."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of :meth:`predict_proba`, finite where that is zero."""
        return _log(self.predict_proba(X))

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        return np.asarray(self.estimator_.classes_)

    def _weighed(self, X: Any) -> Array:
        """p_c cost_c (n, C)."""
        return np.asarray(self.estimator_.predict_proba(X) * self.costs_)

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Any]:
        """Rows, labels and weights; rows of weight zero are none. The estimator looks at values."""
        if y is None:
            raise ValueError(
                "RareClassClassifier requires y to be passed, but the target y is None."
            )
        X, y = to_memory(X), to_memory(y)
        refuse_masked("y", y)
        refuse_unsorted_labels(y)
        X, y = indexable(X, y)
        # Remembers names and number of inputs.
        validate_data(self, X, dtype=None, ensure_all_finite=False, skip_check_array=True)
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        weight = check_weight(sample_weight, X)
        if weight is None:
            return X, labels, None
        used = np.flatnonzero(weight)
        return _safe_indexing(X, used), labels[used], weight[used]

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
        for name, value in sorted(estimator.get_params().items()):
            if value is None and name.split("__")[-1] == "random_state":
                estimator.set_params(**{name: int(rng.randint(2**31 - 1))})
            if value is not None and name.split("__")[-1] == "checkpoint":
                raise ValueError(
                    "RareClassClassifier fits its estimator twice, so it cannot have one "
                    f"checkpoint ({value!r}). Give it none."
                )
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
    return np.asarray(np.maximum(share / share.max(), SMALLEST_OPTION) ** -power)


def equal_rows(X: Any, codes: Places) -> Places:
    """A number for each row that equal rows of one class share; rows of text all differ."""
    values = None if issparse(X) else np.asarray(X)
    if values is None or values.ndim != 2 or values.dtype.kind not in "biuf":
        return np.arange(len(codes))
    hashes = row_hash(values.astype(np.float64, copy=False), codes.astype(np.float64))
    return np.unique(hashes, return_inverse=True)[1]


def hold_out(
    group: Places, codes: Places, part: float, rng: np.random.RandomState
) -> NDArray[np.bool_]:
    """Rows to hold out: this part of each class, at least one of two, never all of a class.

    Rows of one group are held out together, or none of them.
    """
    chosen = []
    for c in np.unique(codes):
        groups = np.unique(group[codes == c])
        count = min(max(1, round(part * len(groups))), len(groups) - 1)
        chosen.append(rng.permutation(groups)[:count])
    return np.isin(group, np.concatenate(chosen))


def as_in_all_rows(weight: Array, codes: Places, mass: Array) -> Array:
    """Weights of hold-out rows, multiplied so that each class there has its mass (C,) again.

    Of a class with few rows a larger part is held out than of the others.
    """
    held = np.bincount(codes, weights=weight, minlength=len(mass))
    return np.asarray(weight * (mass[codes] / held[codes]))


def curve(p: Array, codes: Places, share: Array, weight: Array) -> Curve:
    """Errors and recall of each power on rows with probabilities p (n, C) and classes codes.

    A class of which no row could be held out counts as wrong: nobody would have known it.
    """
    wrong = np.stack([(p * costs(share, a)).argmax(axis=1) != codes for a in POWERS])
    weight = weight / weight.max()
    error = wrong @ weight / weight.sum()
    present = np.bincount(codes, weights=weight, minlength=len(share))
    missed = np.stack([np.bincount(codes, weight * w, minlength=len(share)) for w in wrong])
    seen = present > 0.0
    recall = 1.0 - (missed[:, seen] / present[seen]).mean(axis=1)
    # The exact upper limit for a share (Clopper and Pearson, 1934); rows of different weights
    # count as fewer rows of one weight (Kish, 1965), which is an approximation.
    n = weight.sum() ** 2 / (weight**2).sum()
    bound = beta.ppf(CONFIDENCE, n * error + 1.0, np.maximum(n * (1.0 - error), 1e-9))
    bound = np.where(error < 1.0, bound, 1.0)
    unknown = share[~seen].sum()
    return Curve(
        POWERS, unknown + (1.0 - unknown) * error, unknown + (1.0 - unknown) * bound, recall
    )


def _log(p: Array) -> Array:
    return np.asarray(np.log(np.maximum(p, np.finfo(float).tiny)))


def _fit(estimator: Any, X: Any, y: NDArray[Any], weight: Array | None) -> Any:
    """Fit; weights are named only where there are some."""
    if weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise TypeError(f"{type(estimator).__name__} takes no sample_weight; leave it out.")
    return estimator.fit(X, y) if weight is None else estimator.fit(X, y, sample_weight=weight)
