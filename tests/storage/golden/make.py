"""Writes files of this folder: python tests/storage/golden/make.py NAME...

They must stay readable for ever, so the script is a record of how they came about: a file that is
there is not written again. stick-1.bank is of the last banklearn that put all classes on a stick;
the same fit now gives tree-1.bank. errors-1.bank has a learned law of errors.
"""

import json
import sys
from pathlib import Path

import numpy as np

from banklearn import BankClassifier, BankRegressor

FOLDER = Path(__file__).parent
ROWS = np.linspace(-1.5, 1.5, 12).reshape(4, 3)


def main(names: list[str]) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = 10.0 + np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(60)
    label = np.array(["low", "mid", "high"])[(y > 10.5).astype(int) + (y > 11.5)]
    five = np.digitize(y.argsort().argsort(), [1, 2, 30, 59])  # three classes with one row each
    many = rng.standard_normal((250, 3))
    heavy = np.sin(2 * many[:, 0]) + 0.1 * rng.standard_t(2, 250)
    small = {"n_warmup": 6, "n_draws": 2, "thin": 1, "random_state": 3}
    models = {
        "regressor": (BankRegressor(4, input_scaling="arcsinh", trend="linear", **small), X, y),
        "classifier": (BankClassifier(4, **small), X, label),
        "laplace": (BankClassifier(4, inference="laplace-mh", **small), X, y > 11),
        "stick": (BankClassifier(4, **small), X, five),
        "tree": (BankClassifier(4, **small), X, five),
        "errors": (BankRegressor(4, **small), many, heavy),
    }
    answers = FOLDER / "expected-1.json"
    expected = json.loads(answers.read_text(encoding="utf-8"))
    for name in names:
        path = FOLDER / f"{name}-1.bank"
        if path.exists():
            raise FileExistsError(f"{path} is there already; files of this folder never change.")
        estimator, rows, target = models[name]
        model = estimator.fit(rows, target)
        model.save(path)
        answer = model.predict_proba if hasattr(model, "classes_") else model.predict_interval
        expected[name] = np.asarray(answer(ROWS)).tolist()
    answers.write_text(json.dumps(expected, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
