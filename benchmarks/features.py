"""BankFeatures and ridge beside BankRegressor: what is lost by handing on features alone.

    python benchmarks/features.py [--data noise] [--folds 5] [--frequencies 256] [--max-time 60]

Each fold is fitted once; the features are those of the same chains, so that the ratio is of the
two ways to predict and not of two fits. The ridge is chosen by leave-one-out on training rows.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline

from banklearn import BankFeatures, BankRegressor
from banklearn.datasets import folds, load

DRAWS = (1, 4, 8, 16)
ALPHAS = np.logspace(-8, 2, 31)


def mse(model, X, y):
    return float(np.mean((model.predict(X) - y) ** 2))


def one_fold(X, y, train, test, options):
    """Mean squared errors: the regressor's, then ridge's on the features of 1, 4, ... draws."""
    model = BankRegressor(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[train], y[train])
    errors = [mse(model, X[test], y[test])]
    for draws in DRAWS:
        features = BankFeatures.from_fitted(model, max_draws=draws)
        Phi = features.transform(X[train])
        ridge = RidgeCV(ALPHAS).fit(Phi, y[train])
        errors.append(mse(make_pipeline(features, ridge), X[test], y[test]))
    return errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="noise")
    parser.add_argument("--folds", type=int, default=5, help="how many of the five folds")
    parser.add_argument("--frequencies", type=int, default=256)
    parser.add_argument("--max-time", type=float, default=60.0, help="seconds a fit")
    arguments = parser.parse_args()
    data = load(arguments.data)
    y = data.y / data.y.std()
    options = {
        "n_frequencies": arguments.frequencies,
        "max_time": arguments.max_time,
        "random_state": 0,
    }
    results = np.array(
        [
            one_fold(data.X, y, train, test, options)
            for train, test in folds(len(y))[: arguments.folds]
        ]
    )
    title = f"{data.name}, {len(results)} folds"
    table = Table("method", "mean squared error", "ratio", title=title)
    names = ["BankRegressor", *(f"BankFeatures({n} draws) + ridge" for n in DRAWS)]
    for name, column in zip(names, results.T, strict=True):
        spread = column.std(ddof=1) / np.sqrt(len(column)) if len(column) > 1 else float("nan")
        ratio = column.mean() / results[:, 0].mean()
        table.add_row(name, f"{column.mean():.4f} ± {spread:.4f}", f"{ratio:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
