"""Booleans are the same in every format and spelling; plans of older models go on."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from banklearn.cli.prepare import prepare
from banklearn.tables import ReadOptions, Table, TableError, TablePlan, learn_plan, read
from banklearn.tables.columns import NumberColumn
from banklearn.tables.targets import TargetPlan, learn_target
from command_line import QUICK, bank

N = 60
FLAGS = [None if i % 7 == 0 else i % 3 == 0 for i in range(N)]
SPELLINGS = {
    "pandas": lambda flag: str(flag),
    "arrow": lambda flag: str(flag).lower(),
    "r": lambda flag: str(flag).upper(),
}


def table(**columns) -> Table:
    arrays = {name: pa.array(values) for name, values in columns.items()}
    n = len(next(iter(arrays.values())))
    return Table("table.csv", arrays, np.arange(2, n + 2), "line", ",")


def spelled(how, flags):
    if how == "typed":
        return pa.array(flags, pa.bool_())
    return pa.array(["" if flag is None else SPELLINGS[how](flag) for flag in flags])


@pytest.mark.parametrize("fitted", ["typed", *SPELLINGS])
@pytest.mark.parametrize("later", ["typed", *SPELLINGS])
def test_a_plan_finds_booleans_however_they_are_spelled(fitted, later):
    y = np.arange(float(N))
    target = TargetPlan("y", "regression", "native")
    learned = learn_plan(table(flag=spelled(fitted, FLAGS), y=y), target, y)
    X, _ = learned.plan.apply(table(flag=spelled(later, FLAGS)))
    np.testing.assert_array_equal(X, learned.X)
    np.testing.assert_array_equal(X[:, 0], [flag is True for flag in FLAGS])
    np.testing.assert_array_equal(X[:, 1], [flag is None for flag in FLAGS])


@pytest.mark.parametrize("fitted", ["typed", *SPELLINGS])
@pytest.mark.parametrize("later", ["typed", *SPELLINGS])
def test_a_target_of_booleans_keeps_its_labels(fitted, later):
    plan, y, rows = learn_target(table(y=spelled(fitted, FLAGS)), "y", "auto", [])
    assert plan.classes == tuple(SPELLINGS.get(fitted, str)(flag) for flag in (False, True))
    again, same_rows = plan.values(table(y=spelled(later, FLAGS)))
    np.testing.assert_array_equal(again, y)
    np.testing.assert_array_equal(same_rows, rows)


@pytest.mark.parametrize("how", ["typed", *SPELLINGS])
def test_booleans_are_numbers_where_regression_is_asked_for(how):
    plan, y, rows = learn_target(table(y=spelled(how, FLAGS)), "y", "regression", [])
    np.testing.assert_array_equal(y, [float(FLAGS[i]) for i in rows])
    for later in ("typed", *SPELLINGS):
        np.testing.assert_array_equal(plan.values(table(y=spelled(later, FLAGS)))[0], y)


@pytest.mark.parametrize("later", ["typed", *SPELLINGS])
def test_plans_in_which_booleans_were_numbers_still_serve(later):
    flags = [flag is True for flag in FLAGS]
    plan = TablePlan(
        TargetPlan("y", "classification", "native", ("0", "1")),
        (NumberColumn("flag", "native", 0.0, False),),
    )
    rows = table(flag=spelled(later, flags), y=spelled(later, flags))
    np.testing.assert_array_equal(plan.apply(rows)[0][:, 0], flags)
    assert plan.target.values(rows)[0].tolist() == [str(int(flag)) for flag in flags]


def test_numbers_are_not_taken_for_booleans():
    plan = TablePlan(TargetPlan("y", "regression", "native"), (NumberColumn("x", "native", 7, 0),))
    with pytest.raises(TableError, match="'True' is not a number"):
        plan.apply(table(x=["True", "False"]))


def test_levels_that_differ_by_their_case_alone_stay_apart():
    y = np.arange(float(N))
    cells = [("True", "TRUE", "False")[i % 3] for i in range(N)]
    plan = learn_plan(table(c=cells, y=y), TargetPlan("y", "regression", "native"), y).plan
    assert plan.inputs == ["c = False", "c = TRUE", "c = True"]
    with pytest.raises(TableError, match="'true' did not occur"):
        plan.apply(table(c=["true"]))


def test_a_model_predicts_the_same_from_either_format(tmp_path):
    rng = np.random.default_rng(0)
    x, flag = rng.standard_normal(N), rng.random(N) < 0.4
    rows = pa.table({"x": x, "flag": flag, "y": x + flag})
    parquet.write_table(rows, tmp_path / "f.parquet")
    csv.write_csv(rows, tmp_path / "f.csv")
    for kind in ("csv", "parquet"):
        bank("fit", tmp_path / f"f.{kind}", "--target", "y", "--out", tmp_path / kind, *QUICK)
    found = []
    for model in ("csv", "parquet"):
        for kind in ("csv", "parquet"):
            out = tmp_path / "out.parquet"
            bank("predict", tmp_path / model, tmp_path / f"f.{kind}", "--out", out)
            found.append(parquet.read_table(out)["y"].to_numpy())
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-9)


def test_a_column_of_which_nothing_fits_is_said_to_have_been_another(tmp_path):
    days = [f"{1 + i % 28:02d}.{1 + i // 28:02d}.2020" for i in range(N)]
    y = np.arange(float(N))
    plan = learn_plan(table(t=days, y=y), TargetPlan("y", "regression", "native"), y).plan
    with pytest.raises(TableError) as caught:
        plan.apply(table(t=["2020-01-01", "2020-01-02"]))
    said = str(caught.value)
    assert "'2020-01-01' is not a date written %d.%m.%Y, nor is 1 further cell (line 3)" in said
    assert "When the model was fitted, each value of the column was a date written" in said
    assert "--missing" not in said
    with pytest.raises(TableError, match=r"while 1 cell of the column is.*--missing '2020-01-01'"):
        plan.apply(table(t=["2020-01-01", "02.01.2020"]))


def test_a_column_of_which_nothing_fits_in_the_first_place(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"inf,{i}\n" for i in range(N)))
    found = prepare(path, "y", "auto", ReadOptions())
    with pytest.raises(TableError, match=r"no cell of the column is\. Mend them") as caught:
        learn_plan(found.table, found.target, found.y)
    assert "--missing" not in str(caught.value)
    assert read(path).n_rows == N
