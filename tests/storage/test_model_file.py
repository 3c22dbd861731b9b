"""What is saved comes back to the bit, and nothing else is accepted."""

import os
import pickle
import tracemalloc
from functools import cache
from io import BytesIO
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from altered_files import changed, file_size_limit
from banklearn import BankClassifier, BankRegressor, ModelFileError, load_model
from banklearn.estimators import polish
from banklearn.posterior.draws import SKETCH, WEIGHT_DRAWS
from banklearn.report import summarise
from banklearn.storage import container, model_checks
from banklearn.viz import TraceDisplay
from trees import HALVES, rare_classes

SMALL = {
    "n_frequencies": 9,
    "n_chains": 2,
    "n_warmup": 6,
    "n_draws": 3,
    "thin": 1,
    "random_state": 0,
}
RNG = np.random.default_rng(0)
X = RNG.standard_normal((70, 3)) * [1.0, 0.0, 3.0] + [0.0, 2.0, 1.0]
Y = 20 + 5 * np.sin(X[:, 0]) + 0.1 * RNG.standard_normal(70)
NEW = RNG.standard_normal((30, 3)) * 2
THIRDS = (Y > 19).astype(int) + (Y > 22)


@cache
def fitted(case: str):
    frame = pd.DataFrame(X, columns=["width", "größe", "\N{SNOWMAN}"])
    words = np.array(["low", "mid", "high \N{SNOWMAN}"])
    regressor, classifier = BankRegressor(**SMALL), BankClassifier(**SMALL)
    return {
        "regressor": lambda: regressor.fit(X, Y),
        "regressor, 3 frequencies": lambda: regressor.set_params(n_frequencies=3).fit(X, Y),
        "regressor, names": lambda: regressor.set_params(
            input_scaling="arcsinh", trend="linear", scale_shape=None
        ).fit(frame, Y, np.arange(70) % 4),
        "regressor, quantiles": lambda: regressor.set_params(input_scaling="quantile").fit(X, Y),
        "two classes": lambda: classifier.fit(X, Y > 20),
        "three classes, words": lambda: classifier.fit(frame, words[THIRDS]),
        "three classes, objects": lambda: classifier.set_params(
            class_weight={"low": 1, "mid": 2.5, "high \N{SNOWMAN}": 1}
        ).fit(X, words.astype(object)[THIRDS]),
        "small integers": lambda: classifier.set_params(class_weight="balanced").fit(
            X, THIRDS.astype(np.int8)
        ),
        "five classes": lambda: classifier.fit(X, rare_classes(Y)),
        "Laplace, numbers": lambda: classifier.set_params(inference="laplace-mh").fit(
            X, np.array([-1.0, 2.0, 7.0])[THIRDS]
        ),
    }[case]()


CASES = [
    "regressor",
    "regressor, 3 frequencies",
    "regressor, names",
    "regressor, quantiles",
    "two classes",
    "three classes, words",
    "three classes, objects",
    "small integers",
    "five classes",
    "Laplace, numbers",
]


def answers(model, rows=NEW):
    """Everything a model can say about rows, as arrays."""
    if hasattr(model, "feature_names_in_"):
        rows = pd.DataFrame(rows, columns=model.feature_names_in_)
    plain = np.asarray(rows)
    yield model.kernel_(plain)
    yield model.kernel_(plain[0], plain[1])
    yield model.predict(rows)
    if isinstance(model, BankClassifier):
        yield model.predict_proba(rows)
        yield from model.predict_proba_interval(rows)
        yield from model.predict_latent(rows)
        yield model.log_predictive_density(rows, np.resize(model.classes_, len(plain)))
    else:
        yield from model.predict(rows, return_std=True)
        yield model.predict_quantiles(rows, [0.1, 0.5])
        yield model.log_predictive_density(rows, np.zeros(len(plain)))
        yield model.sample_y(rows, 3, random_state=0)


def same(one, two):
    for a, b in zip(answers(one), answers(two), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype


@pytest.fixture
def saved(tmp_path):
    fitted("regressor").save(tmp_path / "model.bank")
    return tmp_path / "model.bank"


@pytest.mark.parametrize("case", CASES)
def test_a_loaded_model_is_the_saved_one(case, tmp_path):
    model = fitted(case)
    model.save(tmp_path / "one.bank")
    again = load_model(str(tmp_path / "one.bank"))
    same(model, again)
    assert again.get_params() == model.get_params()
    left = set(vars(model)) ^ set(vars(again))
    assert {name for name in left if name.endswith("_")} == set()
    for name in ("n_sweeps_", "trend_", "provenance_", "starting_point_", "n_features_in_"):
        assert getattr(again, name) == getattr(model, name)
    for mine, theirs in zip(model.trace_, again.trace_, strict=True):
        assert list(mine) == list(theirs)
        for name in mine:
            np.testing.assert_array_equal(mine[name], theirs[name])
    if isinstance(model, BankClassifier):
        assert again.classes_.dtype == model.classes_.dtype
    # What was loaded can be saved, pickled, cloned and fitted like what was fitted.
    again.save(tmp_path / "two.bank")
    assert (tmp_path / "one.bank").read_bytes() == (tmp_path / "two.bank").read_bytes()
    same(again, pickle.loads(pickle.dumps(again)))


def test_plots_and_reports_need_no_training_data(tmp_path):
    for case in ("regressor, names", "three classes, words"):
        model = fitted(case)
        frame = pd.DataFrame(X, columns=model.feature_names_in_)
        model.save(tmp_path / "model.bank")
        again, y = load_model(tmp_path / "model.bank"), model.predict(frame)
        assert str(summarise(again, frame, y)) == str(summarise(model, frame, y))
        TraceDisplay.from_estimator(again)
    pyplot.close("all")


def test_a_loaded_model_can_be_fitted_again(saved):
    again = load_model(saved)
    same(fitted("regressor"), clone(again).fit(X, Y))
    assert again.set_params(n_draws=1).fit(X, Y).n_sweeps_ == [7, 7]


def test_joblib_and_pickle_still_work(tmp_path):
    model = fitted("two classes")
    joblib.dump(model, tmp_path / "model.joblib")
    same(model, joblib.load(tmp_path / "model.joblib"))
    same(model, pickle.load(BytesIO(pickle.dumps(model))))


def test_objects_among_the_parameters_are_left_out(tmp_path):
    model = BankRegressor(**(SMALL | {"random_state": np.random.RandomState(1)})).fit(X, Y)
    model.set_params(checkpoint=tmp_path, kappa0=np.float64(0.5))
    model.save(tmp_path / "model.bank")
    again = load_model(tmp_path / "model.bank")
    assert (again.random_state, again.checkpoint, again.kappa0) == (None, None, 0.5)
    same(model, again)
    assert again.provenance_["seed"] == model.provenance_["seed"]


def test_a_chain_without_sweeps_can_be_saved(tmp_path):
    model = BankRegressor(4, n_chains=1, n_warmup=0, n_draws=1, thin=1, random_state=0).fit(X, Y)
    for name in model.trace_[0]:
        if name != "warmup":
            model.trace_[0][name] = model.trace_[0][name][:0]
    model.save(tmp_path / "model.bank")
    assert load_model(tmp_path / "model.bank").n_sweeps_ == [0]


def test_an_unfitted_estimator_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        BankRegressor().save(tmp_path / "model.bank")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"draws_": []}, "cannot be saved|at least one"),
        ({"trend_": "cubic"}, "trend"),
        ({"n_frequencies": 10}, "cannot be saved: n_frequencies does not fit"),
        ({"n_chains": 5000}, "cannot be saved: n_chains must be at most 4096"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(change, words, tmp_path):
    model = pickle.loads(pickle.dumps(fitted("regressor")))
    for name, value in change.items():
        setattr(model, name, value)
    with pytest.raises(ValueError, match=words):
        model.save(tmp_path / "model.bank")
    assert not list(tmp_path.iterdir())


def test_other_estimators_and_labels_are_not_written(tmp_path):
    class Mine(BankRegressor):
        pass

    mine = Mine(**SMALL).fit(X, Y)
    with pytest.raises(ModelFileError, match="estimator is 'Mine'"):
        mine.save(tmp_path / "model.bank")
    model = pickle.loads(pickle.dumps(fitted("two classes")))
    model.classes_ = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    with pytest.raises(ModelFileError, match="datetime64"):
        model.save(tmp_path / "model.bank")


def test_saving_replaces_a_file_only_when_it_is_whole(saved, monkeypatch):
    before = saved.read_bytes()

    def no_space(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        fitted("two classes").save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_real_limit_on_file_sizes_leaves_the_old_file(saved):
    before = saved.read_bytes()
    with file_size_limit(5000), pytest.raises(OSError, match="File too large"):
        fitted("regressor").save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_places_where_no_file_can_be(saved, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere/model\.bank'$"):
        fitted("regressor").save(tmp_path / "nowhere" / "model.bank")
    with pytest.raises(IsADirectoryError, match=r"is a folder; name the file to write in it"):
        fitted("regressor").save(tmp_path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "nothing.bank")
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(ModelFileError, match="not an ordinary file"):
            load_model(place)
    with pytest.raises(ModelFileError, match=r"^\.: this is not an ordinary file"):
        load_model(".")


def test_every_cut_and_every_flipped_byte_is_noticed(saved, tmp_path):
    data = saved.read_bytes()
    assert len(data) % container.ALIGN == container.DIGEST
    bad = tmp_path / "bad.bank"
    places = [*range(40), *range(40, len(data), 97), *range(len(data) - 40, len(data))]
    for i in places:
        bad.write_bytes(data[:i])
        with pytest.raises(ModelFileError, match=r"bad\.bank: "):
            load_model(bad)
        bad.write_bytes(data[:i] + bytes([data[i] ^ 0x10]) + data[i + 1 :])
        with pytest.raises(ModelFileError, match=r"bad\.bank: "):
            load_model(bad)
    bad.write_bytes(data + b"\0")
    with pytest.raises(ModelFileError, match="checksum"):
        load_model(bad)
    bad.write_bytes(pickle.dumps(fitted("regressor")))
    with pytest.raises(ModelFileError, match="not a file of banklearn"):
        load_model(bad)


def test_too_large_a_file_is_refused(saved, tmp_path):
    with pytest.raises(ModelFileError, match=r"more than the limit of 1000\. .* larger max_bytes"):
        load_model(saved, max_bytes=1000)
    sparse = tmp_path / "sparse.bank"
    with sparse.open("wb") as file:
        file.truncate((1 << 30) + 1)
    with pytest.raises(ModelFileError, match=f"{(1 << 30) + 1} bytes, more than the limit of"):
        load_model(sparse)


@pytest.mark.parametrize(("dimension", "words"), [("S", "draws"), ("D", "texts"), ("T", "classes")])
def test_more_objects_than_bytes_are_refused_by_their_shapes(dimension, words, tmp_path):
    fitted("regressor, names" if dimension != "T" else "two classes").save(tmp_path / "model.bank")
    with container.opened(tmp_path / "model.bank", ModelFileError) as file:
        table = {name: (entry.dtype, entry.shape) for name, entry in file.entries.items()}
        meta = file.meta
    model_checks.check_shapes(meta, table)
    places = {"S": ["draws/W"], "D": ["scaling/used", "features/lengths"], "T": ["draws/root"]}
    for name in places[dimension]:
        dtype, shape = table[name]
        sizes = (
            (*shape[:1], (1 << 21) - 1, *shape[2:]) if dimension == "T" else (1 << 21, *shape[1:])
        )
        table[name] = (dtype, sizes)
    with pytest.raises(ValueError, match=f"2097152 {words}.*at most"):
        model_checks.check_shapes(meta, table)


def test_infinite_parameters_and_long_names_are_refused(saved):
    with container.opened(saved, ModelFileError) as file:
        table = {name: (entry.dtype, entry.shape) for name, entry in file.entries.items()}
        meta = file.meta
    for number in (1e999, -1e999):  # what a header can write without the word
        with pytest.raises(ValueError, match="parameters/nu0 is not finite"):
            model_checks.check_meta({**meta, "parameters": {"nu0": number}})
    D = table["scaling/used"][1]
    names = {"features/lengths": ("i8", D), "features/bytes": ("u1", ((1 << 26) + 1,))}
    with pytest.raises(ValueError, match="it has 67108865 bytes under 'features'; at most"):
        model_checks.check_shapes(meta, table | names)


def test_many_traces_of_many_chains_take_no_memory(saved, tmp_path):
    def change(meta, arrays):
        meta["sweeps"], meta["warmup"] = [0] * 4096, [0] * 4096
        for name in [name for name in arrays if name.startswith("trace/")]:
            arrays[name] = arrays[name][:0]
        for i in range(26**2):
            letters = chr(97 + i // 26) + chr(97 + i % 26)
            arrays[f"trace/{letters}"] = np.zeros(0)

    altered = changed(saved, tmp_path / "altered.bank", change)
    assert altered.stat().st_size < 1e5
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="689 names of traces"):
        load_model(altered)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


def test_every_number_of_columns_that_is_written_can_be_read():
    written = (SKETCH, WEIGHT_DRAWS, polish.COLUMNS)
    assert max(written) == model_checks.MOST_COLUMNS


def test_a_polished_classifier_with_few_weights_can_be_saved(tmp_path):
    model = BankClassifier(**(SMALL | {"n_frequencies": 2})).fit(X, Y > 20)
    polished = polish.polish(model, X, Y > 20)
    assert polished.draws_[0].root.shape[1] < polished.draws_[0].root.shape[2]
    polished.save(tmp_path / "model.bank")
    same(polished, load_model(tmp_path / "model.bank"))


def put(name, value, index=0):
    def change(meta, arrays):
        arrays[name] = arrays[name].copy()
        arrays[name].flat[index] = value

    return change


def set_meta(*path_and_value):
    *path, last, value = path_and_value

    def change(meta, arrays):
        for key in path:
            meta = meta[key]
        meta[last] = value

    return change


def cut_array(name):
    def change(meta, arrays):
        arrays[name] = arrays[name][:-1]

    return change


def wider(name, last):
    """Zeros with the last dimension as given."""

    def change(meta, arrays):
        arrays[name] = np.zeros((*arrays[name].shape[:-1], last))

    return change


def no_knots(meta, arrays):
    for name in ("scaling/knots", "scaling/heights"):
        arrays[name] = arrays[name][:0]


def long_label(meta, arrays):
    """One label so long that an array of all would take many times the bytes of the file."""
    length, a = 2_000_000, ord("a")
    last = arrays["classes/bytes"][-int(arrays["classes/lengths"][-1]) :]
    arrays["classes/lengths"] = np.array([length, 1, len(last)], dtype=np.int64)
    first = np.full(length, a, dtype=np.uint8)
    arrays["classes/bytes"] = np.concatenate([first, np.array([a + 1], dtype=np.uint8), last])


def two_tasks(meta, arrays):
    for name in ("draws/mu_n", "draws/root"):
        arrays[name] = np.repeat(arrays[name], 2, axis=1)


def two_chains_less(meta, arrays):
    meta["sweeps"], meta["warmup"] = [sum(meta["sweeps"])], [0]


ALTERED = [
    (put("draws/W", np.nan), "draws/W"),
    (put("draws/mu_n", np.inf), "draws/mu_n"),
    (put("draws/root", 1e200), "draws/root"),
    (wider("draws/root", 129), "129 columns"),
    (wider("draws/root", 0), "an array of draws is empty"),
    (two_tasks, "a regressor has one set of weights, not 2"),
    (wider("trace/interweave_acceptance", 17), "interweave_acceptance.* has 17"),
    (put("draws/noise", -1.0), "draws/noise"),
    (put("draws/noise", np.nan), "draws/noise"),
    (put("draws/dof", np.inf), "draws/dof"),
    (put("draws/dof", 1e-300), "draws/dof"),
    (put("draws/lam", 0.0), "draws/lam"),
    (put("draws/chain", 2), "draws/chain"),
    (put("draws/sweep", -3), "draws/sweep"),
    (put("draws/components", -(2**62)), "components"),
    (put("draws/pi", 2.0), "draws/pi"),
    (put("draws/pi", 0.0), "add up to one"),
    (put("draws/Sigma", -1.0), "positive definite"),
    (put("draws/Sigma", 3.0, 1), "symmetric"),
    (put("scaling/scale", 0.0), "scaling/scale"),
    (put("scaling/scale", -1.0), "scaling/scale"),
    (put("scaling/shift", np.nan), "scaling/shift"),
    (put("scaling/used", False), "number of inputs"),
    (put("prior/psi_mean", 0.0), "psi_mean"),
    (cut_array("draws/W"), "draws/mu_n"),
    (cut_array("draws/pi"), "draws/mu"),
    (cut_array("trace/K"), "trace/K"),
    (cut_array("scaling/used"), "number of inputs|inputs"),
    (two_chains_less, "draws/chain"),
    (lambda meta, arrays: arrays.pop("trace/lam"), "trace/lam"),
    (lambda meta, arrays: arrays.pop("draws/W"), "draws/W"),
    (lambda meta, arrays: arrays.update(extra=np.zeros(3)), "extra"),
    (lambda meta, arrays: arrays.update({"trace/../x": np.zeros(18)}), "no name of a trace"),
    (lambda meta, arrays: arrays.update({"draws/W": arrays["draws/W"].astype(int)}), "draws/W"),
    (lambda meta, arrays: arrays.update({"draws/W": arrays["draws/W"][0]}), "dimensions"),
    (lambda meta, arrays: meta.pop("trend"), "header should hold"),
    (lambda meta, arrays: meta.pop("schema"), "names no schema"),
    (set_meta("schema", 2), "schema is 2"),
    (set_meta("schema", True), "schema is True"),
    (set_meta("estimator", "os.system"), "estimator is"),
    (set_meta("trend", "none"), "do not fit each other"),
    (set_meta("scaling", ["none"]), "scaling is"),
    (set_meta("target", None), "should hold"),
    (set_meta("target", "scale", 0.0), "target/scale"),
    (set_meta("target", "scale", "1"), "target/scale"),
    (set_meta("labels", "int64"), "the other way round"),
    (set_meta("sweeps", [9]), "do not fit"),
    (set_meta("sweeps", [9.0, 9.0]), "whole numbers"),
    (set_meta("sweeps", []), "one number per chain"),
    (set_meta("warmup", [10, 10]), "do not fit"),
    (set_meta("start", {}), "start should hold"),
    (set_meta("start", "lam", -1.0), "start/lam"),
    (set_meta("prior", "kappa0", 0.0), "kappa0"),
    (set_meta("prior", "mystery", 1.0), "prior should hold"),
    (set_meta("parameters", "n_frequencies", 10), "n_frequencies does not fit"),
    (set_meta("parameters", "n_frequencies", -1), "n_frequencies must be"),
    (set_meta("parameters", "mystery", 1), "does not know: .*mystery"),
    *((set_meta("parameters", "random_state", v), "random_state") for v in ("0", -1, True, 2**32)),
    (set_meta("parameters", "device", 3), "device must be"),
    (set_meta("parameters", "device", "../cuda"), "device should be"),
    (set_meta("parameters", "checkpoint", "elsewhere"), "sets checkpoint.* was altered"),
    (set_meta("parameters", "checkpoint", None), "sets checkpoint.* was altered"),
    (set_meta("parameters", "n_chains", 2**60), "n_chains must be at most"),
    (set_meta("parameters", "n_draws", 2**60), "n_draws must be at most"),
    (set_meta("parameters", "verbose", [1]), "verbose must be"),
    (set_meta("parameters", "warm_start", 1), "warm_start must be"),
    (set_meta("parameters", "checkpoint_every", -1), "checkpoint_every must be"),
    (set_meta("parameters", "max_time", "x" * 10_000), r"^.{0,500}$"),
    (set_meta("parameters", [["a", 1]]), "parameters should be a table"),
    (set_meta("parameters", "nu0", [[[[1]]]]), "too deeply"),
    (set_meta("provenance", "rows", 2**70), "out of range"),
]


@pytest.mark.parametrize(("change", "words"), ALTERED)
def test_a_right_checksum_does_not_help_wrong_contents(change, words, saved, tmp_path):
    with pytest.raises(ModelFileError, match=words):
        load_model(changed(saved, tmp_path / "altered.bank", change))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("stick", 0), "stick"),
        (put("classes/lengths", 2**62), "lengths of strings"),
        (put("classes/lengths", -1), "lengths of strings"),
        (put("classes/bytes", 0xFF), "decode"),
        (put("classes/bytes", ord("z")), "increasing order"),
        (put("features/lengths", 0), "lengths of strings"),
        (long_label, "too many for the length"),
        (set_meta("labels", "int64"), "classes"),
        (set_meta("labels", None), "the other way round"),
        (set_meta("labels", "complex128"), "labels is"),
        (set_meta("parameters", "inference", "magic"), "inference must be"),
        (set_meta("parameters", "class_weight", [[1, 2, 3]]), "pairs"),
        (set_meta("parameters", "class_weight", [[[], 1]]), "too deeply"),
        (set_meta("parameters", "class_weight", {"low": 1}), "pairs"),
        (set_meta("parameters", "class_weight", [[None, 1]]), "label"),
        (set_meta("parameters", "class_weight", [["low", "1"]]), "finite weights"),
        (set_meta("parameters", "class_weight", [["low", -1]]), "finite weights"),
        (set_meta("parameters", "class_weight", [["low", 1], ["low", 2]]), "twice"),
    ],
)
def test_the_same_for_classifiers(change, words, tmp_path):
    fitted("three classes, words").save(tmp_path / "model.bank")
    with pytest.raises(ModelFileError, match=words):
        load_model(changed(tmp_path / "model.bank", tmp_path / "altered.bank", change))


@pytest.mark.parametrize(
    ("case", "change", "words"),
    [
        ("regressor, quantiles", put("scaling/knots", 1e300), "'scaling/knots' do not increase"),
        ("regressor, quantiles", put("scaling/heights", 9.0), "'scaling/heights' do not increase"),
        ("regressor, quantiles", no_knots, "between 1 and .* knots, not 0"),
        ("Laplace, numbers", put("classes", np.nan, -1), "a label is not finite"),
        ("small integers", put("classes", 300, -1), "do not fit the dtype int8"),
    ],
)
def test_the_same_for_quantiles_and_for_labels_that_are_numbers(case, change, words, tmp_path):
    fitted(case).save(tmp_path / "model.bank")
    with pytest.raises(ModelFileError, match=words):
        load_model(changed(tmp_path / "model.bank", tmp_path / "altered.bank", change))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("tree", 4), "tree of classes"),
        (put("tree", 3, -1), "cut a range|tree of classes"),
        (put("tree", -1), "tree of classes"),
        (lambda meta, arrays: arrays.update(tree=arrays["tree"].T), "'tree' is"),
        (lambda meta, arrays: arrays.update(tree=arrays["tree"][:3]), "'tree' is"),
        (lambda meta, arrays: arrays.update(tree=arrays["tree"].astype(float)), "'tree' is"),
    ],
)
def test_a_tree_of_classes_that_is_none(change, words, tmp_path):
    fitted("five classes").save(tmp_path / "model.bank")
    with pytest.raises(ModelFileError, match=words):
        load_model(changed(tmp_path / "model.bank", tmp_path / "altered.bank", change))


def test_the_tree_is_stored_with_the_draws(tmp_path):
    model = fitted("five classes")
    assert model.tree_ == HALVES
    model.save(tmp_path / "model.bank")
    assert load_model(tmp_path / "model.bank").tree_ == model.tree_
    # Two and three classes are on a stick, and their files are those of before.
    for case in ("two classes", "three classes, words"):
        fitted(case).save(tmp_path / "model.bank")
        with container.opened(tmp_path / "model.bank", ModelFileError) as file:
            assert "tree" not in file.entries
        assert load_model(tmp_path / "model.bank").tree_ == fitted(case).tree_


def test_a_pickle_without_a_tree_has_its_classes_on_a_stick():
    model = load_model(Path(__file__).parent / "golden" / "stick-1.bank")
    p = model.predict_proba(NEW)
    del model.tree_
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(NEW), p)


def test_labels_that_do_not_fit_their_dtype_are_refused(tmp_path):
    fitted("small integers").save(tmp_path / "model.bank")
    altered = changed(tmp_path / "model.bank", tmp_path / "altered.bank", put("classes", 300, -1))
    with pytest.raises(ModelFileError, match="do not fit the dtype int8"):
        load_model(altered)


def test_a_checkpoint_is_no_model(tmp_path):
    container.write(tmp_path / "other.bank", "checkpoint", {}, {})
    with pytest.raises(ModelFileError, match="not a model"):
        load_model(tmp_path / "other.bank")


def many_draws(meta, arrays):
    for name in [name for name in arrays if name.startswith("draws/")]:
        arrays[name] = np.concatenate([arrays[name]] * 350)


def one_large_draw(meta, arrays):
    M, trend = 5000, arrays["draws/mu_n"].shape[2] - 2 * arrays["draws/W"].shape[1]
    counts = arrays["draws/components"][:1]
    for name in [name for name in arrays if name.startswith("draws/")]:
        ragged = name.removeprefix("draws/") in ("pi", "mu", "Sigma")
        arrays[name] = arrays[name][: counts[0] if ragged else 1]
    arrays["draws/W"] = np.zeros((1, M, arrays["draws/W"].shape[2]))
    arrays["draws/mu_n"] = np.zeros((1, 1, trend + 2 * M))
    arrays["draws/root"] = np.zeros((1, 1, trend + 2 * M, 128))
    meta["parameters"]["n_frequencies"] = M


def long_traces(meta, arrays):
    meta["sweeps"], meta["warmup"] = [150_000, 20_000], [5, 6]
    for name in [name for name in arrays if name.startswith("trace/")]:
        arrays[name] = np.zeros((170_000, *arrays[name].shape[1:]), dtype=arrays[name].dtype)


@pytest.mark.parametrize("change", [many_draws, one_large_draw, long_traces])
def test_loading_takes_the_memory_of_the_file(change, saved, tmp_path):
    """Nothing is there twice, however the bytes are spread over draws and chains."""
    large = changed(saved, tmp_path / "large.bank", change)
    size = large.stat().st_size
    assert size > 3e6
    tracemalloc.start()
    model = load_model(large)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(model.predict(NEW)).all()
    # A draw is an object with a dozen attributes; the checksum is summed in pieces of 1 MiB.
    assert peak < 1.02 * size + 3000 * len(model.draws_) + (3 << 20)


def test_a_draw_of_a_loaded_model_does_not_keep_the_others(saved, tmp_path):
    draw = load_model(changed(saved, tmp_path / "large.bank", many_draws)).draws_[7]
    for name in ("W", "mu_n", "root", "pi", "mu", "Sigma"):
        part = getattr(draw, name)
        assert part.base is None or part.base.size == part.size
