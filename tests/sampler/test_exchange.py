"""Candidates for every place: decisions by their description, and the law they leave alone."""

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from banklearn.engines.device import DeviceEngine
from banklearn.gram import GramSum
from banklearn.model.features import trend_columns
from banklearn.numerics import _exchange
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.sampler import accept, halving
from banklearn.sampler.exchange import CANDIDATES, Exchanged, exchange
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.switch import offer
from exchanges import exchanged, groups
from far import Eliminate, Far
from helpers import close, make_problem, problem_log_evidence


class Case:
    """A regression, candidates from its prior, and the statistic of all columns."""

    def __init__(self, M, seed=0, trend="linear"):
        self.problem = make_problem(seed, N=40, M=M, trend=trend)
        state = self.problem.state
        rng = np.random.default_rng([seed, M])
        self.offered = offer(state, self.problem.prior, CANDIDATES, rng)
        self.W = np.concatenate([state.W, self.offered.W])
        self.M, self.lam, self.h = M, state.lam, trend_columns(trend, 2)
        self.gram = self.statistic(self.problem.engine())

    def statistic(self, engine):
        working = self.problem.gaussian.working(None, Streams(0), 0)
        return engine.sum(GramSum(self.W, self.problem.trend, working, 1, current=self.M))

    def log_evidence(self, holds):
        return problem_log_evidence(self.problem, self.W[holds])

    def exchanged(self, gram=None, seed=5):
        form = self.problem.gaussian.accept_form(self.gram)
        rng = np.random.default_rng(seed)
        return exchange(gram or self.gram, self.lam, self.h, *form, rng)


@pytest.mark.parametrize("M", [1, 2, 3, 7, 24, 25, 60])
@pytest.mark.parametrize("trend", ["none", "linear"])
def test_exchanges_are_those_of_evidences_computed_anew(M, trend):
    entered = 0
    for seed in range(12 if M < 20 else 1):
        case = Case(M, seed, trend)
        result = case.exchanged()
        expected = exchanged(case.log_evidence, M, np.random.default_rng(5))
        assert result.holds.tolist() == expected
        gain = case.log_evidence(expected) - case.log_evidence(list(range(M)))
        close(result.gain, gain, 1e-8, 1e-8)
        assert not result.trouble
        assert result.entered.tolist() == [held >= M for held in expected]
        used = case.gram.select(result.columns(case.h))
        anew = used.ridge(0, case.lam, JitterCount())
        (solution,) = result.solutions
        close(solution.L, anew.L, 1e-8, 1e-10)
        close(solution.v, anew.v, 1e-8, 1e-8)
        entered += result.entered.sum()
    assert entered


def test_candidates_come_to_other_places_than_their_own():
    moved = 0
    for seed in range(10):
        holds = Case(12, seed).exchanged().holds
        moved += sum(held >= 12 and held - 12 != place for place, held in enumerate(holds))
    assert moved > 20


def test_groups_are_new_in_each_sweep():
    """Who is decided together depends on the order, which every sweep draws."""
    case, found = Case(30), set()
    for seed in range(8):
        found.add(tuple(case.exchanged(seed=seed).holds.tolist()))
    assert len(found) == 8
    assert [(g.start, g.stop) for g in groups(60)] == [(0, 15), (15, 30), (30, 45), (45, 60)]


def gram_of_tasks(tasks, m, seed):
    """Matrices (T, Q, Q) over m current and m proposed pairs, and their vectors."""
    A = np.random.default_rng(seed).standard_normal((tasks, 60, 4 * m))
    y = np.random.default_rng([seed, 1]).standard_normal((tasks, 60)) + A[:, :, -1]
    return A.transpose(0, 2, 1) @ A, np.einsum("tnq,tn->tq", A, y), y


@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_tasks_decide_together(tasks):
    entered, m, lam = 0, 6, 0.7
    for seed in range(6):
        G, r, _ = gram_of_tasks(tasks, m, seed)
        # As decide gets them: current pairs, then proposed ones.
        walk = halving.decide(G, r, 0, lam, 0.0, 0.0, *uniform(m, seed))

        def log_evidence(holds, G=G, r=r):
            columns = np.ravel([[2 * i, 2 * i + 1] for i in holds])
            total = 0.0
            for G_t, r_t in zip(G, r, strict=True):
                A = G_t[np.ix_(columns, columns)] + lam * np.eye(2 * m)
                total -= 0.5 * np.linalg.slogdet(A)[1]
                total += 0.5 * r_t[columns] @ np.linalg.solve(A, r_t[columns])
            return total

        expected, order = exchanged(log_evidence, m, Given(m, seed)), uniform(m, seed)[2]
        pairs = [order[p // 2] if p % 2 == 0 else m + p // 2 for p in walk.chosen]
        assert expected == pairs
        close(walk.gain[0], log_evidence(expected) - log_evidence(range(m)), 1e-8, 1e-8)
        entered += walk.accepted.sum()
    assert entered > 6


def uniform(m, seed):
    """log_u, u and the order of places."""
    rng = np.random.default_rng([seed, 2])
    order = rng.permutation(m)
    return np.log(rng.random(m)), rng.random(m), np.arange(m) if seed % 2 else order


class Given:
    """A generator that gives the numbers of `uniform`, in the order in which they are asked for."""

    def __init__(self, m, seed):
        log_u, u, self.order = uniform(m, seed)
        self.numbers = iter([u, np.exp(log_u)])

    def permutation(self, m):
        return self.order

    def random(self, m):
        return next(self.numbers)


def threshold(values, u):
    """The log u below which `_other` leaves the last value, and where it goes."""
    low, high = -60.0, 1e-9
    place = _exchange._other(values, u, low)
    if place == len(values) - 1:
        return -np.inf, place
    while high - low > 1e-12:
        middle = 0.5 * (low + high)
        if _exchange._other(values, u, middle) == place:
            low = middle
        else:
            high = middle
    return low, place


def test_the_choice_among_places_is_reversible():
    """p_i T(i to j) = p_j T(j to i), T by the share of u and the acceptance of each place."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = 3.0 * rng.standard_normal(4)
        p = np.exp(values - np.logaddexp.reduce(values))
        flow = np.zeros((4, 4))
        for i in range(4):
            # The state i is the last; the others keep their order.
            others = [j for j in range(4) if j != i]
            turned = values[[*others, i]]
            shares = np.exp(turned[:3] - np.logaddexp.reduce(turned[:3]))
            for k, u in enumerate(shares.cumsum() - 0.5 * shares):
                log_a, place = threshold(turned, u)
                assert place == k
                flow[i, others[k]] = p[i] * shares[k] * np.exp(min(log_a, 0.0))
        close(flow, flow.T, 1e-8, 1e-12)
        assert (flow.sum(axis=1) <= p + 1e-9).all()


@pytest.mark.parametrize(
    ("values", "u", "place"),
    [
        ([np.nan, 0.0, 0.0], 0.1, 1),  # what cannot be judged is not chosen
        ([0.0, np.nan, 0.0], 0.999999, 0),
        ([np.nan, np.nan, 0.0], 0.5, 2),
        ([0.0, 1.0, np.nan], 0.5, 2),
        ([-np.inf, -np.inf, 0.0], 0.5, 2),
        ([-1e300, 800.0, 0.0], 0.5, 1),
        ([-1e300, 800.0, -1e300], 0.5, 1),
    ],
)
def test_choices_at_the_edge(values, u, place):
    assert _exchange._other(np.array(values), u, -1e-12) == place


@pytest.mark.parametrize("lam", [1e-4, 1e-6, 1e-8])
def test_frequencies_that_are_hard_to_tell_apart_are_judged_as_by_a_fresh_factor(lam):
    """Twelve frequencies of one input, nearly free of noise: conditions up to 1e11."""
    m, rng = 12, np.random.default_rng(0)
    x, entered = rng.standard_normal(1000), 0
    y = np.sin(2.0 * x) + 1e-3 * rng.standard_normal(1000)
    for _ in range(5):
        angles = np.outer(x, rng.standard_normal(2 * m))
        Phi = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(1000, 4 * m)
        G, r, rest, a_n = Phi.T @ Phi, Phi.T @ y, 0.5 * y @ y, 500.0

        def log_evidence(holds, G=G, r=r, rest=rest, a_n=a_n):
            columns = np.ravel([[2 * i, 2 * i + 1] for i in holds])
            L = np.linalg.cholesky(G[np.ix_(columns, columns)] + lam * np.eye(2 * m))
            v = solve_triangular(L, r[columns], lower=True)
            return -np.log(np.diag(L)).sum() - a_n * np.log(rest - 0.5 * v @ v)

        log_u, u = np.log(rng.random(m)), rng.random(m)
        walk = halving.decide(G[None], r[None], 0, lam, rest, a_n, log_u, u)
        holds = [p // 2 if p % 2 == 0 else m + p // 2 for p in walk.chosen]
        close(walk.gain[0], log_evidence(holds) - log_evidence(range(m)), 0.0, 0.05)
        assert walk.gain[1] == 0.0
        entered += walk.accepted.sum()
    assert entered


def test_a_pivot_that_fails_keeps_everything_in_its_place():
    G, r, _ = gram_of_tasks(1, 4, 0)
    G[0, 2, 2] = -5.0
    log_u, u, _ = uniform(4, 1)
    walk = halving.decide(G, r, 0, 0.1, 0.0, 0.0, log_u, u)
    assert (walk.chosen.tolist(), walk.gain[1]) == ([0, 2, 4, 6], 1.0)


def test_a_candidate_that_cannot_be_factored_is_left_out():
    G, r, _ = gram_of_tasks(1, 4, 0)
    bad = 8 + 2 * 1  # the candidate of the second place
    G[0, bad, bad] = -5.0
    log_u, u, _ = uniform(4, 1)
    walk = halving.decide(G, r, 0, 0.1, 0.0, 0.0, log_u - 30.0, u)
    assert walk.gain[1] == 1.0
    assert 3 not in walk.chosen
    assert walk.accepted.any()


def test_a_place_is_where_its_columns_are():
    done = Exchanged(np.array([0, 5, 2, 7]), 0.0, False)
    assert done.columns(3).tolist() == [0, 1, 2, 3, 4, 13, 14, 7, 8, 17, 18]
    assert done.entered.tolist() == [False, True, False, True]


def test_components_that_nobody_uses_are_left_out():
    case = Case(6, 1)
    state, offered = case.problem.state, case.offered
    done = case.exchanged()
    new = done.taken(state, offered)
    np.testing.assert_array_equal(new.W, case.W[done.holds])
    assert sorted(set(new.Z.tolist())) == list(range(new.K))
    labels = np.concatenate([state.Z, offered.Z])[done.holds]
    np.testing.assert_array_equal(new.mu[new.Z], offered.mu[labels])
    np.testing.assert_array_equal(new.Sigma[new.Z], offered.Sigma[labels])


@pytest.mark.parametrize(
    ("share", "due"),
    [
        (0.0, []),
        (0.5, [2, 4, 6, 8, 10]),
        (0.75, [2, 3, 4, 6, 7, 8, 10]),
        (1.0, list(range(1, 11))),
    ],
)
def test_a_share_of_the_sweeps_exchanges(share, due):
    moves = Moves(exchange=share)
    assert [i for i in range(1, 11) if moves.exchanges(i)] == due


def test_halves_far_away_exchange_among_those_that_come_to_memory():
    case = Case(11, 2)
    a_n, rest = case.problem.gaussian.accept_form(case.gram)
    rng = np.random.default_rng(5)
    rng.permutation(11)
    u, log_u = rng.random(11), np.log(rng.random(11))
    S, gain = Far(case.gram.G[0] + case.lam * np.eye(len(case.gram.r[0]))), np.zeros(2)
    args = [S], [case.gram.r[0]], rest, a_n, log_u, u, gain, case.h, Eliminate()
    chosen = accept._halve(*args)

    class InOrder(Given):
        def __init__(self):
            self.order, self.numbers = np.arange(11), iter([u, np.exp(log_u)])

    expected = exchanged(case.log_evidence, 11, InOrder(), largest=3)
    assert [2 * h if h < 11 else 2 * (h - 11) + 1 for h in expected] == chosen.tolist()


@pytest.mark.torch
@pytest.mark.parametrize("M", [5, 60])
def test_a_device_exchanges_as_memory_does(M):
    from array_api_compat import torch

    case = Case(M, 3)
    engine = DeviceEngine(case.problem.X, case.problem.y, xp=torch, device="cpu")
    there, here = case.exchanged(case.statistic(engine)), case.exchanged()
    np.testing.assert_array_equal(there.holds, here.holds)
    close(there.gain, here.gain, 1e-9, 1e-9)
