"""The paper's tables as data."""

from banklearn.datasets.names import SPECS
from banklearn.experiments.paper import CLASSIFICATION, REGRESSION, best, reported


def test_both_tables_are_whole_and_consistent():
    for task, table in (("regression", REGRESSION), ("classification", CLASSIFICATION)):
        assert list(table) == [s.name for s in SPECS.values() if s.task == task]
        for name, row in table.items():
            lowest = min(row, key=lambda m: row[m].value)
            assert [m for m in row if row[m].lowest] == [lowest], name
            assert row[lowest].bold
            assert all(cell.error > 0 for cell in row.values())
    assert sum(len(row) for row in REGRESSION.values()) == 32
    assert sum(len(row) for row in CLASSIFICATION.values()) == 24


def test_a_few_cells_as_printed():
    assert reported("bike", "alacarte").value == 0.0467
    assert reported("bike", "bank").bold
    assert not reported("bike", "bank").lowest
    assert reported("skin", "mkl").error == 0.105
    assert reported("pima", "alacarte") is None
    assert best("concrete") == 0.0682
    assert best("space7") is None
