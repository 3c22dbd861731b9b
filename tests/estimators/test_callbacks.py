"""scikit-learn's callbacks, where it has them."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from banklearn import BankClassifier, BankRegressor, load_model
from banklearn.posterior import settling

callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")

SMALL = {"n_frequencies": 6, "n_warmup": 5, "n_draws": 4, "thin": 2, "random_state": 0}


class Recorder:
    """Writes down what happens; after some sweeps it may ask to stop."""

    def __init__(self, stop_after=None):
        self.events, self.stop_after = [], stop_after

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", context.task_name))
        return self.stop_after is not None and self.count("end", "sweep") >= self.stop_after

    def count(self, *event):
        return self.events.count(event)


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 2))
    return X, X[:, 0] + 0.1 * rng.standard_normal(50)


@pytest.mark.parametrize("kind", [BankRegressor, BankClassifier])
def test_a_fit_has_chains_and_a_chain_has_sweeps(kind):
    X, y = data()
    recorder = Recorder()
    model = kind(**SMALL, n_chains=2).set_callbacks(recorder)
    model.fit(X, y > 0 if kind is BankClassifier else y)
    assert recorder.events[0] == ("setup", "fit")
    assert recorder.events[-1] == ("teardown", "fit")
    for name, times in (("fit", 1), ("chain", 2), ("sweep", 2 * 13)):
        assert recorder.count("begin", name) == recorder.count("end", name) == times


def test_the_draws_are_the_same_with_callbacks_and_without():
    X, y = data()
    watched = BankRegressor(**SMALL).set_callbacks(Recorder()).fit(X, y)
    alone = BankRegressor(**SMALL).fit(X, y)
    np.testing.assert_array_equal(watched.predict(X), alone.predict(X))


def test_a_callback_can_end_the_fit():
    X, y = data()
    recorder = Recorder(stop_after=8)
    model = BankRegressor(**{**SMALL, "n_draws": 5000}, n_chains=1).set_callbacks(recorder)
    with pytest.warns(UserWarning, match="^Stopped by a callback: the fit keeps the 1 of 5000"):
        model.fit(X, y)
    assert recorder.count("end", "sweep") == 8
    assert model.n_sweeps_ == [8]
    assert np.isfinite(model.predict(X)).all()
    assert recorder.events[-1] == ("teardown", "fit")


@pytest.mark.parametrize("n_chains", [1, 2])
def test_a_callback_that_asks_in_the_last_sweep_of_a_round_is_heard(n_chains, monkeypatch):
    monkeypatch.setattr(settling, "LOOKS", (4, 8, 12))
    monkeypatch.setattr(settling, "LEAST_EFFECTIVE", np.inf)  # never settled
    X, y = data()
    recorder = Recorder(stop_after=n_chains * (5 + 8 * 2))
    model = BankRegressor(**{**SMALL, "n_draws": "auto"}, n_chains=n_chains)
    planned = 12 * n_chains
    with pytest.warns(UserWarning, match=f"callback: the fit keeps the .* of {planned} draws"):
        model.set_callbacks(recorder).fit(X, y)
    assert model.n_sweeps_ == n_chains * [5 + 8 * 2]
    assert model.provenance_["stopped_by"] == "callback"


def test_a_callback_that_asks_when_all_is_done_changes_nothing():
    X, y = data()
    model = BankRegressor(**SMALL, n_chains=1).set_callbacks(Recorder(stop_after=13)).fit(X, y)
    assert model.provenance_["stopped_by"] == "plan"
    assert len(model.draws_) == 4


@pytest.mark.parametrize("max_time", [None, 600.0])
def test_what_ended_the_fit_is_told_and_kept_in_its_file(max_time, tmp_path):
    X, y = data()
    model = BankRegressor(**SMALL, n_chains=2, max_time=max_time)
    with pytest.warns(UserWarning, match="^Stopped by a callback during warm-up") as told:
        model.set_callbacks(Recorder(stop_after=3)).fit(X, y)
    assert len(told) == 1
    assert model.provenance_["stopped_by"] == "callback"
    model.save(tmp_path / "model.bank")
    assert load_model(tmp_path / "model.bank").provenance_ == model.provenance_


def test_a_failing_fit_tears_down():
    recorder = Recorder()

    def fail(estimator, context):
        raise RuntimeError("full")

    recorder.on_fit_task_end = fail
    X, y = data()
    with pytest.raises(RuntimeError, match="full"):
        BankRegressor(**SMALL).set_callbacks(recorder).fit(X, y)
    assert recorder.events[-1] == ("teardown", "fit")


@pytest.mark.parametrize("sweeps", [3, 13, 20])
@pytest.mark.parametrize("ever_after", [False, True])
def test_an_interrupt_in_a_callback_keeps_the_draws(sweeps, ever_after):
    X, y = data()
    recorder = Recorder()

    def interrupt(estimator, context):
        recorder.events.append(("end", context.task_name))
        seen = recorder.count("end", "sweep")
        if seen == sweeps or (ever_after and seen > sweeps):
            raise KeyboardInterrupt

    recorder.on_fit_task_end = interrupt
    model = BankRegressor(**SMALL, n_chains=2).set_callbacks(recorder)
    with pytest.warns(UserWarning, match="^Interrupted"):
        model.fit(X, y)
    assert model.provenance_["stopped_by"] == "interrupt"
    assert np.isfinite(model.predict(X)).all()
    assert recorder.count("end", "sweep") == sum(model.n_sweeps_) < 26
    assert recorder.count("end", "fit") == 1
    assert recorder.count("end", "chain") == recorder.count("begin", "chain")


def test_an_interrupt_at_the_end_of_the_fit_keeps_the_draws():
    X, y = data()
    recorder = Recorder()

    def interrupt(estimator, context):
        if context.task_name == "fit":
            raise KeyboardInterrupt

    recorder.on_fit_task_end = interrupt
    model = BankRegressor(**SMALL, n_chains=1).set_callbacks(recorder)
    with pytest.warns(UserWarning, match="^Interrupted: the fit keeps the 4 of 4 draws"):
        model.fit(X, y)


def test_the_end_of_a_fit_that_fails_is_told():
    X, y = data()
    recorder = Recorder()

    def fail(estimator, context):
        recorder.events.append(("end", context.task_name))
        raise RuntimeError(f"full in {context.task_name}")

    recorder.on_fit_task_end = fail
    with pytest.raises(RuntimeError, match="full in sweep"):
        BankRegressor(**SMALL, n_chains=1).set_callbacks(recorder).fit(X, y)
    assert recorder.events[-3:] == [("end", "chain"), ("end", "fit"), ("teardown", "fit")]


def test_the_progress_bar_of_scikit_learn_works_through_searches(capsys):
    X, y = data()
    steps = make_pipeline(StandardScaler(), BankRegressor(**SMALL))
    search = GridSearchCV(steps, {"bankregressor__n_frequencies": [4, 6]}, cv=2)
    search.set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(X, y)
    assert "BankRegressor" in capsys.readouterr().out
