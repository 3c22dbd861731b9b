"""A whole sweep: what it carries, and that it keeps the model's law."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import gamma, ks_2samp, kstest, norm

from banklearn.engines.memory import MemoryEngine
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.model.generative import draw_state, simulate_regression
from banklearn.numerics.streams import Streams
from banklearn.sampler import decisions, sweep
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.sweep import Model, Tuning
from helpers import FALSE_ALARM, close, fresh_gram, make_prior, make_problem, problem_log_evidence

TUNINGS = {
    "in turn": Tuning(),
    "jumps": Tuning(Moves(jump=1.0)),
    "local": Tuning(Moves(jump=0.0, rho_min=0.2)),
    "at once": Tuning(Moves(jump=0.0, rho_min=0.2), scheme="at-once"),
    "gradient": Tuning(gradient_every=1, gradient=GradientTuning(0.6, 4)),
    "switches": Tuning(Moves(jump=0.8, switch=0.8)),
    "exchanges": Tuning(Moves(exchange=1.0)),
    "interweaving": Tuning(interweave_every=1),
}


def run_sweeps(problem, tuning, sweeps, seed=0, block_rows=4096):
    model = Model(problem.prior, problem.gaussian, problem.trend)
    engine, streams = problem.engine(block_rows), Streams(seed)
    chain = sweep.init(engine, model, problem.state, streams)
    infos = []
    for i in range(1, sweeps + 1):
        chain, info = sweep.step(chain, engine, model, tuning, streams, i)
        infos.append(info)
    return chain, infos


@pytest.mark.parametrize("tuning", TUNINGS.values(), ids=TUNINGS)
def test_what_a_chain_carries_belongs_to_its_state(tuning):
    problem = make_problem(0, N=50, M=20, trend="linear")
    chain, infos = run_sweeps(problem, tuning, 30)
    now = replace(problem, state=chain.state)
    fresh = fresh_gram(now)
    close(chain.gram.G, fresh.G, 1e-9, 1e-10)
    close(chain.gram.r, fresh.r, 1e-9, 1e-10)
    assert chain.solved.lam == chain.state.lam == infos[-1].lam
    close(chain.solved.log_evidence, problem_log_evidence(now), 1e-8)
    assert infos[-1].log_evidence == chain.solved.log_evidence
    assert infos[-1].K == chain.state.K
    assert not any(info.trouble for info in infos)
    assert not np.array_equal(chain.state.W, problem.state.W)


def test_the_sweep_does_not_depend_on_blocks():
    problem = make_problem(1, N=50, M=10, trend="constant", weighted=True)
    one, _ = run_sweeps(problem, Tuning(), 10)
    other, _ = run_sweeps(problem, Tuning(), 10, block_rows=7)
    close(other.state.W, one.state.W, 1e-9, 1e-10)
    np.testing.assert_array_equal(other.state.Z, one.state.Z)


def test_the_same_seed_gives_the_same_bits():
    problem = make_problem(2, N=50, M=10)
    one, _ = run_sweeps(problem, Tuning(), 10)
    same, _ = run_sweeps(problem, Tuning(), 10)
    other, _ = run_sweeps(problem, Tuning(), 10, seed=1)
    for name in ("W", "Z", "mu", "Sigma", "alpha", "lam", "psi"):
        np.testing.assert_array_equal(getattr(one.state, name), getattr(same.state, name))
    assert not np.array_equal(one.state.W, other.state.W)


def test_all_frequencies_at_once_move_together_or_not():
    problem = make_problem(3, N=12, M=4)
    _, infos = run_sweeps(problem, TUNINGS["at once"], 60)
    shares = {info.accepted_local for info in infos}
    assert shares == {0.0, 1.0}


@pytest.mark.parametrize("acceptance", [0.0, 1.0])
def test_adaptation_moves_the_step_the_right_way_and_stays_finite(acceptance):
    problem = make_problem(4)
    _, (info,) = run_sweeps(problem, Tuning(), 1)
    tuning = Tuning()
    for i in range(300):
        tuning = sweep.adapt(tuning, replace(info, lam_acceptance=acceptance), i)
    assert (tuning.lam_step > 0.3) == (acceptance > 0.44)
    assert 1e-3 <= tuning.lam_step <= 5.0


# Draw everything from the model, then sweep: the state must still follow its prior, whatever the
# data were (Geweke, 2004). Any error in any update, or in how they are put together, moves it.
N, M, TREND = 8, 4, "constant"
PRIOR = make_prior(2, np.random.default_rng(3), lam_log_mean=-1.5, psi_shape=3.0)
LAWS = {
    "alpha": (lambda s: s.alpha, gamma(PRIOR.alpha_shape, scale=1 / PRIOR.alpha_rate)),
    "log lam": (lambda s: np.log(s.lam), norm(PRIOR.lam_log_mean, PRIOR.lam_log_sd)),
    "psi": (
        lambda s: s.psi[0],
        gamma(PRIOR.psi_shape, scale=PRIOR.psi_mean[0] / PRIOR.psi_shape),
    ),
}
FUNCTIONS = {
    "W": lambda s, e: s.W[0, 0],
    "|W - mu0|": lambda s, e: np.linalg.norm(s.W - PRIOR.mu0),
    "spread of W": lambda s, e: np.log(s.W.std()),
    "K": lambda s, e: s.K,
    "mu": lambda s, e: s.mu[s.Z[1], 1],
    "log |Sigma|": lambda s, e: np.linalg.slogdet(s.Sigma[s.Z[2]])[1],
    "evidence": lambda s, e: e,
}


def simulate(n, tuning, sweeps, likelihood, rng):
    """States after some sweeps on data of their own, with the log evidence there."""
    out = []
    for i in range(n):
        X = 2.0 * rng.standard_normal((N, 2))
        state = draw_state(PRIOR, M, rng)
        y = simulate_regression(X, state, PRIOR, TREND, rng)[0]
        engine, streams = MemoryEngine(X, y), Streams(int(rng.integers(2**31)), i)
        model = Model(PRIOR, likelihood, TREND)
        chain = sweep.init(engine, model, state, streams)
        for j in range(1, sweeps + 1):
            chain, _ = sweep.step(chain, engine, model, tuning, streams, j)
        out.append((chain.state, chain.solved.log_evidence))
    return out


def smallest_p(swept, forward):
    p = {
        name: kstest([get(s) for s, _ in swept], law.cdf).pvalue
        for name, (get, law) in LAWS.items()
    }
    for name, get in FUNCTIONS.items():
        left, right = ([get(*pair) for pair in group] for group in (swept, forward))
        p[name] = ks_2samp(left, right, method="asymp").pvalue
    return min(p.values()), p


@pytest.fixture(scope="module")
def forward():
    return simulate(3000, Tuning(), 0, Gaussian(PRIOR.a0, PRIOR.b0), np.random.default_rng(0))


@pytest.mark.parametrize("tuning", TUNINGS.values(), ids=TUNINGS)
def test_sweeps_keep_the_law_of_the_model(tuning, forward):
    rng = np.random.default_rng(1)
    swept = simulate(800, tuning, 3, Gaussian(PRIOR.a0, PRIOR.b0), rng)
    least, p = smallest_p(swept, forward)
    assert least > FALSE_ALARM, p


def test_a_wrong_sampler_is_found(forward, monkeypatch):
    # Every proposal accepted: the mistake of a sampler that forgets its ratio.
    real = decisions.accept_in_turn

    def careless(gram, lam, h, log_u, a_n, rest):
        return real(gram, lam, h, np.full_like(log_u, -np.inf), a_n, rest)

    monkeypatch.setattr(decisions, "accept_in_turn", careless)
    swept = simulate(800, Tuning(), 3, Gaussian(PRIOR.a0, PRIOR.b0), np.random.default_rng(1))
    assert smallest_p(swept, forward)[0] < FALSE_ALARM
