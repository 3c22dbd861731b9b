"""Where arithmetic is at its limit: nearly equal frequencies, tiny lam, many rows in float32."""

import array_api_strict
import numpy as np
import pytest

from banklearn import BankRegressor
from banklearn.engines.device import DeviceEngine
from banklearn.engines.memory import MemoryEngine
from banklearn.gram import GramSum
from banklearn.model.features import feature_rows
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.sampler import precision, sweep
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.sweep import Model, Tuning
from helpers import close, fresh_gram, make_problem, problem_log_evidence


def nearly_equal(gap, lam, M=12):
    """A problem whose frequencies differ by `gap` alone."""
    problem = make_problem(0, N=40, M=M, trend="constant")
    rng = np.random.default_rng(1)
    W = np.tile(problem.state.W[:1], (M, 1)) + gap * rng.standard_normal((M, 2))
    object.__setattr__(problem, "state", problem.state.with_(W=W, lam=lam))
    return problem


@pytest.mark.parametrize("lam", [1.0, 1e-6, 1e-12])
@pytest.mark.parametrize("gap", [0.0, 1e-14, 1e-8])
def test_sweeps_survive_nearly_equal_frequencies(gap, lam):
    problem = nearly_equal(gap, lam)
    engine, streams = problem.engine(), Streams(0)
    model = Model(problem.prior, problem.gaussian, problem.trend)
    chain = sweep.init(engine, model, problem.state, streams)
    tuning, jitter = Tuning(gradient_every=2, gradient=GradientTuning(0.6, 4)), 0
    for i in range(1, 9):
        chain, info = sweep.step(chain, engine, model, tuning, streams, i)
        assert np.isfinite([info.log_evidence, info.lam, info.alpha]).all()
        jitter += info.jitter
    assert np.isfinite(chain.state.W).all()
    close(chain.gram.G, fresh_gram(problem, chain.state.W).G, 1e-9, 1e-9)
    if lam == 1.0:
        assert jitter == 0
        close(problem_log_evidence(problem), evidence(problem), 1e-8)


def evidence(problem, count=None):
    gram = fresh_gram(problem)
    solved = precision.solve(gram, problem.state.lam, problem.gaussian, count or JitterCount())
    return solved.log_evidence


def test_help_from_jitter_reaches_the_record():
    # Equal frequencies and a lam below rounding: the factor fails, is helped, and that is counted.
    problem, count = nearly_equal(0.0, 1e-17), JitterCount()
    assert np.isfinite(evidence(problem, count))
    assert count.times > 0
    model = BankRegressor(2, n_warmup=2, n_draws=2, n_chains=1, random_state=0)
    rng = np.random.default_rng(0)
    model.fit(rng.standard_normal((20, 1)), rng.standard_normal(20))
    for name in ("jitter", "trouble"):
        assert model.trace_[0][name].shape == (2 + 2 * 3,)


def test_ten_million_rows_in_float32_are_summed_in_float64():
    N, rng = 10_000_000, np.random.default_rng(0)
    X = rng.standard_normal((N, 2))
    y = np.full(N, 0.1)
    problem = make_problem(0, N=10, M=2, trend="constant")
    statistic = GramSum(problem.state.W, "constant", problem.gaussian.working(None, None, 0), 1)
    exact = MemoryEngine(X, y).sum(statistic)
    engine = DeviceEngine(X, y, None, xp=array_api_strict, dtype="float32")
    single = engine.sum(statistic)
    close(single.in_memory(), exact.G, 0, 1e-7 * N)
    close(single.r, exact.r, 0, 1e-6 * N)
    # The bound has teeth: the same products with a running total in float32 are beyond it.
    total = np.zeros((5, 5), dtype=np.float32)
    for start in range(0, N, engine.block_rows):
        part = feature_rows(X[start : start + engine.block_rows], problem.state.W, "constant")
        total += part.astype(np.float32) @ part.T.astype(np.float32)
    assert np.abs(total - exact.G[0]).max() > 1e-7 * N
