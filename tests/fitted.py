"""Small fitted regressors that tests of plots and reports share; each is fitted once."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from banklearn import BankClassifier, BankRegressor


class Fitted(NamedTuple):
    model: Any
    X_test: Any
    y_test: np.ndarray


def small(**options: Any) -> BankRegressor:
    settings = {
        "n_chains": 2,
        "n_warmup": 12,
        "n_draws": 6,
        "thin": 2,
        "random_state": 0,
        **options,
    }
    return BankRegressor(16, **settings)


@cache
def one_input() -> Fitted:
    rng = np.random.default_rng(0)
    X = 3.0 * rng.standard_normal((220, 1)) + 1.0
    y = 5.0 * np.sin(X[:, 0]) + 0.4 * rng.standard_normal(220)
    model = small(input_scaling="standard").fit(X[:160], y[:160])
    return Fitted(model, X[160:], y[160:])


@cache
def three_inputs(scaling: str = "standard") -> Fitted:
    """The second input is constant."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 3)) * [2.0, 0.0, 0.5]
    y = X[:, 0] + np.cos(3.0 * X[:, 2]) + 0.2 * rng.standard_normal(200)
    return Fitted(small(input_scaling=scaling).fit(X[:150], y[:150]), X[150:], y[150:])


@cache
def two_classes() -> Fitted:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((150, 2))
    y = (X[:, 0] + 0.5 * rng.standard_normal(150) > 0).astype(int)
    model = BankClassifier(8, n_warmup=8, n_draws=4, thin=1, random_state=0)
    return Fitted(model.fit(X[:120], y[:120]), X[120:], y[120:])
