"""Marks of the tables against SciPy and against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, t

from banklearn.experiments.marks import Mark, mcnemar, mcnemar_marks, paired_t, t_marks
from banklearn.experiments.tables import plus_minus


def test_paired_t_by_hand():
    a, b = np.array([3.0, 5.0, 4.0, 6.0, 7.0]), np.array([2.0, 5.0, 2.0, 3.0, 6.0])
    # Differences 1, 0, 2, 3, 1: mean 1.4, variance 1.3, so t = 1.4 / sqrt(1.3 / 5) with 4 dof.
    statistic = 1.4 / np.sqrt(1.3 / 5.0)
    assert paired_t(a, b) == pytest.approx(2.0 * t.sf(statistic, 4))
    assert np.isnan(paired_t([1.0], [2.0]))
    assert paired_t([1.0, 2.0], [1.0, 2.0]) == 1.0
    assert paired_t([2.0, 3.0], [1.0, 2.0]) == 0.0
    with pytest.raises(ValueError, match="vectors of one length"):
        paired_t(a, b[:3])


def test_mcnemar_by_hand():
    # 2 rows only a has right, 8 only b, 5 both, 1 neither: 2 P(Binomial(10, 1/2) <= 2) = 112/1024.
    a = np.repeat([True, False, True, False], [2, 8, 5, 1])
    b = np.repeat([False, True, True, False], [2, 8, 5, 1])
    assert mcnemar(a, b) == pytest.approx(112 / 1024)
    assert mcnemar(a, b) == pytest.approx(2.0 * binom.cdf(2, 10, 0.5))
    assert mcnemar(a, a) == 1.0
    with pytest.raises(ValueError, match="vectors of one length"):
        mcnemar(a, b[:3])


def test_marks_name_the_lowest_and_those_not_told_apart():
    errors = {
        "best": {0: 0.10, 1: 0.12, 2: 0.11},
        "close": {0: 0.13, 1: 0.11, 2: 0.12},
        "worse": {0: 0.20, 1: 0.225, 2: 0.21},
        "alone": {4: 0.5},
    }
    marks = t_marks(errors)
    assert marks["best"] == Mark(True, 1.0)
    assert marks["close"].bold
    assert not marks["close"].lowest
    assert not marks["worse"].bold
    assert marks["worse"].p_value == pytest.approx(
        paired_t([0.20, 0.225, 0.21], [0.10, 0.12, 0.11])
    )
    assert not marks["alone"].bold  # no fold in common: nothing was tested


def test_mcnemar_marks_pool_the_folds():
    rng = np.random.default_rng(0)
    right = {m: {f: rng.random(200) < p for f in range(3)} for m, p in (("a", 0.9), ("b", 0.8))}
    marks = mcnemar_marks(right)
    pooled = [np.concatenate(list(right[m].values())) for m in "ba"]
    assert marks["a"].lowest
    assert marks["b"].p_value == mcnemar(*pooled) < 0.05
    assert not marks["b"].bold
    apart = mcnemar_marks({"a": {0: right["a"][0]}, "b": {1: right["b"][1]}})
    assert np.isnan(apart["b"].p_value)  # no fold in common: nothing was tested
    assert not apart["b"].bold


def test_numbers_carry_two_digits_of_their_error():
    assert plus_minus(0.08212, 0.0101) == "0.082 ± 0.010"
    assert plus_minus(6.67e-7, 5.5e-9) == "(6.670 ± 0.055)e-7"
    assert plus_minus(52.5, 2.5) == "52.5 ± 2.5"
    assert plus_minus(0.25, float("nan")) == "0.25"


def test_a_table_has_a_dash_where_one_fold_cannot_be_tested():
    alone = t_marks({"a": {0: 1.0}, "b": {0: 2.0}})
    assert [alone["a"].words, alone["b"].words] == ["lowest", "\N{EN DASH}"]
    assert Mark(False, 0.0321).words == "0.032"
