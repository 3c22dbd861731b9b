"""The option `arithmetic`, as a user meets it."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

from banklearn import BankClassifier, BankRegressor, load_model

SMALL = {"n_chains": 2, "n_warmup": 12, "n_draws": 4, "thin": 1, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1], rng.standard_normal(500)


def fitted(X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return BankRegressor(8, **SMALL, **options).fit(X, y)


def test_predictions_are_those_of_double_precision(rows):
    X, signal, noise = rows
    y = signal + 0.3 * noise
    mixed, double = fitted(X, y, arithmetic="mixed"), fitted(X, y)
    assert [s["arithmetic"] for s in mixed.schedule_] == ["mixed", "mixed"]
    assert [s["arithmetic"] for s in double.schedule_] == ["double", "double"]
    np.testing.assert_allclose(mixed.predict(X), double.predict(X), rtol=1e-4, atol=1e-4)
    assert not np.array_equal(mixed.predict(X), double.predict(X))


def test_where_noise_is_too_small_a_fit_says_so_and_goes_on(rows):
    X, signal, _ = rows
    model = BankRegressor(24, **SMALL, arithmetic="mixed", spectral_scale=2.0)
    with pytest.warns(UserWarning, match=r"given up in [12] of 2 chains: rounding changed") as seen:
        model.fit(X, signal)
    (said,) = [warning for warning in seen if "given up" in str(warning.message)]
    assert said.filename == __file__
    assert "double" in {s["arithmetic"] for s in model.schedule_}
    assert np.mean((model.predict(X) - signal) ** 2) < 0.01


@pytest.mark.parametrize("number", range(6))
def test_features_that_cannot_be_factored_are_no_reason_to_fail(number):
    rng = np.random.default_rng(number)
    X = rng.uniform(-2.0, 2.0, (800, 1))
    y = np.sin(X[:, 0]) + X[:, 0] ** 2
    options = {"n_chains": 1, "n_warmup": 12, "n_draws": 4, "thin": 1, "random_state": number}
    model = BankRegressor(40, **options, spectral_scale=0.3, arithmetic="mixed")
    with pytest.warns(UserWarning, match="given up in 1 of 1 chains"):
        model.fit(X, y)
    assert np.mean((model.predict(X) - y) ** 2) < 1e-4


def test_classes_too(rows):
    X, signal, noise = rows
    y = np.digitize(signal + 0.5 * noise, [-0.5, 0.5])
    model = BankClassifier(8, **SMALL, arithmetic="mixed").fit(X, y)
    assert [s["arithmetic"] for s in model.schedule_] == ["mixed", "mixed"]
    assert model.score(X, y) > 0.7


def test_it_is_kept_in_files_and_pickles(rows, tmp_path):
    X, signal, noise = rows
    model = fitted(X, signal + noise, arithmetic="mixed")
    model.save(tmp_path / "model.bank")
    assert load_model(tmp_path / "model.bank").arithmetic == "mixed"
    assert pickle.loads(pickle.dumps(model)).arithmetic == "mixed"
    state = model.__getstate__()
    del state["arithmetic"]
    old = BankRegressor.__new__(BankRegressor)
    old.__setstate__(state)
    assert old.arithmetic == "double"


def test_what_is_refused(rows):
    X, signal, _ = rows
    with pytest.raises(ValueError, match="arithmetic must be one of 'double', 'mixed'"):
        BankRegressor(4, **SMALL, arithmetic="single").fit(X, signal)
    with pytest.raises(ValueError, match="arithmetic='mixed' has no meaning with inference="):
        BankClassifier(4, **SMALL, inference="laplace-mh", arithmetic="mixed").fit(X, signal > 0)
    with pytest.raises(ValueError, match=r"is for the CPU.*device='cuda'.*Leave arithmetic"):
        BankRegressor(4, **SMALL, device="cuda", arithmetic="mixed").fit(X, signal)


def test_a_checkpoint_goes_on_in_the_arithmetic_that_it_has(rows, tmp_path):
    X, signal, noise = rows
    y = signal + 0.3 * noise
    options = {"arithmetic": "mixed", "checkpoint_every": 0.0}
    whole = fitted(X, y, **options, checkpoint=tmp_path / "whole")
    part = BankRegressor(8, **{**SMALL, "n_draws": 2}, **options, checkpoint=tmp_path / "part")
    part.fit(X, y)
    part.set_params(n_draws=4).fit(X, y, resume=True)
    np.testing.assert_array_equal(part.predict(X), whole.predict(X))


def test_rows_on_disk_have_it_too(rows, tmp_path):
    X, signal, noise = rows
    names = ["x0", "x1", "x2"]
    table = pd.DataFrame(X, columns=names).assign(y=signal + 0.3 * noise)
    table.to_parquet(tmp_path / "rows.parquet")
    model = BankRegressor(8, **SMALL, arithmetic="mixed")
    model.fit(str(tmp_path / "rows.parquet"), target="y")
    assert [s["arithmetic"] for s in model.schedule_] == ["mixed", "mixed"]
    there = fitted(table[names], table["y"], arithmetic="mixed", merge_duplicates=False)
    np.testing.assert_array_equal(model.predict(table[names]), there.predict(table[names]))
