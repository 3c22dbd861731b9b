"""Writes the files of this folder; run once, when version 1 of the format was settled.

They must stay readable for ever, so this script is kept as a record and not run again. stick-1.bank
is of the last banklearn that put all classes on a stick; a later one would write another file.
"""

import json
from pathlib import Path

import numpy as np

from banklearn import BankClassifier, BankRegressor

FOLDER = Path(__file__).parent
ROWS = np.linspace(-1.5, 1.5, 12).reshape(4, 3)


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = 10.0 + np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(60)
    label = np.array(["low", "mid", "high"])[(y > 10.5).astype(int) + (y > 11.5)]
    five = np.digitize(y.argsort().argsort(), [1, 2, 30, 59])  # three classes with one row each
    small = {"n_warmup": 6, "n_draws": 2, "thin": 1, "random_state": 3}
    models = {
        "regressor": BankRegressor(4, input_scaling="arcsinh", trend="linear", **small).fit(X, y),
        "classifier": BankClassifier(4, **small).fit(X, label),
        "laplace": BankClassifier(4, inference="laplace-mh", **small).fit(X, y > 11),
        "stick": BankClassifier(4, **small).fit(X, five),
    }
    expected = {}
    for name, model in models.items():
        model.save(FOLDER / f"{name}-1.bank")
        answer = model.predict_proba if hasattr(model, "classes_") else model.predict_interval
        expected[name] = np.asarray(answer(ROWS)).tolist()
    (FOLDER / "expected-1.json").write_text(json.dumps(expected, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
