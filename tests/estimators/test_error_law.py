"""Intervals hold what they say whatever the noise is like, for every way to fit and to keep."""

import pickle
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from altered_files import changed
from banklearn import BankRegressor, ModelFileError, load_model, polish
from banklearn.estimators.regressor import LEAST_DRAWS, LEAST_ROWS
from banklearn.posterior.error_law import LEAST_STD, ROWS_A_WEIGHT, ErrorLaw, Errors
from banklearn.posterior.predict import Law
from blockwise import PARTITIONS, make_case
from helpers import close

SMALL = {"n_frequencies": 20, "n_chains": 2, "n_warmup": 30, "n_draws": 8, "thin": 1}
SHAPES = {
    "normal": lambda rng, x: rng.standard_normal(len(x)),
    "heavy tails": lambda rng, x: rng.standard_t(2.2, len(x)),
    "loud on the right": lambda rng, x: rng.standard_normal(len(x)) * np.where(x > 1.2, 3.0, 0.1),
}


def simulate(shape, n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, 40 + 8 * np.sin(2 * X[:, 0]) + 4 * X[:, 1] + 0.8 * SHAPES[shape](rng, X[:, 0])


@cache
def fitted(shape="heavy tails", law="learned", rows=1500):
    return BankRegressor(**SMALL, error_law=law, random_state=0).fit(*simulate(shape, rows, 1))


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_hold_what_they_say(shape):
    model = fitted(shape)
    assert isinstance(model.error_law_, ErrorLaw)
    X, y = simulate(shape, 6000, 2)
    for coverage in (0.5, 0.8, 0.95):
        lower, upper = model.predict_interval(X, coverage)
        # Four standard errors, of 1500 rows that the law is learned from and 6000 to judge by.
        allowed = 4 * np.sqrt(coverage * (1 - coverage) * (1 / 1500 + 1 / 6000))
        close(np.mean((lower < y) & (y < upper)), coverage, 0, allowed)


def test_normal_intervals_of_noise_that_is_not_normal_do_not():
    """What the test above would find if nothing were learned."""
    X, y = simulate("loud on the right", 6000, 2)
    lower, upper = fitted("loud on the right", "normal").predict_interval(X, 0.5)
    assert np.mean((lower < y) & (y < upper)) > 0.7


@pytest.mark.parametrize(("shape", "gain"), [("normal", -0.01), ("heavy tails", 0.1)])
def test_log_densities_gain_and_means_stay(shape, gain):
    X, y = simulate(shape, 4000, 3)
    learned, normal = fitted(shape), fitted(shape, "normal")
    assert normal.error_law_ is None
    found = learned.log_predictive_density(X, y).mean() - normal.log_predictive_density(X, y).mean()
    assert found > gain
    np.testing.assert_array_equal(learned.predict(X), normal.predict(X))


def test_all_that_is_said_of_a_row_is_of_one_law():
    model = fitted()
    X, y = simulate("heavy tails", 50, 4)
    mean, std = model.predict(X, return_std=True)
    close(mean, model.predict(X), 1e-12)
    law, plain = model._law(model._rows(X)[:]), fitted(law="normal")
    close(
        plain.predict(X, return_std=True)[1], np.sqrt(law.noise + law.doubt) * scale_of(model), 1e-9
    )
    common = np.minimum(law.doubt, law.errors.reach * law.noise)
    assert 0 < (common < law.doubt).sum() < 50
    variance = law.errors.std() ** 2 * (law.noise + common) + law.doubt - common
    close(std, np.sqrt(variance) * scale_of(model), 1e-12)
    quantiles = model.predict_quantiles(X, [0.05, 0.5, 0.95])
    close(quantiles[:, 1], mean, 1e-12)
    close(np.stack(model.predict_interval(X, 0.9), 1), quantiles[:, ::2], 1e-12)
    step = 1e-5 * std
    levels = np.stack(
        [model._law(model._rows(X)[:]).cdf(_scaled(model, y + s)) for s in (-step, step)]
    )
    slope = (levels[1] - levels[0]) / (2 * step)
    close(np.exp(model.log_predictive_density(X, y)), slope, 1e-4, 1e-12)


def scale_of(model):
    return model.target_scaling_.scale


def _scaled(model, y):
    return (y - model.target_scaling_.shift) / model.target_scaling_.scale


def test_samples_have_the_law_of_the_intervals():
    model = fitted()
    X = np.array([[0.3, -0.2], [1.0, 1.0]])
    sampled = model.sample_y(X, 4000, random_state=0)
    for q in (0.025, 0.25, 0.5, 0.9):
        below = (sampled < model.predict_quantiles(X, q)).mean(axis=1)
        close(below, q, 0, 0.03)


@pytest.mark.parametrize("number", range(3))
def test_noise_that_is_mostly_small_leaves_doubts_where_there_are_no_rows(number):
    rng = np.random.default_rng(number)

    def noise(n):
        return np.where(rng.random(n) < 0.05, 3.0, 0.05) * rng.standard_normal(n)

    X = np.concatenate([rng.uniform(-3, 0, 200), rng.uniform(2, 5, 200)])[:, None]
    y = np.sin(2 * X[:, 0]) + np.cos(0.7 * X[:, 0]) + noise(400)
    model = BankRegressor(**SMALL, random_state=number).fit(X, y)
    far = np.array([[0.9], [1.1], [9.0], [30.0]])
    f = model.sample_y(far, 2000, random_state=0, noise=False)
    for coverage in (0.5, 0.8, 0.95):
        lower, upper = model.predict_interval(far, coverage)
        held = ((lower[:, None] < f) & (f < upper[:, None])).mean(axis=1)
        assert (held > coverage - 0.15).all()  # of the model's own functions
    lower, upper = model.predict_interval(X, 0.5)
    assert np.median(upper - lower) < 0.3  # and among the rows errors are small
    latent = f.std(axis=1)
    close(model.predict(far, return_std=True)[1][-1], latent[-1], 0.35)


@pytest.mark.parametrize(("rows", "learned"), [(LEAST_ROWS, True), (LEAST_ROWS - 1, False)])
def test_rows_that_are_repeated_and_rows_of_weight_two_are_one_error(rows, learned):
    X, y = simulate("heavy tails", rows, 5)
    options = {**SMALL, "n_warmup": 2, "random_state": 0}
    twice = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    found = [
        BankRegressor(**options).fit(X, y, np.full(rows, 2.0)),
        BankRegressor(**options).fit(*twice),
        BankRegressor(**options, merge_duplicates=False).fit(*twice),
    ]
    assert [model.error_law_ is not None for model in found] == 3 * [learned]
    if learned:
        weighed, merged, _ = (model.error_law_.quantile(0.9) for model in found)
        close(weighed, merged, 1e-6)


@pytest.mark.parametrize(("rows", "weight", "least"), [(200, 20.0, 1.0), (4000, None, LEAST_STD)])
def test_few_different_rows_do_not_narrow_the_model_s_own_law(rows, weight, least):
    """Frequencies can learn a few rows by heart, however much these weigh."""
    X, y = simulate("normal", rows, 5)
    weights = None if weight is None else np.full(rows, weight)
    model = BankRegressor(**{**SMALL, "n_warmup": 2}, random_state=0).fit(X, y, weights)
    number = model.draws_[0].mu_n.shape[-1]
    assert 200 < ROWS_A_WEIGHT * number < 4000
    learned_by_heart = _scaled(model, model.predict(X))
    law = model._law_of_errors(rows, model._rows(X)[:], learned_by_heart, weights)
    close(law.std(), least, 1e-9)


@pytest.mark.parametrize("how", ["merged", "apart", "in blocks"])
def test_copies_are_no_rows_that_differ_in_a_sample_of_many_either(how, monkeypatch):
    counted = []
    monkeypatch.setattr(
        "banklearn.estimators.regressor.least_std", lambda rows, _: counted.append(rows) or 1.0
    )
    X, y = (np.tile(part, (30, 1)[: part.ndim]) for part in simulate("normal", 300, 5))
    options = {**SMALL, "n_warmup": 2, "trend": "constant", "random_state": 0}
    model = BankRegressor(**options, merge_duplicates=how == "merged")
    if how == "in blocks":
        model.fit([(X[:5000], y[:5000]), (X[5000:], y[5000:])])
    else:
        model.fit(X, y)
    assert counted == [300]


def test_few_rows_or_draws_keep_the_laws_of_the_model():
    X, y = simulate("heavy tails", LEAST_ROWS, 5)
    few = {**SMALL, "n_warmup": 2, "n_chains": 1}
    for draws, rows, learned in (
        (LEAST_DRAWS, LEAST_ROWS, True),
        (LEAST_DRAWS - 1, LEAST_ROWS, False),
        (LEAST_DRAWS, LEAST_ROWS - 1, False),
    ):
        model = BankRegressor(**{**few, "n_draws": draws}, random_state=0).fit(X[:rows], y[:rows])
        assert (model.error_law_ is not None) is learned
        assert isinstance(model._law(model._rows(X)[:]), Law) is not learned


def test_a_fit_outlives_errors_that_are_no_numbers(monkeypatch):
    module = "banklearn.estimators.regressor.left_out_errors"
    monkeypatch.setattr(module, lambda draws, X, *_: Errors(*np.full((3, len(X)), np.nan)))
    X, y = simulate("normal", LEAST_ROWS, 5)
    model = BankRegressor(**{**SMALL, "n_warmup": 2}, random_state=0).fit(X, y)
    assert model.error_law_ is None
    assert np.isfinite(model.predict_interval(X)).all()


def few_errors(y):
    return np.where(np.arange(len(y)) % 50 == 0, y, 0.0)


TARGETS = {
    "constant": lambda y: np.full(len(y), 7.0),
    "two values": lambda y: (y > 0).astype(float),
    "mostly zero": few_errors,
    "one far out": lambda y: np.where(np.arange(len(y)) == 3, 1e12, y),
    "huge": lambda y: 1e200 * y,
    "tiny": lambda y: 1e-200 * y,
    "no mean": lambda y: np.tan(1.5 * np.tanh(3 * y)) ** 9,
}
WEIGHTS = {
    "none": None,
    "of all sizes": 10.0 ** np.linspace(-30, 12, 240),
    "next to nothing": np.full(240, 1e-300),
}


@pytest.mark.filterwarnings("ignore:y does not vary", "ignore:sample_weight adds up to")
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("target", TARGETS)
def test_whatever_the_rows_are_laws_are_laws(target, weight, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 2))
    y = TARGETS[target](np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(240))
    options = {**SMALL, "n_frequencies": 6, "n_warmup": 2, "n_chains": 1}
    model = BankRegressor(**options, merge_duplicates=False, random_state=0)
    model.fit(X, y, WEIGHTS[weight])
    assert isinstance(model.error_law_, ErrorLaw)
    new = np.concatenate([X[:20], 1e6 * X[:5]])
    quantiles = model.predict_quantiles(new, [1e-12, 0.025, 0.5, 0.975, 1 - 1e-12])
    assert np.isfinite(quantiles).all()
    assert (np.diff(quantiles, axis=1) >= 0).all()
    density = model.log_predictive_density(new, np.resize(y, len(new)))
    assert np.isfinite(density).all()
    mean, std = model.predict(new, return_std=True)
    assert np.isfinite(mean).all()
    assert (np.isfinite(std) & (std > 0)).all()
    assert np.isfinite(model.sample_y(new, 3, random_state=0)).all()
    model.save(tmp_path / "model.bank")
    again = load_model(tmp_path / "model.bank")
    np.testing.assert_array_equal(
        again.log_predictive_density(new, mean), model.log_predictive_density(new, mean)
    )


def test_another_word_is_refused():
    X, y = simulate("normal", 20, 0)
    with pytest.raises(ValueError, match="error_law must be one of"):
        BankRegressor(error_law="student").fit(X, y)


@cache
def in_memory():
    case = make_case("regression", n_draws=4)
    return case, deepcopy(case.estimator.fit(case.X, case.y, case.weight))


def assert_same_law(case, one, two):
    close(two.error_law_.scale, one.error_law_.scale, 1e-12)
    close(two.error_law_.share, one.error_law_.share, 1e-6, 1e-9)
    for a, b in zip(one.predict_interval(case.X), two.predict_interval(case.X), strict=True):
        close(a, b, 1e-7, 1e-7)


def test_rows_in_blocks_give_the_same_law():
    case, reference = in_memory()
    model = clone(case.estimator).fit(case.blocks(PARTITIONS[7]))
    assert_same_law(case, reference, model)


def test_rows_on_a_cluster_give_the_same_law(client):
    import dask.array as da

    case, reference = in_memory()
    values = (case.X, case.y, case.weight)
    X, y, weight = (da.from_array(v, chunks=(1300, *v.shape[1:])) for v in values)
    assert_same_law(case, reference, clone(case.estimator).fit(X, y, weight, client=client))
    # And so do chains that run there on rows that are here.
    spread = clone(case.estimator).fit(case.X, case.y, case.weight, client=client)
    assert_same_law(case, reference, spread)


@pytest.mark.torch
def test_rows_on_a_device_give_the_same_law():
    case, reference = in_memory()
    # With a number, the processor is a device of PyTorch like any other.
    model = clone(case.estimator).set_params(device="cpu:0").fit(case.X, case.y, case.weight)
    assert model.provenance_["device"] == "cpu:0"
    assert_same_law(case, reference, model)


def test_the_order_of_rows_does_not_matter():
    case, reference = in_memory()
    order = np.random.default_rng(0).permutation(len(case.X))
    model = clone(case.estimator).fit(case.X[order], case.y[order], case.weight[order])
    assert_same_law(case, reference, model)


def test_files_and_pickles_keep_the_law(tmp_path):
    model = fitted()
    X, y = simulate("heavy tails", 30, 6)
    model.save(tmp_path / "model.bank")
    for again in (load_model(tmp_path / "model.bank"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.error_law_.scale, model.error_law_.scale)
        np.testing.assert_array_equal(again.error_law_.share, model.error_law_.share)
        assert again.error_law_.reach == model.error_law_.reach < np.inf
        for a, b in zip(again.predict_interval(X), model.predict_interval(X), strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(
            again.log_predictive_density(X, y), model.log_predictive_density(X, y)
        )


def without_law(meta, arrays):
    """A file as it was before there was a law of errors."""
    del meta["parameters"]["error_law"]
    for name in ("scale", "share", "reach"):
        del arrays[f"errors/{name}"]


def test_files_and_pickles_without_one_predict_as_they_did(tmp_path):
    fitted().save(tmp_path / "model.bank")
    old = load_model(changed(tmp_path / "model.bank", tmp_path / "old.bank", without_law))
    state = {n: v for n, v in fitted().__getstate__().items() if not n.startswith("error_law")}
    unpickled = BankRegressor.__new__(BankRegressor)
    unpickled.__setstate__(state)
    X, _ = simulate("heavy tails", 30, 6)
    expected = fitted(law="normal").predict_interval(X)
    for model in (old, unpickled):
        assert model.error_law_ is None
        for a, b in zip(model.predict_interval(X), expected, strict=True):
            np.testing.assert_array_equal(a, b)
    assert unpickled.get_params()["error_law"] == "normal"


def test_files_of_before_doubt_had_a_limit_scale_all_of_it(tmp_path):
    model = fitted()
    model.save(tmp_path / "model.bank")

    def without_limit(meta, arrays):
        del arrays["errors/reach"]

    old = load_model(changed(tmp_path / "model.bank", tmp_path / "old.bank", without_limit))
    assert old.error_law_.reach == np.inf > model.error_law_.reach
    X = np.array([[0.3, -0.2], [9.0, 9.0]])
    plain, law = fitted(law="normal"), model.error_law_
    spread = plain.predict(X, return_std=True)[1]
    for q in (0.1, 0.9):
        expected = plain.predict(X) + spread * law.quantile(q)
        close(old.predict_quantiles(X, q)[:, 0], expected, 1e-9)
    close(old.predict(X, return_std=True)[1], spread * law.std(), 1e-9)
    old.save(tmp_path / "again.bank")
    assert load_model(tmp_path / "again.bank").error_law_.reach == np.inf


def put(name, values):
    return lambda meta, arrays: arrays.update({f"errors/{name}": np.asarray(values, dtype=float)})


def both(scale, share):
    return lambda meta, arrays: (
        put("scale", scale)(meta, arrays),
        put("share", share)(meta, arrays),
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (both([1.0, 2.0], [0.5, 0.6]), "add up to one"),
        (both([2.0, 1.0], [0.5, 0.5]), "do not increase"),
        (both([1.0, 1.0], [0.5, 0.5]), "do not increase"),
        (both([0.0, 1.0], [0.5, 0.5]), "errors/scale"),
        (both([1.0, 1e7], [0.5, 0.5]), "errors/scale"),
        (both([1.0, np.nan], [0.5, 0.5]), "errors/scale"),
        (both([1.0, 2.0], [-0.5, 1.5]), "errors/share"),
        (both([1.0, 2.0], [np.nan, 1.0]), "errors/share"),
        (both([], []), "between 1 and 64"),
        (both(np.arange(1.0, 66.0), np.full(65, 1 / 65)), "between 1 and 64"),
        (put("share", [1.0]), "errors/share"),
        (put("reach", [-0.1]), "errors/reach"),
        (put("reach", [np.inf]), "errors/reach"),
        (put("reach", [np.nan]), "errors/reach"),
        (put("reach", [0.1, 0.2]), "errors/reach"),
        (put("scale", [[1.0]]), "2 dimensions"),
        (lambda meta, arrays: arrays.pop("errors/scale"), "errors/share"),
        (lambda meta, arrays: arrays.pop("errors/share"), "errors/share"),
    ],
)
def test_laws_that_are_none_are_refused(tmp_path, change, words):
    fitted().save(tmp_path / "model.bank")
    with pytest.raises(ModelFileError, match=words):
        load_model(changed(tmp_path / "model.bank", tmp_path / "altered.bank", change))


def test_a_polished_draw_has_the_law_of_the_model():
    X, y = simulate("heavy tails", 1500, 1)
    point = polish(fitted(), X, y, max_iter=3)
    assert point.error_law_ is None
    assert fitted().error_law_ is not None


def test_an_interval_without_ends_is_refused():
    model, X = fitted("loud on the right", "learned"), simulate("loud on the right", 3, 0)[0]
    lower, upper = model.predict_interval(X, 1.0 - 2.0**-52)
    assert (lower < upper).all()
    with pytest.raises(ValueError, match=r"coverage is 0\.9999999999999999, so near 1"):
        model.predict_interval(X, 1.0 - 2.0**-53)
