"""Checkpoints through the estimators: whose they are, what ends a fit, disks that are full."""

import _thread
import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from altered_files import changed, file_size_limit
from banklearn import BankClassifier, BankRegressor, CheckpointError, load_model
from banklearn.estimators import classifier
from banklearn.model.class_tree import stick
from banklearn.posterior import settling
from banklearn.posterior.settling import judge
from banklearn.sampler.job import Job
from banklearn.storage import checkpoint
from banklearn.storage.checkpoint import file_name, read_chain, read_identity, stored_chains
from banklearn.storage.tree import decode, encode
from trees import HALVES, rare_classes

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(60)
WORDS = np.array(["a", "b", "c"])[(Y > -0.3).astype(int) + (Y > 0.4)]
SMALL = {
    "n_frequencies": 5,
    "n_chains": 2,
    "n_warmup": 4,
    "n_draws": 3,
    "thin": 2,
    "random_state": 0,
    "spectral_scale": 1.0,
    "input_scaling": "standard",
    "trend": "linear",
}


def regressor(**changes):
    return BankRegressor(**(SMALL | changes))


def same(one, two):
    for a, b in zip(one.draws_, two.draws_, strict=True):
        for name in ("W", "mu_n", "root", "noise", "pi", "Sigma", "chain", "sweep", "lam"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for a, b in zip(one.trace_, two.trace_, strict=True):
        np.testing.assert_array_equal(a["log_evidence"], b["log_evidence"])
        assert a["warmup"] == b["warmup"]
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


class Interrupter:
    """Interrupts the main thread, as Ctrl-C does, once a number of checkpoints were written.

    The chain that wrote the last of them waits until it is told to stop, however busy the machine.
    """

    def __init__(self, monkeypatch, after):
        self.left, self.write, self.lock = after, checkpoint.write_chain, threading.Lock()
        run = Job.run

        def watched(job, engine, rows, monitor, stop, *rest):
            self.stop = stop
            return run(job, engine, rows, monitor, stop, *rest)

        monkeypatch.setattr(Job, "run", watched)
        monkeypatch.setattr(checkpoint, "write_chain", self)

    def __call__(self, *arguments):
        self.write(*arguments)
        with self.lock:
            self.left -= 1
            last = self.left == 0
        if last:
            _thread.interrupt_main()
            assert self.stop.wait(60.0), "nobody told the chains to stop"


def interrupted(model, *data, after, monkeypatch):
    with monkeypatch.context() as patch:
        Interrupter(patch, after)
        with pytest.warns(UserWarning, match="Interrupted"):
            model.fit(*data)
    return model


@pytest.mark.parametrize("after", [1, 9, 14])
@pytest.mark.parametrize("kind", ["regression", "polya-gamma", "laplace-mh"])
def test_an_interrupted_fit_goes_on_to_the_same_bits(kind, after, tmp_path, monkeypatch):
    if kind == "regression":
        make, y = regressor, Y
    else:
        make, y = (lambda **p: BankClassifier(**(SMALL | p), inference=kind)), WORDS
    folder = tmp_path / "new" / "folder"
    stopped = make(checkpoint=folder, checkpoint_every=0)
    interrupted(stopped, X, y, after=after, monkeypatch=monkeypatch)
    assert stopped.provenance_["stopped_by"] == "interrupt"
    again = make(checkpoint=str(folder)).fit(X, y, resume=True)
    same(again, make().fit(X, y))
    assert again.provenance_["stopped_by"] == "plan"


@pytest.mark.parametrize("after", [3, 30, 42, 50])
def test_chains_that_run_until_they_settle_go_on_to_the_same_bits(after, tmp_path, monkeypatch):
    """Interrupted in warm-up, in the first round, around its look (after 12 + 8 sweeps), later."""
    monkeypatch.setattr(settling, "LOOKS", (8, 14, 20))

    def at_the_second_look(values, likelihood):
        content = likelihood.shape[1] == 14
        return replace(
            judge(values, likelihood), settled=content, unsettled=[] if content else ["lam"]
        )

    monkeypatch.setattr(settling, "judge", at_the_second_look)
    options = {"n_draws": "auto", "thin": 1, "n_warmup": 12}
    whole = regressor(**options).fit(X, Y)
    assert len(whole.draws_) == 28
    stopped = regressor(**options, checkpoint=tmp_path, checkpoint_every=0)
    interrupted(stopped, X, Y, after=after, monkeypatch=monkeypatch)
    assert len(stopped.draws_) < 28
    resumed = regressor(**options, checkpoint=tmp_path, checkpoint_every=0).fit(X, Y, resume=True)
    same(resumed, whole)
    assert resumed.settling_ == whole.settling_
    assert resumed.provenance_["stopped_by"] == "settled"


def test_a_number_of_draws_does_not_go_on_from_automatic_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(settling, "LOOKS", (8,))
    with pytest.warns(ConvergenceWarning, match="settled"):
        regressor(n_draws="auto", checkpoint=tmp_path).fit(X, Y)
    with pytest.raises(CheckpointError, match="n_draws was 'auto' and is now 9"):
        regressor(n_draws=9, checkpoint=tmp_path).fit(X, Y, resume=True)


def test_checkpoints_change_nothing(tmp_path):
    same(regressor(checkpoint=tmp_path, checkpoint_every=0).fit(X, Y), regressor().fit(X, Y))
    assert [p.name for p in sorted(tmp_path.iterdir())] == [file_name(0), file_name(1)]


def test_nothing_to_resume_is_a_beginning(tmp_path):
    same(regressor(checkpoint=tmp_path).fit(X, Y, resume=True), regressor().fit(X, Y))


def test_five_classes_go_on_along_the_tree_that_the_checkpoint_has(tmp_path, monkeypatch):
    y = rare_classes(Y)
    whole = BankClassifier(**SMALL | {"n_draws": 5}).fit(X, y)
    assert whole.tree_ == HALVES
    BankClassifier(**SMALL, checkpoint=tmp_path / "tree").fit(X, y)
    assert read_identity(tmp_path / "tree" / file_name(0)).data["tree"] == HALVES.ranges.tolist()
    more = BankClassifier(**SMALL | {"n_draws": 5}, checkpoint=tmp_path / "tree")
    same(more.fit(X, y, resume=True), whole)
    # A checkpoint of the time when all classes were on the stick names no tree, and stays there.
    with monkeypatch.context() as patched:
        patched.setattr(classifier, "grow", lambda mass: stick(len(mass)))
        before = BankClassifier(**SMALL | {"n_draws": 5}).fit(X, y)
        BankClassifier(**SMALL, checkpoint=tmp_path / "stick").fit(X, y)
    assert "tree" not in read_identity(tmp_path / "stick" / file_name(0)).data
    more = BankClassifier(**SMALL | {"n_draws": 5}, checkpoint=tmp_path / "stick")
    same(more.fit(X, y, resume=True), before)
    assert more.tree_ == stick(5)


def test_another_number_of_classes_is_refused_in_words(tmp_path):
    BankClassifier(**SMALL, checkpoint=tmp_path).fit(X, rare_classes(Y))
    with pytest.raises(CheckpointError, match="the values of y are others"):
        BankClassifier(**SMALL, checkpoint=tmp_path).fit(X, WORDS, resume=True)


def test_a_finished_fit_resumes_to_itself(tmp_path):
    first = regressor(checkpoint=tmp_path).fit(X, Y)
    same(regressor(checkpoint=tmp_path).fit(X, Y, resume=True), first)


def test_without_a_seed_the_checkpoint_brings_its_own(tmp_path, monkeypatch):
    model = regressor(checkpoint=tmp_path, checkpoint_every=0, random_state=None)
    interrupted(model, X, Y, after=6, monkeypatch=monkeypatch)
    again = regressor(checkpoint=tmp_path, random_state=None).fit(X, Y, resume=True)
    assert again.provenance_["seed"] == model.provenance_["seed"]
    assert len(again.draws_) == 6


def test_resume_needs_a_checkpoint():
    with pytest.raises(ValueError, match="set checkpoint to its folder"):
        regressor().fit(X, Y, resume=True)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("checkpoint", 3, TypeError),
        ("checkpoint_every", -1.0, ValueError),
        ("checkpoint_every", "often", TypeError),
        ("warm_start", 1, TypeError),
    ],
)
def test_parameters_are_checked(name, value, error):
    with pytest.raises(error, match=name):
        regressor(**{name: value}).fit(X, Y)


def test_an_old_checkpoint_is_not_overwritten(tmp_path):
    regressor(checkpoint=tmp_path).fit(X, Y)
    with pytest.raises(CheckpointError, match="resume=True to go on from it, or remove it"):
        regressor(checkpoint=tmp_path).fit(X, Y)


DIFFERENT = [
    ({"n_frequencies": 6}, (X, Y), "n_frequencies was 5 and is now 6"),
    ({"random_state": 1}, (X, Y), "random_state was 0 and is now 1"),
    ({"random_state": None, "b0": 0.1}, (X, Y), "b0 was 1e-06 and is now 0.1; random_state was 0"),
    ({"n_draws": 2}, (X, Y), "n_draws was 3 and is now 2"),
    ({"n_chains": 3}, (X, Y), "n_chains was 2 and is now 3"),
    ({}, (X[:-1], Y[:-1]), "rows was 60 and is now 59"),
    ({}, (X[:, :1], Y), "inputs was 2 and is now 1"),
    ({}, (X, np.r_[Y[:-1], 0.25]), "the values of y are others"),
    ({}, (X * [1, 3.3], Y), "the units of X are others"),
    ({}, (X, 2 * Y), "the units of y are others"),
    ({}, (X[::-1], Y[::-1]), "the values of X are others"),
    ({}, (X, Y, np.arange(60) % 3), "the sample weights are others"),
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    regressor(checkpoint=folder).fit(X, Y)
    return folder


@pytest.mark.parametrize(("parameters", "data", "words"), DIFFERENT)
def test_a_checkpoint_of_another_fit_is_refused(finished, parameters, data, words):
    with pytest.raises(CheckpointError, match=words):
        regressor(checkpoint=finished, **parameters).fit(*data, resume=True)


def test_a_checkpoint_of_another_estimator_or_version_is_refused(finished, tmp_path):
    with pytest.raises(CheckpointError, match="estimator was 'BankRegressor'"):
        BankClassifier(**SMALL, checkpoint=finished).fit(X, WORDS, resume=True)

    def older(meta, arrays):
        meta["identity"]["fields"]["version"] = "0.0.9"

    changed(finished / file_name(0), tmp_path / file_name(0), older)
    with pytest.raises(CheckpointError, match=r"version was '0\.0\.9' and is now"):
        regressor(checkpoint=tmp_path).fit(X, Y, resume=True)


def test_what_may_change(finished, tmp_path):
    for path in stored_chains(finished).values():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    more = regressor(checkpoint=tmp_path, max_time=1e6, n_draws=5, checkpoint_every=1)
    same(more.fit(X, Y, resume=True), regressor(n_draws=5).fit(X, Y))


def test_damaged_checkpoints_are_refused(finished, tmp_path):
    data = (finished / file_name(1)).read_bytes()
    for bad in (b"", b"chain", data[: len(data) // 2], data[:-1], data[:99] + b"x" + data[100:]):
        (tmp_path / file_name(1)).write_bytes(bad)
        with pytest.raises(CheckpointError, match=r"chain-0001\.bank: "):
            regressor(checkpoint=tmp_path).fit(X, Y, resume=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda meta, arrays: meta.pop("tuning"),
        lambda meta, arrays: meta.pop("identity"),
        lambda meta, arrays: meta.update(identity=3),
        lambda meta, arrays: meta.update(schema=1),
        lambda meta, arrays: meta["link"]["fields"].pop("state"),
        lambda meta, arrays: meta["tuning"]["fields"].update(more=1),
        lambda meta, arrays: meta["trace"].update(rows=1),
        lambda meta, arrays: meta["draws"]["columns"].pop("W"),
        lambda meta, arrays: arrays.pop("draws/W"),
    ],
)
def test_checkpoints_with_other_contents_are_refused(change, finished, tmp_path):
    path = changed(finished / file_name(0), tmp_path / file_name(0), change)
    with pytest.raises(CheckpointError, match=r"chain-0000\.bank: "):
        read_chain(path)


def test_a_model_is_no_checkpoint(finished, tmp_path):
    regressor().fit(X, Y).save(tmp_path / file_name(0))
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        read_identity(tmp_path / file_name(0))
    with pytest.raises(ValueError, match="not a model"):
        load_model(finished / file_name(0))


def test_a_full_disk_is_reported_once_and_the_last_whole_checkpoint_stays(tmp_path, monkeypatch):
    written = []
    original = checkpoint.write_chain

    def recorded(path, identity, run):
        original(path, identity, run)
        written.append((path.name, run.sweep))

    regressor(checkpoint=tmp_path / "whole").fit(X, Y)
    monkeypatch.setattr(checkpoint, "write_chain", recorded)
    folder = tmp_path / "full"
    model = regressor(checkpoint=folder, checkpoint_every=0)
    # Checkpoints grow with the draws: a limit between two sizes is a disk that fills.
    size = min(path.stat().st_size for path in (tmp_path / "whole").iterdir())
    with (
        file_size_limit(size - 1),
        pytest.warns(RuntimeWarning, match=r"File too large.*goes on") as caught,
    ):
        model.fit(X, Y)
    assert len(caught) == 1
    same(model, regressor().fit(X, Y))
    assert sorted(path.name for path in folder.iterdir()) == [file_name(0), file_name(1)]
    for chain in (0, 1):
        last = max(sweep for name, sweep in written if name == file_name(chain))
        assert 4 < last < 10
        assert read_chain(folder / file_name(chain))[1].sweep == last
    same(regressor(checkpoint=folder).fit(X, Y, resume=True), model)


def test_what_killed_writers_leave_is_cleared(tmp_path):
    (tmp_path / f".{file_name(0)}.0123.part").write_bytes(b"half")
    regressor(checkpoint=tmp_path).fit(X, Y, resume=True)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(CheckpointError, match="must be a folder"):
        regressor(checkpoint=tmp_path / "file").fit(X, Y)


def test_time_runs_out_and_the_fit_goes_on(tmp_path):
    with pytest.warns(UserWarning, match="ended the fit early"):
        short = regressor(checkpoint=tmp_path, max_time=1e-6).fit(X, Y)
    assert short.provenance_["stopped_by"] == "time"
    missing = f"Only 0 of {short.n_warmup} warm-up sweeps were made"
    with pytest.warns(ConvergenceWarning, match=missing):
        long = regressor(checkpoint=tmp_path).fit(X, Y, resume=True)
    assert [len(t["K"]) for t in long.trace_] == [6, 6]
    assert len(long.draws_) == 6


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_warm_start_adds_draws(kind):
    make, y = (BankRegressor, Y) if kind == "regression" else (BankClassifier, WORDS)
    model = make(**SMALL, warm_start=True).fit(X, y)
    model = pickle.loads(pickle.dumps(model))
    same(model.set_params(n_draws=7).fit(X, y), make(**(SMALL | {"n_draws": 7})).fit(X, y))
    assert len(model.draws_) == 14
    size = len(pickle.dumps(model))
    assert len(model.fit(X, y).draws_) == 14
    assert len(pickle.dumps(model.set_params(warm_start=False).fit(X, y))) < 0.8 * size


def test_warm_start_takes_no_draws_away():
    model = regressor(warm_start=True).fit(X, Y)
    with pytest.raises(CheckpointError, match="n_draws was 3 and is now 2"):
        model.set_params(n_draws=2).fit(X, Y)


def test_warm_start_without_a_seed_goes_on_with_the_same():
    model = regressor(warm_start=True, random_state=None).fit(X, Y)
    first = [draw.W for draw in model.draws_ if draw.chain == 0]
    model.set_params(n_draws=4).fit(X, Y)
    for a, b in zip(first, [d.W for d in model.draws_ if d.chain == 0][:3], strict=True):
        np.testing.assert_array_equal(a, b)


def test_warm_start_on_other_data_is_refused():
    model = regressor(warm_start=True).fit(X, Y)
    with pytest.raises(CheckpointError, match=r"The earlier fit .* the values of y are others"):
        model.set_params(n_draws=5).fit(X, np.r_[Y[:-1], 0.25])


def test_warm_start_needs_chains_to_go_on_from(tmp_path):
    model = regressor().fit(X, Y)
    with pytest.raises(ValueError, match="fitted with warm_start=False"):
        model.set_params(warm_start=True).fit(X, Y)
    regressor(warm_start=True).fit(X, Y).save(tmp_path / "model.bank")
    with pytest.raises(ValueError, match="read from a model file"):
        load_model(tmp_path / "model.bank").fit(X, Y)


def test_warm_start_with_a_checkpoint_writes_it_too(tmp_path):
    model = regressor(warm_start=True, checkpoint=tmp_path).fit(X, Y)
    model.set_params(n_draws=5).fit(X, Y)
    again = regressor(n_draws=5, checkpoint=tmp_path).fit(X, Y, resume=True)
    same(model, again)


def test_only_what_can_be_stored_is(tmp_path):
    with pytest.raises(TypeError, match="thread is a lock"):
        encode({"thread": threading.Lock()}["thread"], "thread", {})
    with pytest.raises(ValueError, match="wrong form"):
        decode(object, {"mystery": 1}, {})


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_a_fit_that_was_to_add_draws_and_fails_leaves_the_earlier_one(kind):
    make, y = (BankRegressor, Y) if kind == "regression" else (BankClassifier, WORDS)
    model = make(**SMALL, warm_start=True).fit(X, y)
    before = model.draws_
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    assert model.draws_ is before
    with pytest.raises(CheckpointError, match="does not belong"):
        model.fit(X + 1.0, y)
    assert model.draws_ is before
    model.set_params(n_draws=7).fit(X, y)
    assert len(model.draws_) > len(before)


@pytest.mark.parametrize("scaling", ["standard", "arcsinh", "quantile"])
def test_other_units_are_other_data_under_every_scaling(scaling, tmp_path):
    model = regressor(checkpoint=tmp_path / "kept", input_scaling=scaling).fit(X, Y)
    model.set_params(n_draws=4)
    with pytest.raises(CheckpointError, match="the units of X are others"):
        model.fit(4.0 * X, Y, resume=True)
    model.fit(X, Y, resume=True)
