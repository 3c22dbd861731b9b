"""What "auto" makes of inputs that are crowded, heavy-tailed, or neither."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from banklearn import BankClassifier, BankRegressor
from banklearn.estimators.starting import contend, leaders
from banklearn.numerics.streams import Streams
from banklearn.posterior.scaling import fit_scaling
from banklearn.sampler.pilots import Pilot, Pilots
from banklearn.sampler.start import StartingPoint

N = 400


def chosen(x, f, seed=0):
    """The kind of scaling that is chosen for y = f + noise."""
    rng = np.random.default_rng(seed + 100)
    y = f + 0.1 * rng.standard_normal(len(f))
    few = BankRegressor(32, n_warmup=1, n_draws=1, n_chains=1, random_state=seed)
    return few.fit(x.reshape(len(f), -1), y).input_scaling_.kind


@pytest.mark.parametrize("start", range(3))
@pytest.mark.parametrize("law", ["normal", "uniform", "grid"])
def test_ordinary_inputs_are_standardised(law, start):
    rng = np.random.default_rng(start)
    x = {
        "normal": lambda: rng.standard_normal(N),
        "uniform": lambda: rng.uniform(-2, 2, N),
        "grid": lambda: np.linspace(-2, 2, N),
    }[law]()
    assert chosen(x, np.sin(5 * x), start) == "standard"


@pytest.mark.parametrize("start", range(3))
def test_inputs_that_crowd_are_brought_to_normal_scores(start):
    rng = np.random.default_rng(start)
    # Five narrow clusters far from each other: distances say little, ranks say all.
    z = rng.uniform(0, 5, N)
    x = 1e6 * np.floor(z) + z % 1
    assert chosen(x, np.sin(1.5 * z), start) == "quantile"


@pytest.mark.parametrize("start", range(3))
def test_heavy_tails_are_transformed(start):
    z = np.random.default_rng(start).standard_normal(N)
    assert chosen(np.sinh(3 * z), np.sin(3 * z), start) in ("arcsinh", "quantile")


@pytest.mark.parametrize(
    ("standard", "arcsinh", "quantile", "expected"),
    [
        (0.0, 9.0, 9.0, ["standard"]),
        (0.0, 11.0, 9.0, ["arcsinh", "standard"]),  # near each other; quantiles have not earned it
        (0.0, 50.0, 30.0, ["quantile", "arcsinh"]),
        (0.0, 30.0, 50.0, ["quantile", "arcsinh"]),
        (0.0, 50.0, 20.0, ["arcsinh"]),
        (0.0, 20.0, 50.0, ["quantile"]),
        (0.0, 11.0, -90.0, ["arcsinh", "standard"]),
        (-30.0, -90.0, -10.0, ["quantile", "standard"]),
        (0.0, 20.0, 22.0, ["quantile", "arcsinh", "standard"]),
    ],
)
def test_only_transforms_that_earn_what_they_cost_contend(standard, arcsinh, quantile, expected):
    evidences = {"standard": standard, "arcsinh": arcsinh, "quantile": quantile}
    best = {k: (k, "linear", StartingPoint(1.0, 1.0, e)) for k, e in evidences.items()}
    assert [choice[0] for choice in contend(best, rows=1000)] == expected
    assert contend({"arcsinh": best["arcsinh"]}, rows=1000)[0][0] == "arcsinh"


def test_the_best_transform_and_inputs_as_they_are_go_on():
    assert leaders(["quantile", "arcsinh", "standard"], [1.0, 3.0, 2.0]) == [1, 2]
    assert leaders(["quantile", "arcsinh", "standard"], [5.0, 3.0, 9.0]) == [2, 0]
    assert leaders(["quantile", "arcsinh"], [1.0, 1.0]) == [0]
    assert leaders(["standard"], [1.0]) == [0]


def pilot_fit(**changes):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (300, 1))
    y = np.sin(8 * X[:, 0]) + 0.05 * rng.standard_normal(300)
    settings = {"n_warmup": 80, "n_draws": 2, "n_chains": 1, "random_state": 0, **changes}
    return BankRegressor(8, **settings), X, y


def test_pilots_are_sent_where_warm_up_is_long_enough():
    short, X, y = pilot_fit(n_warmup=79)
    long, *_ = pilot_fit()
    fixed, *_ = pilot_fit(spectral_scale=0.5)
    slow, fast = (m.fit(X, y)._start.scale for m in (short, long))
    assert fast > slow
    assert np.log2(fast / slow) == int(np.log2(fast / slow))
    assert fixed.fit(X, y)._start.scale == pytest.approx(0.5)
    np.testing.assert_array_equal(long.prior_.psi_mean, fast**2)
    # The fixed kernel of highest evidence, which plots show beside the learned one, is another.
    assert long.starting_point_ == short.starting_point_ == short._start


@pytest.mark.parametrize(
    ("heights", "expected"),
    [
        # (at the first look, at the end) of quantile, arcsinh and standard.
        ([(5.0, 1.0), (4.0, 9.0), (3.0, 2.0)], "standard"),
        ([(4.0, 9.0), (5.0, 3.0), (3.0, 2.0)], "arcsinh"),
        ([(5.0, 3.0), (4.0, 9.0), (6.0, 2.0)], "quantile"),
        ([(5.0, 3.0), (4.0, 9.0), (6.0, 4.0)], "standard"),
    ],
)
def test_of_a_transform_and_none_the_one_that_ends_higher_is_chosen(monkeypatch, heights, expected):
    model, X, y = pilot_fit(n_warmup=160)
    kinds = ["quantile", "arcsinh", "standard"]
    choices = [
        (fit_scaling(X, None, kind), "linear", StartingPoint(0.1 + 0.2 * i, 1.0, 0.0))
        for i, kind in enumerate(kinds)
    ]
    known = {choice[2].scale: height for choice, height in zip(choices, heights, strict=True)}

    def send(self, scale):
        if scale not in known:  # none gets higher from a faster one
            return None
        soon, end = known[scale]
        start = StartingPoint(scale, 1.0, 0.0)
        return Pilot(self, start, None, None, None, [soon] * 8 + [end] * 8)

    monkeypatch.setattr(Pilots, "send", send)
    model._begun = 0.0
    choice, start = model._after_pilots(choices, (X, y, None), np.arange(300), Streams(0))
    assert choice is choices[kinds.index(expected)]
    assert start == choice[2]


def test_pilots_do_not_depend_on_the_order_of_rows_nor_on_equal_inputs():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (2600, 2)).astype(float)
    y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + rng.standard_normal(len(X))
    order = rng.permutation(len(X))
    model, *_ = pilot_fit(n_draws=1, gradient_every=0)
    there = model.fit(X, y)._start
    mean = model.predict(X[:50])
    back = model.fit(X[order], y[order])._start
    assert there.scale == pytest.approx(back.scale, rel=1e-12)
    assert there.log_evidence == pytest.approx(back.log_evidence, rel=1e-9)
    np.testing.assert_allclose(model.predict(X[:50]), mean, rtol=1e-6, atol=1e-8)


def test_where_time_ends_the_first_pilots_fixed_kernels_decide(monkeypatch):
    model, X, y = pilot_fit()
    monkeypatch.setattr("banklearn.estimators.choosing.PILOT_SHARE", 0.0)
    model.set_params(max_time=1e6).fit(X, y)
    assert model._start == model.starting_point_


def test_a_classifier_sends_pilots_with_the_law_of_a_regression(monkeypatch):
    seen = []
    whole = Pilots.at

    def at(self, scale, model):
        seen.append(model.prior)
        return whole(self, scale, model)

    monkeypatch.setattr(Pilots, "at", at)
    _, X, y = pilot_fit()
    model = BankClassifier(8, n_warmup=80, n_draws=2, n_chains=1, random_state=0).fit(X, y > 0)
    assert {(prior.lam_log_mean, prior.lam_log_sd) for prior in seen} == {(0.0, 5.0)}
    assert (model.prior_.lam_log_mean, model.prior_.lam_log_sd) == (-3.0, 1.5)


def test_a_resumed_fit_keeps_what_the_first_one_chose(tmp_path):
    # Time for one sweep of the chain and none for pilots: the start is that of fixed kernels.
    first, X, y = pilot_fit(checkpoint=tmp_path, max_time=1e-6, checkpoint_every=0)
    with pytest.warns(ConvergenceWarning):
        first.fit(X, y)
    again, *_ = pilot_fit(checkpoint=tmp_path, checkpoint_every=0)
    with pytest.warns(ConvergenceWarning, match="Only 0 of 80 warm-up sweeps"):
        again.fit(X, y, resume=True)
    fresh, *_ = pilot_fit()
    fresh.fit(X, y)
    assert again._start == first._start == first.starting_point_
    assert again._start != fresh._start
