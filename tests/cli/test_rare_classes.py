"""A comparison on tables with few rows or rare classes comes to its end."""

import json

import numpy as np
import pytest

from banklearn.cli.compare import fold_inputs
from banklearn.cli.contest import Clock, run
from banklearn.cli.prepare import prepare
from banklearn.cli.rivals import can_stratify, make_rival, penalty_splits
from banklearn.cli.scoring import scores
from banklearn.cli.worker import Worker
from banklearn.tables import PlanOptions, ReadOptions, TableError
from command_line import bank


def labels(**counts):
    return np.repeat(list(counts), list(counts.values()))


def inputs(y, seed=0):
    shift = np.unique(y, return_inverse=True)[1]
    return np.random.default_rng(seed).standard_normal((len(y), 2)) + 2.0 * shift[:, None]


@pytest.mark.parametrize(
    "counts",
    [
        {"a": 40, "b": 1},
        {"a": 40, "b": 2},
        {"a": 20, "b": 20, "c": 1},
        {"a": 5, "b": 2, "c": 2},
        {"a": 2, "b": 2, "c": 2},
    ],
)
@pytest.mark.parametrize("name", ["linear", "boosting", "RKS"])
@pytest.mark.filterwarnings("error::sklearn.exceptions.FitFailedWarning")
def test_rivals_fit_classes_of_one_row(name, counts):
    y = labels(**counts)
    model = make_rival(name, "classification", 8, 0, y).fit(inputs(y), y)
    new = labels(a=9, b=9)
    found = scores(model, inputs(new, 1), new, y)
    assert all(np.isfinite(value) for value in found.values())


def test_a_rare_class_does_not_blind_the_choice_of_the_penalty():
    y = labels(a=30, b=30, c=1)
    search = make_rival("linear", "classification", 8, 0, y).fit(inputs(y), y)[-1]
    found = search.cv_results_["mean_test_score"]
    assert np.isfinite(found).all()
    assert found.max() - found.min() > 0.01
    assert search.best_params_["C"] == search.param_grid["C"][found.argmax()]


def test_rows_of_rare_classes_fit_and_never_judge():
    y = labels(a=6, b=2)
    splits = penalty_splits(y)
    assert len(splits) == 3
    for fit, judge in splits:
        assert set(y[fit]) == {"a", "b"}
        assert set(y[judge]) == {"a"}
        assert not set(fit) & set(judge)
    assert penalty_splits(labels(a=2, b=2)) == []


def test_early_stopping_wherever_the_classes_can_be_split():
    assert can_stratify(labels(a=50, b=2))
    assert not can_stratify(labels(a=50, b=1))
    assert not can_stratify(labels(a=5, b=5, c=5, d=5))  # two validation rows, four classes
    model = make_rival("boosting", "classification", 8, 0, labels(a=50, b=20))
    assert model.early_stopping is True


def test_a_cell_that_fails_leaves_the_others():
    y = labels(a=15, b=15)
    good = (inputs(y), y, inputs(y, 1), y)
    bad = (inputs(y), labels(a=30), inputs(y, 1), y)  # one class: nothing to learn
    with Worker() as worker:
        contest = run(worker, [bad, good], "classification", 8, 0, Clock(None, 0.0), lambda _: None)
    for name in ("linear", "BaNK"):
        assert contest.results[name][0] is None
        assert contest.results[name][1]["error"] < 0.5
        (reason,) = contest.unfinished[name]
        assert reason.startswith("it failed: ValueError: ")
        assert "\n" not in reason
    assert contest.failed == sum(map(len, contest.unfinished.values()))


def test_rivals_that_are_none_are_refused():
    with pytest.raises(ValueError, match="There is no rival called 'forest'; there are linear, "):
        make_rival("forest", "regression", 8, 0, np.zeros(5))


def prepared(tmp_path, y):
    path = tmp_path / "d.csv"
    rows = [f"{i},{i * i % 7},{label}" for i, label in enumerate(y)]
    path.write_text("a,b,y\n" + "\n".join(rows))
    return prepare(path, "y", "auto", ReadOptions())


def test_folds_that_cannot_be_cut_are_refused(tmp_path):
    found = prepared(tmp_path, labels(a=10, b=1))
    with pytest.raises(TableError, match="Only one row has the class 'b'"):
        fold_inputs(found, 2, PlanOptions(), 0)
    with pytest.raises(TableError, match="11 rows cannot be cut into 12 folds"):
        fold_inputs(found, 12, PlanOptions(), 0)


def test_folds_have_equal_shares_of_classes_where_these_have_enough_rows(tmp_path):
    found = prepared(tmp_path, labels(a=12, b=6))
    for _, y, _, y_test in fold_inputs(found, 3, PlanOptions(), 0):
        assert np.unique(y, return_counts=True)[1].tolist() == [8, 4]
        assert np.unique(y_test, return_counts=True)[1].tolist() == [4, 2]
    few = fold_inputs(prepared(tmp_path, labels(a=12, b=2)), 4, PlanOptions(), 0)
    assert sum(np.sum(y_test == "b") for *_, y_test in few) == 2


@pytest.mark.alone  # nothing may be left unfinished when the minute is over
def test_compare_on_a_small_table_with_a_rare_class(tmp_path):
    y = labels(no=14, yes=10, perhaps=2)
    order = np.random.default_rng(0).permutation(len(y))
    rows = [f"{a:.5f},{b:.5f},{label}" for (a, b), label in zip(inputs(y), y, strict=True)]
    data = tmp_path / "small.csv"
    data.write_text("a,b,answer\n" + "\n".join(rows[i] for i in order))
    result = bank(
        "compare", data, "--target", "answer", "--folds", "2", "--frequencies", "4",
        "--max-time", "60s", "--json",
    )  # fmt: skip
    found = json.loads(result.stdout)
    assert found["unfinished"] == {}
    assert all(fold["error"] <= 1.0 for each in found["methods"].values() for fold in each)
