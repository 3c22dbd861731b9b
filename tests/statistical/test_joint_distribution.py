"""Joint distribution tests at length: regression, two and three classes, both samplers.

In the first kind, states drawn from the model are swept given their labels. In the second, one
long chain alternates between sweeps and new labels (Geweke's successive-conditional simulator):
its draws depend on each other, and their means are compared with the model's by Monte Carlo error.
"""

import numpy as np
import pytest
from scipy.stats import norm

from banklearn.engines.memory import MemoryEngine
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.generative import draw_state, simulate_regression
from banklearn.numerics.streams import Streams
from banklearn.posterior.diagnostics import standard_error
from banklearn.sampler import sweep
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.sweep import Model, Tuning
from helpers import FALSE_ALARM, plain_features
from joint_law import (
    FUNCTIONS,
    LAWS,
    PRIOR,
    SAMPLERS,
    TREND,
    M,
    N,
    chain_at,
    draw_from_model,
    smallest_p,
    sweep_from_model,
)
from labels import draw_labels, stick

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

#: Bounded, so that means exist and converge quickly.
SQUASHED = {
    **{name: lambda *v, get=get, law=law: law.cdf(get(*v)) for name, (get, law) in LAWS.items()},
    **{name: lambda *v, get=get: np.tanh(get(*v) / 4) for name, get in FUNCTIONS.items()},
}


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("name", SAMPLERS)
def test_sweeps_keep_the_law_of_the_model(name, C):
    forward = [draw_from_model(C, np.random.default_rng([3, i])) for i in range(10_000)]
    swept = sweep_from_model(3000, C, *SAMPLERS[name], sweeps=2, seed=2)
    least, p = smallest_p(swept, forward)
    assert least > FALSE_ALARM, p


def squash(state, beta, log_p):
    return [f(state, beta, log_p) for f in SQUASHED.values()]


def compare(chains, forward):
    """Every mean within its limit: chains (m, n, k), forward (n, k)."""
    limit = norm.isf(FALSE_ALARM / 2)
    for i, name in enumerate(SQUASHED):
        error = np.hypot(
            standard_error(chains[:, :, i]), forward[:, i].std() / np.sqrt(len(forward))
        )
        gap = abs(chains[:, :, i].mean() - forward[:, i].mean())
        assert gap < limit * error, (name, gap / error)


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("name", SAMPLERS)
def test_labels_and_sweeps_in_turn_simulate_the_model(name, C):
    kernel, tuning = SAMPLERS[name]
    rng, model = np.random.default_rng(0), Model(PRIOR, Logistic(C), TREND)
    X = 2.0 * rng.standard_normal((N, 2))

    def log_p(state, beta, y):
        p = stick(beta @ plain_features(X, state.W, TREND).T)
        return np.log(p[y.astype(int), np.arange(N)]).sum()

    forward = []
    for _ in range(10_000):
        state, beta, _, _ = draw_from_model(C, rng)
        y = draw_labels(beta @ plain_features(X, state.W, TREND).T, rng)
        forward.append(squash(state, beta, log_p(state, beta, y)))
    out = np.empty((4, 2500, len(SQUASHED)))
    for c in range(4):
        state, beta, _, _ = draw_from_model(C, rng)
        streams = Streams(1, c)
        for i in range(out.shape[1]):
            y = draw_labels(beta @ plain_features(X, state.W, TREND).T, rng)
            out[c, i] = squash(state, beta, log_p(state, beta, y))
            engine = MemoryEngine(X, y)
            chain = chain_at(kernel, engine, model, state, beta)
            chain, _ = kernel.step(chain, engine, model, tuning, streams, i + 1)
            state, beta = chain.state, chain.beta
    compare(out, np.array(forward))


@pytest.mark.parametrize(
    "tuning",
    [
        Tuning(),
        Tuning(gradient_every=1, gradient=GradientTuning(0.6, 4)),
        Tuning(Moves(jump=0.8, switch=0.8)),
        Tuning(Moves(exchange=1.0)),
        Tuning(
            Moves(switch=0.5, exchange=0.5),
            gradient_every=1,
            gradient=GradientTuning(0.6, 4),
            interweave_every=1,
        ),
    ],
    ids=["in turn", "gradient", "switches", "exchanges", "all moves"],
)
def test_targets_and_sweeps_in_turn_simulate_regression(tuning):
    rng, model = np.random.default_rng(0), Model(PRIOR, Gaussian(PRIOR.a0, PRIOR.b0), TREND)
    X = 2.0 * rng.standard_normal((N, 2))
    # Weights and noise are integrated out in the sweep, drawn afresh for new targets.
    draws = []
    for _ in range(10_000):
        state = draw_state(PRIOR, M, rng)
        y, beta, noise = simulate_regression(X, state, PRIOR, TREND, rng)
        draws.append(squash(state, beta[None] / np.sqrt(noise), np.log((y**2).mean())))
    out = np.empty((4, 2500, len(SQUASHED)))
    for c in range(4):
        state, streams = draw_state(PRIOR, M, rng), Streams(2, c)
        y = simulate_regression(X, state, PRIOR, TREND, rng)[0]
        for i in range(out.shape[1]):
            engine = MemoryEngine(X, y)
            chain = sweep.init(engine, model, state, streams, i)
            chain, _ = sweep.step(chain, engine, model, tuning, streams, i + 1)
            state = chain.state
            y, beta, noise = simulate_regression(X, state, PRIOR, TREND, rng)
            out[c, i] = squash(state, beta[None] / np.sqrt(noise), np.log((y**2).mean()))
    compare(out, np.array(draws))
