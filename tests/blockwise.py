"""Problems and fits shared by the tests of rows that come in blocks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from banklearn import BankClassifier, BankRegressor
from trees import rare_classes

N = 5200
#: Sizes of partitions: one, two, and seven unequal ones.
PARTITIONS = {1: (N,), 2: (4100, 1100), 7: (1, 700, 4, 2500, 999, 896, 100)}


@dataclass
class Case:
    """Rows, labels and the estimator that learns them."""

    X: Any
    y: Any
    weight: Any
    estimator: Any

    def blocks(self, sizes):
        """The rows in blocks of the given sizes."""
        ends = np.cumsum(sizes)
        parts = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
        assert ends[-1] == len(self.X)
        if self.weight is None:
            return [(self.X[p], self.y[p]) for p in parts]
        return [(self.X[p], self.y[p], self.weight[p]) for p in parts]

    def output(self, model):
        """Predictions at the first rows."""
        rows = self.X[:200]
        if hasattr(model, "feature_names_in_"):
            rows = pd.DataFrame(rows, columns=model.feature_names_in_)
        return getattr(model, "predict_proba", model.predict)(rows)


def make_case(kind, **options):
    """Regression, "binary", "three classes" or "five classes", with weights but for "binary"."""
    rng = np.random.default_rng(5)
    X = np.round(rng.standard_normal((N, 2)), 12)
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(N)
    weight = None if kind == "binary" else rng.integers(0, 3, N).astype(float)
    common = {
        "n_frequencies": 5,
        "n_chains": 2,
        "n_warmup": 6,
        "n_draws": 2,
        "thin": 1,
        "trend": "constant",
        "spectral_scale": 0.7,
        "merge_duplicates": False,
        "random_state": 3,
        **options,
    }
    if kind == "regression":
        return Case(X, y, weight, BankRegressor(**common))
    labels = np.array(["a", "b", "c", "d", "e"])
    if kind == "binary":
        return Case(X, labels[(y > 0.3).astype(int)], weight, BankClassifier(**common))
    common.setdefault("class_weight", {"b": 2.0})
    places = np.digitize(y, [-0.5, 1.0]) if kind == "three classes" else rare_classes(y)
    return Case(X, labels[places], weight, BankClassifier(**common))


def fit_in_memory(case):
    """The reference."""
    return case.estimator.fit(case.X, case.y, case.weight)


def assert_same_fit(case, one, two, tolerance):
    """Every decision the same, predictions to a relative tolerance."""
    for a, b in zip(one.trace_, two.trace_, strict=True):
        for name in ("accepted_jumps", "accepted_local", "accepted_switches", "K", "lam"):
            np.testing.assert_allclose(a[name], b[name], rtol=tolerance, err_msg=name)
    for a, b in zip(one.draws_, two.draws_, strict=True):
        np.testing.assert_allclose(a.W, b.W, rtol=tolerance)
    p, q = case.output(one), case.output(two)
    np.testing.assert_allclose(p, q, rtol=0, atol=tolerance * np.abs(p).max())
