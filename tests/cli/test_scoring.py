"""Scores in words: sentences that are true whatever the rows kept out are like."""

import json

import numpy as np
import pytest

from banklearn.cli.prepare import held_out
from banklearn.cli.scoring import in_words, scores
from command_line import QUICK, bank


class Constant:
    """Predicts one number."""

    def __init__(self, value):
        self.value = value

    def predict(self, X, return_std=False):
        mean = np.full(len(X), self.value)
        return (mean, np.ones(len(X))) if return_std else mean


def said(prediction, y, training):
    return in_words(scores(Constant(prediction), np.zeros((len(y), 1)), y, training), len(y))[0]


def test_a_share_of_variance_and_the_mean_alone_name_their_means():
    y, training = np.array([0.0, 1.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.5])
    told = said(1.15, y, training)
    assert "none of the variance around their own mean explained (R² -1.690)" in told
    assert "mean squared error 0.6725, of the mean of the training rows alone 0.6944" in told
    assert "-169" not in told
    assert "0.0 % of the variance around their own mean explained" in said(0.5, y, training)


@pytest.mark.parametrize("value", [1.0, 0.1])
def test_a_target_that_does_not_vary_is_said_not_to(value):
    told = said(0.5, np.full(7, value), np.array([0.0, 1.0]))
    assert "the target does not vary there" in told
    assert "nan" not in told


def test_a_fit_whose_rows_kept_out_have_one_target(tmp_path):
    _, test = held_out(np.zeros(60), 0.2, "regression", 0)
    x, y = np.sin(np.arange(60.0)), np.arange(60.0)
    y[test] = 7.0
    lines = [f"{value},{target}" for value, target in zip(x, y, strict=True)]
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
    out = tmp_path / "m.bank"
    result = bank(
        "fit", tmp_path / "t.csv", "--target", "y", "--out", out, "--report", tmp_path / "m.html",
        "--json", *QUICK,
    )  # fmt: skip
    assert json.loads(result.stdout)["scores"]["r2"] is None
    assert "the target does not vary there" in result.stderr
    assert "the target does not vary there" in bank("inspect", out).output
    assert "have no variance to explain" in (tmp_path / "m.html").read_text(encoding="utf-8")
