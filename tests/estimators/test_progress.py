"""The progress bar says when a fit will end, from its first sweep on."""

from types import SimpleNamespace

import pytest
from rich.progress import TextColumn

from banklearn.estimators.notebook import NotebookBar, make_bar
from banklearn.estimators.progress import BESIDE_ROWS, Progress, Reading, time_column, work
from banklearn.sampler.run import Plan

INFO = SimpleNamespace(
    accepted_jumps=0.5,
    accepted_local=0.5,
    accepted_exchanges=float("nan"),
    log_likelihood=-1.0,
    K=2,
)


@pytest.fixture
def clock(monkeypatch):
    """Time that stands still until it is moved."""
    now = [100.0]
    monkeypatch.setattr("banklearn.estimators.progress.time.monotonic", lambda: now[0])
    return now


def predicted(progress, chain=0):
    task = progress._bar.tasks[chain]
    return task.fields["end"], task.fields["begin"]


def test_the_end_is_predicted_from_the_first_sweep_on(clock):
    plan = Plan(3, 2)
    with Progress(plan, 1, 1) as progress:
        for sweep in range(1, 6):
            clock[0] += 7.0
            progress(0, sweep, plan, INFO)
            assert predicted(progress) == (pytest.approx(100 + 5 * 7.0), 100.0)


def test_small_subsamples_do_not_promise_too_much(clock):
    plan = Plan(3, 2, stages=((1000, 2), (98_000, 1)))
    assert work(plan, 2) == 2 * (1000 + BESIDE_ROWS)
    with Progress(plan, 1, 1) as progress:
        for sweep, seconds in ((1, 3.0), (2, 3.0), (3, 100.0)):
            clock[0] += seconds
            progress(0, sweep, plan, INFO)
            assert predicted(progress)[0] == pytest.approx(100 + 2 * 3.0 + 3 * 100.0)


def test_a_resumed_chain_is_not_taken_to_be_fast(clock):
    plan = Plan(10, 10)
    with Progress(plan, 1, 1) as progress:
        clock[0] += 5.0
        progress(0, 15, plan, INFO)
        assert predicted(progress)[0] == pytest.approx(105 + 5 * 5.0)


def test_a_chain_that_waited_for_another_begins_when_that_ends(clock):
    plan = Plan(0, 2)
    with Progress(plan, 2, 1) as progress:
        for chain in (0, 1):
            for sweep in (1, 2):
                clock[0] += 4.0
                progress(chain, sweep, plan, INFO)
        assert predicted(progress, 0) == (108.0, 100.0)
        assert predicted(progress, 1) == (116.0, 108.0)


def test_the_time_left_counts_down(clock):
    task = SimpleNamespace(fields={"begin": 10.0, "end": 200.0})
    left = time_column(lambda begin, end, now: end - now)
    clock[0] = 130.4
    assert left.render(task).plain == "0:01:10"
    clock[0] = 260.0
    assert left.render(task).plain == "0:00:00"


class Cell:
    """What a notebook's cell shows; the notebook itself is run in test_habits.py."""

    def __init__(self):
        self.shown = []

    def display(self, data, **options):
        assert options == {"raw": True, "display_id": True}
        self.shown.append(data)
        return self

    def update(self, data, raw):
        self.shown.append(data)


def test_a_notebook_s_bar_is_updated_in_place_and_not_too_often(monkeypatch):
    display = pytest.importorskip("IPython.display", reason="IPython is not installed")
    with monkeypatch.context() as notebook:
        notebook.setattr("rich.console._is_jupyter", lambda: True)
        bar = make_bar(TextColumn("{task.completed:.0f} of {task.total} <rows>"))
    assert isinstance(bar, NotebookBar)
    cell = Cell()
    monkeypatch.setattr(display, "display", cell.display)
    now = [100.0]
    monkeypatch.setattr("banklearn.estimators.notebook.time.monotonic", lambda: now[0])
    bar.start()
    task = bar.add_task("", total=9)
    for done in (1, 2, 3):
        now[0] += 0.15
        bar.update(task, completed=done)
    texts = [data["text/plain"] for data in cell.shown]
    assert texts == ["", "1 of 9 <rows>", "3 of 9 <rows>"]  # the second came too soon
    bar.update(task, completed=9)
    bar.stop()
    assert cell.shown[-1]["text/html"] == "<pre>9 of 9 &lt;rows&gt;</pre>"


def test_a_notebook_s_bar_that_was_never_shown_is_silent():
    bar = NotebookBar(TextColumn("{task.completed:.0f}"))
    bar.update(bar.add_task("", total=2), completed=1)
    bar.stop()
    assert bar._data()["text/plain"] == "1"


def test_what_is_not_to_be_shown_is_not(clock):
    with Progress(Plan(1, 1), 1, 0) as progress:
        progress(0, 1, Plan(1, 1), INFO)
        assert progress._bar is None
    with Reading(lambda: 10, 0) as reading:
        reading(5)
        assert reading._bar is None


def test_rows_that_are_read_are_counted(monkeypatch):
    with Reading(lambda: 10, 1) as reading:
        reading(4)
        (task,) = reading._bar.tasks
        assert (task.completed, task.total) == (4, 10)
