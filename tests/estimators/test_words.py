"""The judge of errors in the adversarial tests knows false friends."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.utils.validation import check_array

import banklearn
from adversarial import attempt
from banklearn import BankRegressor
from words import SPEAKERS

PACKAGE = Path(banklearn.__file__).resolve().parent

#: Lines that fail in a frame of this package although nobody foresaw it.
UNFORESEEN = {
    "shapes": "np.ones(3) + np.ones(4)",
    "an index that is no number": "int(float('nan'))",
    "a number too large": "float(10**400)",
    "text": "np.asarray(['many words that are no number']).astype(float)",
    "unpacking": "a, b = (1, 2, 3)",
    "an argument that is not known": "int(unknown_argument_of_this_function=1)",
    "division by zero": "1 // 0",
    "a sentence that fails while it is made": "raise ValueError(f'rows: {int(float(str(None)))}')",
    "the same over two lines": "raise ValueError(\n        f'{np.ones(3) + np.ones(4)}'\n    )",
    "somebody else's error handed on": (
        "\n    try:\n        int(float('nan'))\n    except ValueError as e:\n        raise e"
    ),
    "no words": "raise ValueError('bad input')",
}


def function(body, file):
    space = {"np": np}
    exec(compile(f"def f():\n    {body}\n", str(file), "exec"), space)
    return space["f"]


@pytest.mark.parametrize("body", UNFORESEEN.values(), ids=UNFORESEEN)
def test_an_error_that_nobody_foresaw_is_a_failure(body):
    with pytest.raises((ValueError, TypeError, ArithmeticError, AssertionError)):
        attempt(function(body, PACKAGE / "estimators" / "regressor.py"))


SENTENCE = "raise ValueError('array must not contain infs or NaNs')"


@pytest.mark.parametrize(
    "file",
    [
        "/somewhere/banklearn/.venv/lib/python3.12/site-packages/scipy/linalg/basic.py",
        "/somewhere/banklearn/src/sklearn/utils/validation.py",
        PACKAGE.parent / "banklearn_extra" / "regressor.py",
        PACKAGE.parents[1] / ".venv" / "lib" / "python3.12" / "site-packages" / "scipy" / "x.py",
    ],
)
def test_a_library_beside_the_package_does_not_speak_for_it(file):
    with pytest.raises(ValueError, match="infs"):
        attempt(function(SENTENCE, file))


@pytest.mark.parametrize("body", [SENTENCE, SENTENCE.replace("('", "(\n        '")])
@pytest.mark.parametrize("file", [PACKAGE / "sources" / "base.py", *SPEAKERS[1:]])
def test_a_sentence_of_ours_or_of_the_validation_is_one(file, body):
    assert attempt(function(body, file)) is None


def test_real_sentences():
    assert attempt(lambda: check_array([1.0, 2.0])) is None
    assert attempt(lambda: BankRegressor(n_draws=-1).fit([[1.0]], [1.0])) is None
    assert attempt(lambda: BankRegressor().fit([["Rome"]], [1.0])) is None
