"""n_draws="auto": chains run until they have settled, the same way however they are run."""

import _thread
import time
import warnings
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from banklearn import BankClassifier, BankFeatures, BankRegressor, load_model
from banklearn.estimators import layout
from banklearn.estimators.ending import doubts
from banklearn.estimators.rounds import in_rounds
from banklearn.posterior import settling
from banklearn.report import summarise
from banklearn.sampler.run import Run

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 2))
Y = X[:, 0] + 0.5 * RNG.standard_normal(40)
SMALL = {
    "n_frequencies": 3,
    "n_chains": 2,
    "n_warmup": 6,
    "n_draws": "auto",
    "thin": 1,
    "random_state": 0,
    "spectral_scale": 0.5,
    "input_scaling": "standard",
    "trend": "linear",
}
TASKS = {
    "regression": (BankRegressor, Y, {}),
    "two classes": (BankClassifier, Y > 0, {}),
    "three classes": (BankClassifier, np.digitize(Y, [-0.5, 0.5]), {}),
    "laplace": (BankClassifier, Y > 0, {"inference": "laplace-mh"}),
}


@pytest.fixture(autouse=True)
def easy(monkeypatch):
    """A rule that short chains of a small model can pass."""
    monkeypatch.setattr(settling, "LOOKS", (8, 12, 18, 26))
    monkeypatch.setattr(settling, "HIGHEST_R_HAT", 1.6)
    monkeypatch.setattr(settling, "LEAST_EFFECTIVE", 6.0)


def make(task, **changes):
    kind, y, options = TASKS[task]
    return kind(**(SMALL | options | changes)), y


def fit(task, **changes):
    model, y = make(task, **changes)
    return model.fit(X, y)


def same(one, two):
    assert one.settling_ == two.settling_
    assert one.provenance_["stopped_by"] == two.provenance_["stopped_by"]
    for a, b in zip(one.draws_, two.draws_, strict=True):
        for name in ("W", "mu_n", "root", "noise", "pi", "Sigma", "chain", "sweep", "lam"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.fixture
def verdicts(monkeypatch):
    """What every look of the fits of a test finds."""
    found, looked = [], settling.look

    def look(*arguments):
        found.append(looked(*arguments))
        return found[-1]

    monkeypatch.setattr(settling, "look", look)
    return found


@pytest.mark.parametrize("task", TASKS)
def test_a_fit_ends_at_the_first_look_that_finds_it_settled(task, verdicts):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = fit(task)
    looks = [verdict.draws for verdict in verdicts]
    assert looks == list(settling.LOOKS[: len(looks)])
    assert not any(verdict.settled for verdict in verdicts[:-1])
    last = verdicts[-1]
    assert model.settling_ == last.plain() == model.provenance_["settling"]
    assert model.provenance_["stopped_by"] == ("settled" if last.settled else "plan")
    assert bool(said) == (not last.settled)
    assert last.settled or len(looks) == len(settling.LOOKS)
    assert len(model.draws_) == 2 * last.draws
    assert model.n_sweeps_ == [6 + last.draws] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = fit(task, n_draws=last.draws)  # the draws themselves are nothing special
    assert plain.provenance_["stopped_by"] == "plan"
    for a, b in zip(model.draws_, plain.draws_, strict=True):
        np.testing.assert_array_equal(a.W, b.W)
        np.testing.assert_array_equal(a.root, b.root)


@pytest.mark.filterwarnings("ignore:The chains have not settled")
def test_how_many_draws_there_are_depends_on_the_chains():
    lengths = {len(fit("regression", random_state=seed).draws_) for seed in range(6)}
    assert len(lengths) > 1
    assert lengths <= {2 * draws for draws in settling.LOOKS}


@pytest.mark.filterwarnings("ignore:The chains have not settled")
@pytest.mark.parametrize("task", ["regression", "three classes"])
def test_chains_one_after_another_or_side_by_side_end_alike(task, monkeypatch):
    fits = []
    for at_once in (1, 2):
        monkeypatch.setattr(layout, "chains_at_once", lambda *_, n=at_once: n)
        fits.append(fit(task))
    same(*fits)
    blocks, y = make(task, merge_duplicates=False)
    pieces = [(X[i : i + 15], y[i : i + 15]) for i in range(0, len(X), 15)]
    same(fits[0], blocks.fit(pieces))


def test_chains_that_do_not_settle_make_the_most_draws_and_say_so(monkeypatch):
    monkeypatch.setattr(settling, "LEAST_EFFECTIVE", 1000.0)
    with pytest.warns(ConvergenceWarning, match="not settled after 26 draws each: log likelihood "):
        model = fit("regression", n_chains=1)
    assert model.provenance_["stopped_by"] == "plan"
    assert len(model.draws_) == 26
    assert set(model.settling_["unsettled"]) >= {"log likelihood", "lam", "noise", "predictions"}
    assert "lam" in model.settling_["bulk"]


@pytest.mark.alone
def test_time_runs_out_between_looks(monkeypatch):
    monkeypatch.setattr(settling, "LOOKS", (8, 100_000))
    monkeypatch.setattr(settling, "LEAST_EFFECTIVE", np.inf)
    with pytest.warns(ConvergenceWarning, match="6 of 6 warm-up sweeps and .* of at most 200000"):
        model = fit("regression", max_time=1.5)
    assert model.provenance_["stopped_by"] == "time"
    assert len(model.draws_) > 16
    assert model.settling_["draws"] >= min(n - 6 for n in model.n_sweeps_)


@pytest.mark.filterwarnings("ignore:The chains have not settled")
def test_a_model_file_remembers(tmp_path):
    model = fit("regression")
    model.save(tmp_path / "model.bank")
    loaded = load_model(tmp_path / "model.bank")
    assert loaded.n_draws == "auto"
    assert loaded.settling_ == model.settling_
    found = summarise(loaded, X, Y)
    assert not [words for words in found["warnings"] if "ended early" in words]


def test_features_of_a_fit_that_ends_by_itself(monkeypatch):
    monkeypatch.setattr(settling, "LEAST_EFFECTIVE", 0.0)
    monkeypatch.setattr(settling, "HIGHEST_R_HAT", np.inf)
    monkeypatch.setattr(settling, "CLIMB", np.inf)
    model = BankFeatures(make("regression")[0], max_draws=2).fit(X, Y)
    assert model.estimator_.provenance_["stopped_by"] == "settled"
    assert len(model.estimator_.draws_) == 2 * settling.LOOKS[0]
    assert model.transform(X).shape == (40, model.n_features_out_)


@pytest.mark.filterwarnings("ignore:The chains have not settled")
def test_going_on_with_what_has_ended_changes_nothing():
    model = fit("regression", warm_start=True)
    once = deepcopy(model)
    same(once, model.fit(X, Y))


@pytest.mark.parametrize(
    ("value", "error"), [("many", ValueError), (2.5, TypeError), (0, ValueError)]
)
def test_other_words_and_numbers_are_refused(value, error):
    with pytest.raises(error, match="n_draws must be"):
        fit("regression", n_draws=value)


def stiff(n_draws, **options):
    """A fit without warm-up to data nearly free of noise, in which chains find different modes."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 20, 150)
    y = np.sin(3 * x) + np.cos(x) + 0.001 * rng.standard_normal(150)
    options = {"n_warmup": 0, "thin": 1, "trend": "none", "input_scaling": "standard", **options}
    model = BankRegressor(8, n_draws=n_draws, spectral_scale=6.0, random_state=0, **options)
    return model.fit(x[:, None], y)


def test_a_number_of_draws_warns_too_unless_it_is_small(monkeypatch):
    monkeypatch.setattr(settling, "WARN_R_HAT", 1.05)
    with pytest.warns(
        ConvergenceWarning, match="not settled after 24 draws each: predictions differ"
    ):
        model = stiff(24)
    assert model.settling_["r_hat"]["predictions"] > settling.WARN_R_HAT
    assert stiff(7).settling_ is None
    monkeypatch.setattr(settling, "LOOKS", (50, 75))
    assert stiff(24).settling_ == model.settling_  # fewer than "auto" would make: nothing is said


def test_a_climb_is_said():
    found = judged(climbing=True)
    (words,) = doubts(found, auto=False)
    assert words.startswith("the log likelihood climbs by")
    assert "climbs by" in doubts(found, auto=True)[0]
    assert doubts(judged(climbing=False), auto=False) == []


def judged(climbing):
    """A verdict on series that agree, but for a climb."""
    series = np.random.default_rng(0).standard_normal((2, 400))
    likelihood = series + np.linspace(0.0, 3.0 if climbing else 0.0, 400)
    values = {"log likelihood": likelihood, "predictions": series}
    return settling.judge({name: x[:, :, None] for name, x in values.items()}, likelihood)


class Rounds:
    """Chains that do what they are told, and judges that settle after a number of draws."""

    def __init__(self, settles_at, cut_at=None):
        self.settles_at, self.cut_at, self.asked, self.seen = settles_at, cut_at, [], []

    def run(self, draws):
        self.asked.append(draws)
        made = draws - 1 if draws == self.cut_at else draws
        # A warm-up that time cut short says nothing of the draws that came after it.
        return [Run([None] * draws), Run([None] * made, cut="time")], False

    def look(self, runs, draws):
        self.seen.append(draws)
        return replace(judged(False), settled=draws is not None and draws >= self.settles_at)


@pytest.mark.parametrize(
    ("settles_at", "cut_at", "asked", "seen"),
    [
        (5, None, [5], [5]),
        (6, None, [5, 7], [5, 7]),
        (99, None, [5, 7, 9], [5, 7, 9]),
        (99, 7, [5, 7], [5, None]),
        (5, 5, [5], [None]),
    ],
)
def test_rounds_go_on_until_a_look_is_content(settles_at, cut_at, asked, seen):
    rounds = Rounds(settles_at, cut_at)
    runs, interrupted, found = in_rounds(rounds.run, (5, 7, 9), rounds.look)
    assert (rounds.asked, rounds.seen, len(runs), interrupted) == (asked, seen, 2, False)
    assert found.settled == (cut_at is None and settles_at <= 9)


def test_an_interrupt_during_a_look_keeps_the_draws(monkeypatch):
    monkeypatch.setattr(settling, "look", lambda *_: _thread.interrupt_main() or time.sleep(5))
    with pytest.warns(UserWarning, match="keeps the 16 of 52 draws"):
        model = fit("regression")
    assert len(model.draws_) == 16
    assert model.settling_ is None
    assert model.provenance_["stopped_by"] == "interrupt"


def test_callbacks_see_every_sweep_of_every_round():
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks yet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model, y = make("regression")
        model.set_callbacks(callback.ProgressBar()).fit(X, y)
        same(model, fit("regression"))
