"""The rule by which chains have settled, on series that are known to have, or not to have."""

import numpy as np
import pytest

from banklearn.model.kernel import mixture_kernel
from banklearn.numerics.streams import Purpose, Streams
from banklearn.posterior.settling import (
    CLIMB,
    LEAST_DRAWS,
    LOOKS,
    Probes,
    climb,
    judge,
    least_draws,
    look,
    most_draws,
    watched,
)
from banklearn.sampler.run import Run
from fitted import one_input, two_classes
from helpers import autoregression, close


def judged(likelihood, **others):
    """The verdict on chains of scalars, all of them seen at every sweep."""
    series = {"log likelihood": likelihood, **others}
    return judge({name: x[:, :, None] for name, x in series.items()}, likelihood)


def test_chains_that_mix_have_settled():
    verdicts = [
        judged(autoregression(0.5, 200, seed=s), lam=autoregression(0.3, 200, seed=s + 99))
        for s in range(20)
    ]
    assert sum(v.settled for v in verdicts) >= 18  # a climb by chance has one chance in forty
    assert verdicts[0].unsettled == []
    assert verdicts[0].draws == 200
    assert set(verdicts[0].r_hat) == set(verdicts[0].bulk) == {"log likelihood", "lam"}


def test_chains_that_mix_slowly_have_too_few_effective_draws():
    for seed in range(20):
        found = judged(
            autoregression(0.0, 200, seed=seed + 50), lam=autoregression(0.97, 200, seed=seed)
        )
        assert "lam" in found.unsettled
        assert not found.settled


@pytest.mark.parametrize("shift", [2.0, 50.0])
def test_chains_at_two_levels_have_not_settled(shift):
    apart = autoregression(0.2, 400) + np.array([[0.0], [shift]])
    found = judged(autoregression(0.2, 400, seed=1), lam=apart)
    assert found.unsettled == ["lam"]
    assert found.r_hat["lam"] > 1.2


def test_chains_stuck_at_two_values_have_not_settled_and_constants_have():
    likelihood = autoregression(0.2, 400)
    stuck = judged(likelihood, components=np.repeat([[3.0], [4.0]], 400, axis=1))
    assert stuck.unsettled == ["components"]
    assert stuck.r_hat["components"] is None  # infinite
    still = judged(likelihood, noise=np.ones((2, 400)))
    assert still.settled
    assert still.r_hat["noise"] is still.bulk["noise"] is still.tail["noise"] is None


@pytest.mark.parametrize("chains", [1, 2, 4])
def test_a_log_likelihood_that_climbs_has_not_settled(chains):
    for seed in range(20):
        noise = autoregression(0.3, 300, chains, seed)
        assert judged(noise + np.linspace(0.0, 4.0, 300)).unsettled == ["log likelihood"]


def test_a_climb_too_slow_for_r_hat_is_seen_in_many_chains():
    """Each chain's halves differ by a fifth of a standard deviation, but all in one direction."""
    noise = np.random.default_rng(0).standard_normal((8, 1000))
    found = judged(noise + np.linspace(0.0, 0.4, 1000))
    assert found.r_hat["log likelihood"] < 1.05
    assert found.climb > CLIMB
    assert found.unsettled == ["log likelihood"]


def test_a_climb_is_measured_in_its_standard_error():
    likelihood = np.random.default_rng(0).standard_normal((2, 4000))
    likelihood[:, 2000:] += 0.1
    # Means of 2000 draws, twice, in each of two chains.
    error = np.sqrt(4 / 2000)
    gained = (likelihood[:, 2000:].mean(axis=1) - likelihood[:, :2000].mean(axis=1)).sum()
    close(climb(likelihood), gained / error, 0.1)
    assert climb(-likelihood) == -climb(likelihood)
    assert climb(np.ones((2, 40))) == 0.0
    assert climb(np.repeat([[0.0, 1.0]], 20, axis=1)) == np.inf


def test_a_climb_by_chance_is_rare():
    found = [climb(autoregression(0.8, 300, seed=seed)) for seed in range(300)]
    assert np.mean(np.array(found) > CLIMB) < 0.06


def test_one_of_many_rows_holds_nobody_up():
    """Vectors are judged at their medians."""
    likelihood = autoregression(0.2, 400)
    rows = np.stack([autoregression(0.2, 400, seed=s) for s in range(1, 8)], axis=2)
    rows[1, :, 0] += 9.0
    values = {"log likelihood": likelihood[:, :, None], "predictions": rows}
    assert judge(values, likelihood).settled
    rows[1] += 9.0
    assert judge(values, likelihood).unsettled == ["predictions"]


def runs_of(model):
    """The chains of a fitted model as the sampler left them, as far as a look needs them."""

    class Seen:
        def __init__(self, value):
            self.log_likelihood = value

    return [
        Run(
            [draw for draw in model.draws_ if draw.chain == c],
            [Seen(v) for v in trace["log_likelihood"]],
            warmup=trace["warmup"],
        )
        for c, trace in enumerate(model.trace_)
    ]


def probes_of(model, X):
    rng = Streams(0).at(Purpose.START, block=5)
    return Probes.among(model.input_scaling_(X), model._start.scale, rng)


@pytest.mark.parametrize("fit", [one_input, two_classes])
def test_what_is_watched_are_the_values_of_the_draws(fit):
    model, X, _ = fit()
    probes = probes_of(model, X)
    chains = [run.draws for run in runs_of(model)]
    found = watched(chains, probes, model.trend_)
    for c, chain in enumerate(chains):
        for s, draw in enumerate(chain):
            assert found["lam"][c, s, 0] == draw.lam
            assert found["noise"][c, s, 0] == draw.noise
            assert found["components"][c, s, 0] == len(draw.mu) - 1
            kernel = mixture_kernel(probes.lags, draw.pi, draw.mu, draw.Sigma)
            np.testing.assert_array_equal(found["kernel"][c, s], kernel)
    assert found["predictions"].shape == (len(chains), len(chains[0]), len(probes.rows))
    again = watched(chains, probes, model.trend_)
    np.testing.assert_array_equal(found["predictions"], again["predictions"])


def test_a_function_is_watched_with_its_weights_drawn():
    """Around the mean given a draw, with the spread that the draw says."""
    model, X, _ = one_input()
    draw, probes = model.draws_[0], probes_of(model, X)
    from dataclasses import replace

    from banklearn.posterior.predict import features_of

    many = [[replace(draw, sweep=i) for i in range(4000)]]
    values = watched(many, probes, model.trend_)["predictions"][0]
    Phi = features_of(draw, probes.rows, model.trend_)
    close(values.mean(axis=0), draw.mu_n[0] @ Phi, 0.1, 0.02)
    close(values.var(axis=0), draw.noise * ((draw.root[0].T @ Phi) ** 2).sum(axis=0), 0.1)


def test_a_look_sees_so_many_draws_and_their_sweeps():
    model, X, _ = one_input()
    probes = probes_of(model, X)
    runs, thin = runs_of(model), model.thin
    assert look(runs, thin, probes, model.trend_) is None  # too few
    for run in runs:
        run.draws, run.trace = run.draws * 4, run.trace + run.trace[run.warmup :] * 3
    found = look(runs, thin, probes, model.trend_, 10)
    assert found.draws == 10
    cut = [
        Run(run.draws[:10], run.trace[: run.warmup + 10 * thin], warmup=run.warmup) for run in runs
    ]
    assert look(cut, thin, probes, model.trend_) == found
    every = look(runs, thin, probes, model.trend_)
    assert every.draws == 24
    at_draws = np.array(
        [t["log_likelihood"][t["warmup"] :][thin - 1 :: thin] for t in model.trace_]
    )
    sweeps = np.array([[i.log_likelihood for i in run.trace[run.warmup :]] for run in runs])
    expected = judged(np.tile(at_draws, 4))
    assert every.bulk["log likelihood"] == expected.bulk["log likelihood"]
    assert every.climb == climb(sweeps)


def test_a_chain_that_never_sampled_is_left_out():
    model, X, _ = one_input()
    runs = runs_of(model)
    for run in runs:
        run.draws, run.trace = run.draws * 4, run.trace + run.trace[run.warmup :] * 3
    alone = look(runs[:1], model.thin, probes_of(model, X), model.trend_)
    for run in runs[1:]:
        run.warmup = len(run.trace)
    assert look(runs, model.thin, probes_of(model, X), model.trend_) == alone


def test_probes_do_not_depend_on_the_order_of_rows():
    X = np.random.default_rng(0).standard_normal((300, 3))
    rng = np.random.default_rng
    one, two = (Probes.among(rows, 0.7, rng(5)) for rows in (X, X[::-1].copy()))
    key = np.lexsort(one.rows.T), np.lexsort(two.rows.T)
    np.testing.assert_array_equal(one.rows[key[0]], two.rows[key[1]])
    halves = mixture_kernel(one.lags, np.ones(1), np.zeros((1, 3)), 0.49 * np.eye(3)[None])
    close(halves, np.full(len(one.lags), 0.5), 1e-12)


@pytest.mark.parametrize("X", [np.zeros((1, 2)), np.ones((20, 2)), np.eye(3)])
def test_few_or_equal_rows_give_what_lags_there_are(X):
    probes = Probes.among(X, 1.0, np.random.default_rng(0))
    assert np.isfinite(probes.lags).all()
    assert len(probes.lags) == (1 if len(X) == 3 else 0)


def test_without_lags_the_kernel_is_not_watched():
    model, X, _ = one_input()
    chains = [run.draws for run in runs_of(model)]
    probes = Probes.among(np.ones((20, 1)), 1.0, np.random.default_rng(0))
    assert set(watched(chains, probes, model.trend_)) == {
        "lam", "noise", "components", "predictions"
    }  # fmt: skip
    assert "kernel" in watched(chains, probes_of(model, X), model.trend_)


def test_looks_grow():
    assert list(LOOKS) == sorted(set(LOOKS))
    assert LOOKS[0] >= LEAST_DRAWS
    assert (least_draws("auto"), most_draws("auto")) == (LOOKS[0], LOOKS[-1])
    assert least_draws(7) == most_draws(7) == 7
