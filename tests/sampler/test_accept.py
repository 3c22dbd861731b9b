"""Accepting from the statistic takes the path of recomputing every evidence from the data."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from banklearn.engines.host import HostOps
from banklearn.gram import Gram, GramSum, ProposalSum
from banklearn.model.evidence import augmented_log_evidence, gaussian_log_evidence, ridge
from banklearn.model.features import TRENDS, trend_columns
from banklearn.numerics.streams import Streams
from banklearn.sampler.accept import accept_in_turn, extended_columns
from banklearn.sampler.frequencies import accepted_frequencies
from banklearn.sampler.halving import decide
from helpers import close, fresh_gram, make_problem, plain_features, problem_log_evidence

SIZES = (1, 2, 3, 15, 16, 17, 40, 64)


def extended(problem, known, W_star):
    working = problem.gaussian.working(None, Streams(0), 0)
    statistic = ProposalSum(known, problem.state.W, W_star, problem.trend, working)
    return problem.engine().sum(statistic)


def in_turn(log_evidence, W, W_star, log_u):
    """The chain that recomputes the evidence for each proposal: (accepted, gain)."""
    W, now, gain = W.copy(), log_evidence(W), 0.0
    accepted = np.zeros(len(W), dtype=bool)
    for j in range(len(W)):
        candidate = W.copy()
        candidate[j] = W_star[j]
        new = log_evidence(candidate)
        if log_u[j] < new - now:
            gain += new - now
            W, now, accepted[j] = candidate, new, True
    return accepted, gain


def proposals(problem, seed, spread=0.5):
    """Proposals, and thresholds close enough to zero for both decisions to occur."""
    rng = np.random.default_rng([seed, 1])
    W = problem.state.W
    return W + spread * rng.standard_normal(W.shape), 0.1 * rng.standard_normal(len(W))


@pytest.mark.parametrize("trend", TRENDS)
@pytest.mark.parametrize("M", SIZES)
@pytest.mark.parametrize("N", [90, 10])
def test_regression_takes_the_same_path(M, trend, N):
    some = np.zeros(2, dtype=int)
    for seed in range(3):
        problem = make_problem(seed, N=N, M=M, trend=trend)
        W_star, log_u = proposals(problem, seed)
        gram = extended(problem, fresh_gram(problem), W_star)
        h = trend_columns(trend, 2)
        result = accept_in_turn(
            gram, problem.state.lam, h, log_u, *problem.gaussian.accept_form(gram)
        )
        accepted, gain = in_turn(
            lambda W, p=problem: problem_log_evidence(p, W), problem.state.W, W_star, log_u
        )
        np.testing.assert_array_equal(result.accepted, accepted)
        assert not result.trouble
        close(result.gain, gain, 1e-8, 1e-8)
        after = problem_log_evidence(
            problem, accepted_frequencies(problem.state.W, W_star, accepted)
        )
        close(result.gain, after - problem_log_evidence(problem), 1e-8, 1e-8)
        some += (accepted.sum(), (~accepted).sum())
    if M >= 15:
        assert some.min() > 0  # a path with both decisions in it


def several_tasks(problem, W_star, weights, targets):
    """The statistic of three tasks over [trend | current | proposed]."""
    stacked = np.concatenate([problem.state.W, W_star])
    Phi = plain_features(problem.X, stacked, problem.trend)
    Phi[:, trend_columns(problem.trend, 2) :] *= np.sqrt(2)
    G = np.stack([Phi.T @ (a[:, None] * Phi) for a in weights])
    r = np.stack([Phi.T @ t for t in targets])
    return Gram(G, r, np.zeros(len(G)), np.full(len(G), float(len(Phi))), HostOps())


@pytest.mark.parametrize("trend", TRENDS)
@pytest.mark.parametrize("M", SIZES)
@pytest.mark.parametrize("N", [90, 10])
def test_several_tasks_take_the_same_path(M, trend, N):
    rng = np.random.default_rng(M)
    problem = make_problem(M, N=N, M=M, trend=trend)
    W_star, log_u = proposals(problem, M)
    weights, targets = rng.uniform(0.02, 0.25, (3, N)), rng.choice([-0.5, 0.5], (3, N))
    lam = 0.05

    def log_evidence(W):
        Phi = plain_features(problem.X, W, trend)
        return sum(
            augmented_log_evidence(ridge(Phi.T @ (a[:, None] * Phi), Phi.T @ t, lam))
            for a, t in zip(weights, targets, strict=True)
        )

    gram = several_tasks(problem, W_star, weights, targets)
    result = accept_in_turn(gram, lam, trend_columns(trend, 2), log_u, 0.0, 0.0)
    accepted, gain = in_turn(log_evidence, problem.state.W, W_star, log_u)
    np.testing.assert_array_equal(result.accepted, accepted)
    close(result.gain, gain, 1e-8, 1e-8)
    assert not result.trouble


def test_the_order_of_decisions_matters_and_is_kept():
    # With other decisions fixed at rejection, some decision would be another one.
    different = 0
    for seed in range(10):
        problem = make_problem(seed, N=60, M=40)
        W_star, log_u = proposals(problem, seed)
        now = problem_log_evidence(problem)
        alone = []
        for j in range(40):
            W = problem.state.W.copy()
            W[j] = W_star[j]
            alone.append(log_u[j] < problem_log_evidence(problem, W) - now)
        gram = extended(problem, fresh_gram(problem), W_star)
        result = accept_in_turn(
            gram, problem.state.lam, 0, log_u, *problem.gaussian.accept_form(gram)
        )
        different += np.sum(result.accepted != alone)
    assert different > 0


def test_the_statistic_is_left_alone():
    problem = make_problem(0, N=30, M=20, trend="linear")
    W_star, log_u = proposals(problem, 0)
    gram = extended(problem, fresh_gram(problem), W_star)
    G, r = gram.G.copy(), gram.r.copy()
    accept_in_turn(gram, 1.0, 3, log_u, *problem.gaussian.accept_form(gram))
    np.testing.assert_array_equal(gram.G, G)
    np.testing.assert_array_equal(gram.r, r)


def test_a_proposal_that_breaks_the_arithmetic_is_rejected_and_reported():
    problem = make_problem(0, N=30, M=20)
    W_star, _ = proposals(problem, 0)
    gram = extended(problem, fresh_gram(problem), W_star)
    gram.G[0, 40 + 2 * 7] = gram.G[0, :, 40 + 2 * 7] = np.nan
    result = accept_in_turn(gram, 1.0, 0, np.full(20, -np.inf), *problem.gaussian.accept_form(gram))
    assert result.trouble
    assert not result.accepted[7]


def test_columns_after_the_decisions():
    accepted = np.array([False, True, False])
    columns = extended_columns(2, 3, accepted)
    assert columns.tolist() == [0, 1, 2, 3, 10, 11, 6, 7]
    assert extended_columns(3, 3, accepted).tolist() == [0, 1, 2, 3, 4, 11, 12, 7, 8]


@pytest.mark.parametrize(
    ("N", "trend", "lam"), [(60, "linear", 0.5), (200, "none", 1e-6), (20, "constant", 1e-3)]
)
def test_nothing_drifts_over_ten_thousand_accepted_swaps(N, trend, lam):
    M, sweeps = 40, 250
    problem = make_problem(1, N=N, M=M, trend=trend)
    problem = replace(problem, state=problem.state.with_(lam=lam))
    prior, h = problem.prior, trend_columns(trend, 2)
    rng = np.random.default_rng(0)

    def evidence(gram):
        solution = ridge(gram.G[0], gram.r[0], lam)
        return gaussian_log_evidence(solution, gram.tt[0], gram.n[0], prior.a0, prior.b0)

    known = fresh_gram(problem)
    start, gain, swaps = evidence(known), 0.0, 0
    for _ in range(sweeps):
        W_star = 2.0 * rng.standard_normal((M, 2))
        gram = extended(problem, known, W_star)
        result = accept_in_turn(
            gram, lam, h, np.full(M, -np.inf), *problem.gaussian.accept_form(gram)
        )
        swaps += result.accepted.sum()
        gain += result.gain
        # Exactly as a sweep carries them on.
        known = gram.select(extended_columns(h, M, result.accepted))
        W = accepted_frequencies(problem.state.W, W_star, result.accepted)
        problem = replace(problem, state=problem.state.with_(W=W))
    assert swaps == M * sweeps == 10_000
    fresh = evidence(fresh_gram(problem))
    close(evidence(known), fresh, 1e-8)
    # What the accept steps say they gained, all in all.
    close(start + gain, fresh, 1e-8)


def test_the_statistic_of_both_sums_is_the_same():
    problem = make_problem(2, N=50, M=10, trend="linear")
    W_star, log_u = proposals(problem, 2)
    working = problem.gaussian.working(None, Streams(0), 0)
    stacked = np.concatenate([problem.state.W, W_star])
    whole = problem.engine(7).sum(GramSum(stacked, "linear", working, 1, current=10))
    parts = extended(problem, fresh_gram(problem), W_star)
    decisions = [
        accept_in_turn(g, problem.state.lam, 3, log_u, *problem.gaussian.accept_form(g)).accepted
        for g in (whole, parts)
    ]
    np.testing.assert_array_equal(*decisions)


@pytest.mark.parametrize("trend", TRENDS)
@pytest.mark.parametrize("M", SIZES)
def test_the_factor_at_the_end_is_that_of_the_columns_in_use(M, trend):
    problem = make_problem(3, N=90, M=M, trend=trend)
    W_star, log_u = proposals(problem, 3)
    rng = np.random.default_rng(M)
    weights, targets = rng.uniform(0.02, 0.25, (2, 90)), rng.choice([-0.5, 0.5], (2, 90))
    h, lam = trend_columns(trend, 2), 0.05
    for gram, a_n, rest in (
        (several_tasks(problem, W_star, weights, targets), 0.0, 0.0),
        (g := extended(problem, fresh_gram(problem), W_star), *problem.gaussian.accept_form(g)),
    ):
        result = accept_in_turn(gram, lam, h, log_u, a_n, rest)
        used = gram.select(extended_columns(h, M, result.accepted))
        assert len(result.solutions) == len(used.r)
        for t, solution in enumerate(result.solutions):
            plain = ridge(used.G[t], used.r[t], lam)
            close(solution.L, plain.L, 1e-9, 1e-10)
            close(solution.v, plain.v, 1e-9, 1e-9)
            assert solution.lam == lam


def test_the_statistic_has_both_triangles():
    problem = make_problem(0, N=60, M=40, trend="linear")
    W_star, _ = proposals(problem, 0)
    for gram in (fresh_gram(problem), extended(problem, fresh_gram(problem), W_star)):
        np.testing.assert_array_equal(gram.G, gram.G.transpose(0, 2, 1))


def test_compiled_code_from_the_cache_decides_the_same(tmp_path):
    # A function that calls itself with other types than its caller's crashed when it was loaded.
    script = (
        "import numpy as np\n"
        "from banklearn.sampler.halving import decide\n"
        "A = np.random.default_rng(0).standard_normal((300, 160))\n"
        "walk = decide((A.T @ A)[None], A.sum(axis=0)[None], 0, 1.0, 1e4, 5.0, np.full(40, -1.0))\n"
        "print(walk.accepted.astype(int), walk.gain)\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    told = {
        subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(told) == 1
    assert b"1" in told.pop()


def test_several_threads_decide_the_same_bits(monkeypatch):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((400, 4 * 140 + 3))
    G, r, log_u = (A.T @ A)[None], A.sum(axis=0)[None], np.log(rng.random(140))
    walks = []
    for threads in (1, 3):
        monkeypatch.setattr("banklearn.numerics.threads._limit", threads)
        walks.append(decide(G, r, 3, 1.0, 1e4, 2.0, log_u))
    assert 0 < walks[0].accepted.sum() < 140
    for name in ("accepted", "gain", "L", "v"):
        np.testing.assert_array_equal(*(getattr(walk, name) for walk in walks))
