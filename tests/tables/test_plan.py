"""A plan is learned from training rows and does the same to every later table."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

from banklearn.tables import PlanOptions, Table, TableError, TablePlan, learn_plan
from banklearn.tables.columns import DateColumn, NumberColumn, OneHotColumn, TargetColumn
from banklearn.tables.targets import TargetPlan, learn_target

NUMBER = TargetPlan("y", "regression", "plain")


def table(**columns) -> Table:
    arrays = {name: pa.array(values) for name, values in columns.items()}
    n = len(next(iter(arrays.values())))
    return Table("table.csv", arrays, np.arange(2, n + 2), "line", ",")


def words(values) -> list[str]:
    return [str(value) for value in values]


def learn(n=60, **columns):
    y = np.arange(n) * 1.0
    return learn_plan(table(**columns, y=words(y)), NUMBER, y, PlanOptions())


def test_one_hot_agrees_with_scikit_learn():
    c = [("red", "green", "blue")[i % 3] for i in range(60)]
    learned = learn(c=c)
    expected = OneHotEncoder(sparse_output=False).fit_transform(np.array(c)[:, None])
    np.testing.assert_array_equal(learned.X, expected)
    assert learned.plan.inputs == ["c = blue", "c = green", "c = red"]


def test_target_encoding_agrees_with_scikit_learn_on_new_rows():
    c = [f"p{i % 20}" for i in range(60)]
    learned = learn(c=c)
    (column,) = learned.plan.columns
    assert isinstance(column, TargetColumn)
    new, _ = learned.plan.apply(table(c=["p3", "p19", "p3"]))
    encoder = TargetEncoder(target_type="continuous").fit(np.array(c)[:, None], np.arange(60.0))
    np.testing.assert_allclose(new, encoder.transform(np.array([["p3"], ["p19"], ["p3"]])))


def test_a_row_s_own_target_has_no_part_in_its_encoding():
    rng = np.random.default_rng(0)
    c = [f"p{i % 25}" for i in range(50)]
    y = rng.standard_normal(50)
    target_free = learn_plan(table(c=c, y=words(y)), NUMBER, y).X[:, 0]
    changed = y.copy()
    changed[7] += 100.0
    moved = learn_plan(table(c=c, y=words(changed)), NUMBER, changed).X[:, 0]
    assert moved[7] == target_free[7]
    assert (moved != target_free).any()


def test_the_encoding_sees_training_rows_only():
    y = np.arange(60.0)
    whole = table(c=[f"p{i % 20}" for i in range(60)], x=words(range(60)), y=words(y))
    part = np.arange(40)
    learned = learn_plan(whole.take(part), NUMBER, y[part])
    text, number = learned.plan.columns
    assert isinstance(text, TargetColumn)
    assert isinstance(number, NumberColumn)
    assert number.fill == np.median(part)
    np.testing.assert_allclose(text.default, y[part].mean())


def test_missing_values_get_the_training_median_and_an_indicator():
    learned = learn(x=["" if i < 10 else str(i) for i in range(60)])
    assert learned.plan.inputs == ["x", "x is missing"]
    np.testing.assert_array_equal(learned.X[:10], [[34.5, 1.0]] * 10)
    np.testing.assert_array_equal(learned.X[10:, 1], 0.0)


def test_missing_values_that_appear_later_are_filled_and_said():
    learned = learn(x=words(range(60)))
    X, notes = learned.plan.apply(table(x=["1", "NA"]))
    np.testing.assert_array_equal(X, [[1.0], [29.5]])
    assert notes == [
        "Column 'x': 1 missing value replaced by the training median; there was none in the "
        "training rows."
    ]


def test_dates_become_days_and_circles():
    days = np.datetime64("2019-01-01") + np.arange(0, 1200, 20)
    learned = learn(t=words(days))
    (column,) = learned.plan.columns
    assert isinstance(column, DateColumn)
    assert column.parts == ("weekday", "season")
    np.testing.assert_allclose(learned.X[:, 0], np.arange(0, 1200, 20))
    monday, _ = learned.plan.apply(table(t=["2024-01-01", "2024-01-08", "2024-01-04"]))
    np.testing.assert_allclose(monday[0, 1:3], [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(monday[0, 1:3], monday[1, 1:3], atol=1e-12)
    assert abs(monday[2, 1] - monday[0, 1]) > 1


def test_columns_are_found_by_name_and_others_passed_over():
    learned = learn(a=words(range(60)), b=words(np.arange(60) ** 2))
    X, notes = learned.plan.apply(table(b=["4"], new=["?"], a=["2"]))
    np.testing.assert_array_equal(X, [[2.0, 4.0]])
    assert notes == ["Columns that the model does not know, passed over: new."]


def test_a_missing_column_is_named():
    learned = learn(a=words(range(60)), b=words(np.arange(60) ** 2), k=["1"] * 60)
    assert learned.plan.needed == ["a", "b"]
    with pytest.raises(TableError, match="lacks 'b', which the model needs"):
        learned.plan.apply(table(a=["1"], c=["2"]))


def test_a_new_level_is_refused_by_line_or_ignored_on_request():
    learned = learn(c=[("red", "green", "blue")[i % 3] for i in range(60)])
    later = table(c=["red", "pink", "mauve"])
    with pytest.raises(TableError) as caught:
        learned.plan.apply(later)
    assert "line 3, column 'c': 'pink' did not occur in the training rows" in str(caught.value)
    assert "2 rows with new levels ('mauve', 'pink')" in str(caught.value)
    X, notes = learned.plan.apply(later, unseen="ignore")
    np.testing.assert_array_equal(X, [[0, 0, 1], [0, 0, 0], [0, 0, 0]])
    assert "treated as unknown" in notes[0]


def test_a_column_that_changed_its_kind_is_refused_by_line():
    learned = learn(x=words(range(60)))
    with pytest.raises(TableError, match="line 3, column 'x': 'many' is not a number"):
        learned.plan.apply(table(x=["1", "many"]))
    with pytest.raises(TableError, match="column 'x' holds values of type date32"):
        learned.plan.apply(table(x=np.array(["2020-01-01"], dtype="datetime64[D]")))


def test_a_typed_column_may_come_as_text_later():
    days = np.datetime64("2020-01-01") + np.arange(60)
    learned = learn(t=days)
    assert learned.plan.columns[0].written == "native"
    X, _ = learned.plan.apply(table(t=["2020-01-03", "2020-01-04T01:00+01:00", "2020-01-05 12:00"]))
    np.testing.assert_allclose(X[:, 0], [2.0, 3.0, 4.5])
    with pytest.raises(TableError, match=r"line 3, column 't': '2020-01-32' is not a date"):
        learned.plan.apply(table(t=["2020-01-03", "2020-01-32"]))
    with pytest.raises(TableError, match=r"type double, but dates are needed"):
        learned.plan.apply(table(t=[1.0, 2.0]))


def test_a_column_without_any_type_is_missing_throughout():
    learned = learn(
        x=words(range(60)),
        t=words(np.datetime64("2020-01-01") + np.arange(60)),
        c=[("red", "green", "blue")[i % 3] for i in range(60)],
        void=pa.nulls(60),
    )
    assert dict(learned.plan.describe())["void"] == "left out: every value is missing"
    X, notes = learned.plan.apply(table(x=pa.nulls(2), t=pa.nulls(2), c=pa.nulls(2)))
    x, t, *c = (learned.plan.inputs.index(n) for n in ("x", "t (days)", "c = blue", "c = red"))
    np.testing.assert_array_equal(X[:, [x, t]], [[29.5, 29.5]] * 2)
    np.testing.assert_array_equal(X[:, c], 0.0)
    assert notes[-1] == (
        "Column 'c': 2 missing values; there was none in the training rows, so they are treated "
        "as unknown."
    )


def test_numbers_as_text_are_their_shortest_writing():
    y = np.arange(60.0)
    rows = table(v=[(0.1, 2.0, None)[i % 3] for i in range(60)], gone=[""] * 60, y=words(y))
    plan = learn_plan(rows, NUMBER, y, PlanOptions(text=("v", "gone"))).plan
    assert dict(plan.describe()) == {
        "v": "text, one-hot: 0.1, 2, and one for missing values",
        "gone": "left out: every value is missing",
    }


def test_dates_of_a_few_days_or_of_one():
    n = 60
    learned = learn(
        t=words(np.datetime64("2020-01-01") + np.arange(n) % 9),
        same=["2020-01-01"] * n,
    )
    assert learned.plan.inputs == ["t (days)"]  # nine days say nothing about weekdays
    assert dict(learned.plan.describe())["same"] == "left out: constant, always the same date"
    with pytest.raises(TableError, match="holds dates; a target must be numbers or labels"):
        learn_target(table(y=["2020-01-01", "2020-01-02"] * 30), "y", "auto", [])


def test_choices_of_the_user():
    columns = {"a": words(np.arange(60) % 4), "c": [f"p{i % 20}" for i in range(60)]}
    y = np.arange(60.0)
    rows = table(**columns, y=words(y))
    plan = learn_plan(rows, NUMBER, y, PlanOptions(text=("a",), encode="one-hot")).plan
    assert [type(column) for column in plan.columns] == [OneHotColumn, OneHotColumn]
    plan = learn_plan(rows, NUMBER, y, PlanOptions(drop=("c",))).plan
    assert dict(plan.describe())["c"] == "left out: as asked"
    with pytest.raises(TableError, match="no column 'z'"):
        learn_plan(rows, NUMBER, y, PlanOptions(drop=("z",)))


@pytest.mark.parametrize(
    ("values", "task", "expected"),
    [
        (["yes", "no"] * 30, "auto", "classification"),
        (["0", "1"] * 30, "auto", "classification"),
        (["0", "1"] * 30, "regression", "regression"),
        (["0", "1", "2"] * 20, "auto", "regression"),
        (["0", "1", "2"] * 20, "classification", "classification"),
        (words(np.arange(60) / 7), "auto", "regression"),
    ],
)
def test_the_task_is_recognised_unless_it_is_said(values, task, expected):
    plan, y, rows = learn_target(table(y=values), "y", task, [])
    assert plan.task == expected
    assert len(y) == len(rows) == 60


def test_text_is_no_target_of_regression():
    with pytest.raises(TableError, match=r"holds text .* Say --task classification"):
        learn_target(table(y=["a", "b"] * 30), "y", "regression", [])


def test_a_plan_of_another_format_is_refused():
    data = learn(x=words(range(60))).plan.to_json()
    with pytest.raises(TableError, match="format 99"):
        TablePlan.from_json({**data, "format": 99})


CELLS = st.one_of(
    st.none(),
    st.sampled_from(["", "NA", "red", "green", "-"]),
    st.floats(-1e6, 1e6).map(lambda v: f"{v:.3f}"),
)


@settings(max_examples=30)
@given(st.lists(CELLS, min_size=20, max_size=40), st.sampled_from(["number", "text"]))
def test_any_plan_survives_json_and_gives_the_same_inputs(cells, kind):
    column = [
        cell
        if kind == "text" or cell is None or cell in ("", "NA", "-") or cell[-1].isdigit()
        else "1.5"
        for cell in cells
    ]
    y = np.arange(float(len(column)))
    rows = table(c=pa.array(column, pa.string()), x=words(range(len(column))), y=words(y))
    try:
        learned = learn_plan(rows, NUMBER, y)
    except TableError:
        return
    copy = TablePlan.from_json(json.loads(json.dumps(learned.plan.to_json())))
    assert copy == learned.plan
    np.testing.assert_array_equal(copy.apply(rows)[0], learned.plan.apply(rows)[0])


@pytest.mark.parametrize("kinds", [2, 3])
def test_a_rare_class_is_encoded_from_other_rows_too(kinds):
    """A part of the cross-fitting in which a class is absent has a share of zero for it."""
    n = 120
    c = [f"p{i % 25}" for i in range(n)]
    y = np.array([("a", "b")[i % 2] if kinds == 3 else "a" for i in range(n)])
    y[7] = "rare"
    plan = TargetPlan("y", "classification", "text", tuple(sorted(set(y.tolist()))))
    learned = learn_plan(table(c=c, y=y.tolist()), plan, y)
    shares = learned.X if kinds == 3 else np.column_stack([1.0 - learned.X, learned.X])
    assert shares[:, -1].max() < 0.3
    assert shares[7, -1] == 0.0  # its own label has no part in it
    encoder = TargetEncoder(target_type="multiclass" if kinds == 3 else "binary")
    X = np.array(c)[:, None]
    expected = encoder.fit(X, y).transform(X)
    np.testing.assert_allclose(learned.plan.apply(table(c=c))[0], expected)
