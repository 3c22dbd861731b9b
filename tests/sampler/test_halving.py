"""Halves: where they are cut, what room they take, and what comes out where a factor fails."""

from dataclasses import replace

import numpy as np
import pytest

from banklearn.engines.device import DeviceEngine
from banklearn.gram import GramSum
from banklearn.model.evidence import ridge
from banklearn.model.features import trend_columns
from banklearn.numerics.streams import Streams
from banklearn.sampler import accept, halving
from banklearn.sampler.accept import accept_in_turn, columns_of, extended_columns
from banklearn.sampler.halving import decide
from far import Eliminate, Far
from helpers import close, make_problem, problem_log_evidence

LAM = 0.8


class Case:
    """Proposals for a regression, their statistic, and the chain that recomputes evidences."""

    def __init__(self, M, trend="linear", seed=0):
        problem = make_problem(seed, N=40, M=M, trend=trend)
        self.problem = problem = replace(problem, state=problem.state.with_(lam=LAM))
        rng = np.random.default_rng([seed, M])
        self.W = problem.state.W
        self.W_star = self.W + 0.5 * rng.standard_normal(self.W.shape)
        self.log_u = 0.1 * rng.standard_normal(M)
        self.h = trend_columns(trend, 2)
        self.gram = self.statistic(problem.engine())
        self.a_n, self.rest = problem.gaussian.accept_form(self.gram)

    def statistic(self, engine):
        """Over [trend | current | proposed] columns."""
        both = np.concatenate([self.W, self.W_star])
        working = self.problem.gaussian.working(None, Streams(0), 0)
        return engine.sum(GramSum(both, self.problem.trend, working, 1, current=len(self.W)))

    def decided(self):
        return accept_in_turn(self.gram, LAM, self.h, self.log_u, self.a_n, self.rest)

    def walk(self):
        return decide(self.gram.G, self.gram.r, self.h, LAM, self.rest, self.a_n, self.log_u)

    def expected(self, rejected=()):
        """Decisions one after another from the data, those in `rejected` without being asked."""
        W, gain = self.W.copy(), 0.0
        now, accepted = problem_log_evidence(self.problem, W), np.zeros(len(W), dtype=bool)
        for j in range(len(W)):
            candidate = W.copy()
            candidate[j] = self.W_star[j]
            new = problem_log_evidence(self.problem, candidate)
            if j not in rejected and self.log_u[j] < new - now:
                gain += new - now
                W, now, accepted[j] = candidate, new, True
        return accepted, gain


@pytest.mark.parametrize(
    ("columns", "width"), [(1, 8), (7, 8), (8, 8), (9, 16), (16, 16), (17, 24), (40, 40)]
)
def test_rows_begin_at_multiples_of_a_cache_line(columns, width):
    assert halving._space("test", 2, 3, columns).shape == (2, 3, width)


def test_every_half_takes_the_room_that_it_needs(monkeypatch):
    taken, real = [], halving._space

    def space(name, tasks, rows, columns):
        taken.append((name, tasks, rows, columns))
        return real(name, tasks, rows, columns)

    monkeypatch.setattr(halving, "_space", space)
    A = np.random.default_rng(0).standard_normal((2, 400, 7 + 4 * 61))
    walk = decide(A.transpose(0, 2, 1) @ A, A.sum(axis=1), 7, 1.0, 0.0, 0.0, np.zeros(61))
    assert (walk.L.shape, walk.v.shape) == ((2, 129, 129), (2, 129))
    assert (walk.accepted.shape, walk.gain.shape) == ((61,), (2,))
    # Four columns for a frequency and one for the target; two for one that is eliminated.
    assert taken == [
        # 61 = 30 + 31: the trend and the second half's current columns go,
        ("61", 2, 121, 121),
        ("whole D", 2, 69, 69),
        ("whole B", 2, 69, 121),
        # 30 = 15 + 15, the second of which overwrites what it came from,
        ("30", 2, 61, 61),
        ("D", 1, 30, 30),
        ("B", 1, 30, 61),
        ("D 30", 2, 30, 30),
        ("B 30", 2, 30, 61),
        # then the trend and what is in use of the first 30,
        ("61", 2, 125, 125),
        ("whole D", 2, 67, 67),
        ("whole B", 2, 67, 125),
        # and 31 = 15 + 16.
        ("31", 2, 61, 61),
        ("D", 1, 32, 32),
        ("B", 1, 32, 61),
        ("D 31", 2, 30, 30),
        ("B 31", 2, 30, 65),
    ]


@pytest.mark.parametrize(("h", "first"), [(59, [(62 + 59,)]), (60, [(62 + 60,)]), (61, [(61,)])])
def test_a_wide_trend_is_eliminated_once(h, first, monkeypatch):
    made, real = [], halving.cholesky_in_place

    def cholesky(A):
        made.append(A.shape[:1])
        return real(A)

    monkeypatch.setattr(halving, "cholesky_in_place", cholesky)
    M = 61
    A = np.random.default_rng(0).standard_normal((900, h + 4 * M))
    G, r, log_u = A.T @ A, A.sum(axis=0), np.zeros(M)
    walk = decide(G[None], r[None], h, 1.0, 1e4, 5.0, log_u)
    assert made[:1] == first
    used = extended_columns(h, M, walk.accepted)
    assert 0 < walk.accepted.sum() < M
    plain = ridge(G[np.ix_(used, used)], r[used], 1.0)
    close(walk.L[0], plain.L, 1e-9, 1e-9)
    close(walk.v[0], plain.v, 1e-9, 1e-9)


@pytest.mark.parametrize(("M", "factors"), [(1, 2), (23, 2), (24, 2), (25, 3), (48, 3), (49, 5)])
def test_up_to_24_frequencies_are_decided_by_the_compiled_version(M, factors, monkeypatch):
    """The end is factored once, and each half that is eliminated, or the trend of a few."""
    made, real = [], halving.cholesky_in_place

    def cholesky(A):
        made.append(len(A))
        return real(A)

    monkeypatch.setattr(halving, "cholesky_in_place", cholesky)
    assert not Case(M).decided().trouble
    assert len(made) == factors


#: Which of 60 proposals are rejected where one factor fails: of what is eliminated before 0..29,
#: 0..14, 15..29, 30..59, 30..44 and 45..59 are decided; of the columns at the end.
LOST = [(0, 30), (0, 15), (15, 30), (30, 60), (30, 45), (45, 60), (0, 0)]


@pytest.mark.parametrize("k", range(len(LOST)))
def test_where_a_factor_fails_its_half_is_rejected_and_the_others_decided(k, monkeypatch):
    case, calls, real = Case(60), [], halving.cholesky_in_place

    def cholesky(A):
        calls.append(len(A))
        if len(calls) == k + 1:
            raise np.linalg.LinAlgError("not positive definite")
        return real(A)

    monkeypatch.setattr(halving, "cholesky_in_place", cholesky)
    result = case.decided()
    assert result.trouble is True
    assert result.solutions is None
    rejected = range(*LOST[k])
    accepted, gain = case.expected(rejected)
    np.testing.assert_array_equal(result.accepted, accepted)
    close(result.gain, gain, 1e-8, 1e-8)
    others = np.delete(accepted, rejected)
    assert 0 < others.sum() < len(others)
    calls.clear()
    walk = case.walk()
    assert walk.gain.tolist() == [result.gain, 1.0]
    np.testing.assert_array_equal(walk.accepted, accepted)


def test_a_trend_that_cannot_be_factored_rejects_everything(monkeypatch):
    case = Case(5)

    def cholesky(A):
        raise np.linalg.LinAlgError("not positive definite")

    monkeypatch.setattr(halving, "cholesky_in_place", cholesky)
    result = case.decided()
    assert (result.trouble, result.solutions, result.gain) == (True, None, 0.0)
    np.testing.assert_array_equal(result.accepted, np.zeros(5, bool))
    assert case.walk().gain.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("M", [5, 30])
def test_the_factor_is_that_of_places_in_their_order(M):
    case, order = Case(M), np.random.default_rng(M).permutation(M)
    form = (case.h, LAM, case.rest, case.a_n, case.log_u)
    walk = decide(case.gram.G, case.gram.r, *form, None, order)
    held = np.where(walk.accepted, M + np.arange(M), order)
    used = case.gram.select(columns_of(case.h, held))
    plain = ridge(used.G[0], used.r[0], LAM)
    close(walk.L[0], plain.L, 1e-9, 1e-10)
    close(walk.v[0], plain.v, 1e-9, 1e-9)
    assert 0 < walk.accepted.sum() < M


def test_where_no_factor_fails_nothing_is_reported():
    case = Case(60)
    walk, result = case.walk(), case.decided()
    assert walk.gain.tolist() == [result.gain, 0.0]
    assert result.trouble is False
    used = case.gram.select(extended_columns(case.h, 60, result.accepted))
    plain = ridge(used.G[0], used.r[0], LAM)
    close(result.solutions[0].L, plain.L, 1e-9, 1e-10)
    close(result.solutions[0].v, plain.v, 1e-9, 1e-9)
    accepted, gain = case.expected()
    np.testing.assert_array_equal(result.accepted, accepted)
    close(result.gain, gain, 1e-8, 1e-8)


def halved(case, eliminate):
    """(decisions, gain) of matrices that are not in memory."""
    S, gain = Far(case.gram.G[0] + LAM * np.eye(len(case.gram.r[0]))), np.zeros(2)
    chosen = accept._halve(
        [S], [case.gram.r[0]], case.rest, case.a_n, case.log_u, None, gain, case.h, eliminate
    )
    np.testing.assert_array_equal(chosen // 2, np.arange(len(case.log_u)))
    return chosen % 2 == 1, gain


@pytest.mark.parametrize("trend", ["none", "linear"])
@pytest.mark.parametrize("M", [1, 2, 3, 4, 7, 11])
def test_halves_far_away_are_decided_as_those_in_memory(M, trend):
    both = 0
    for seed in range(3):
        case = Case(M, trend, seed)
        accepted, gain = halved(case, Eliminate())
        expected, gained = case.expected()
        np.testing.assert_array_equal(accepted, expected)
        close(gain, [gained, 0.0], 1e-8, 1e-8)
        both += 0 < accepted.sum() < M
    assert both or M < 3


@pytest.mark.parametrize("trend", ["none", "linear"])
def test_a_single_frequency_far_away_is_decided(trend):
    case = Case(1, trend)
    case.log_u[:] = -50.0
    accepted, gain = halved(case, Eliminate())
    assert accepted.tolist() == [True]
    close(gain, [case.expected()[1], 0.0], 1e-8, 1e-8)


def test_halves_far_away_are_cut_in_the_middle():
    eliminate = Eliminate()
    accepted, _ = halved(Case(11), eliminate)
    sizes = [sum(k.stop - k.start for k in keep) // 4 for keep, _ in eliminate.calls]
    assert sizes == [5, 2, 3, 6, 3, 3]
    keep, drop = eliminate.calls[0]
    # Three columns of the trend, 22 current and 22 proposed ones.
    assert keep == (slice(3, 13), slice(25, 35))
    assert drop == [0, 1, 2, *range(13, 25)]
    keep, drop = eliminate.calls[3]
    assert keep == (slice(13, 25), slice(35, 47))
    used = [
        first + (22 if yes else 0) for first, yes in zip(range(3, 13, 2), accepted[:5], strict=True)
    ]
    assert drop == [0, 1, 2, *(c for first in used for c in (first, first + 1))]
    assert 0 < accepted[:5].sum() < 5


@pytest.mark.parametrize(
    ("fails", "rejected"),
    [(1, (0, 5)), (2, (0, 2)), (3, (2, 5)), (4, (5, 11)), (5, (5, 8)), (6, (8, 11))],
)
def test_where_an_elimination_far_away_fails_the_others_are_decided(fails, rejected):
    case = Case(11)
    accepted, gain = halved(case, Eliminate(fails))
    expected, gained = case.expected(range(*rejected))
    np.testing.assert_array_equal(accepted, expected)
    assert 0 < accepted.sum()
    close(gain, [gained, 1.0], 1e-8, 1e-8)


@pytest.mark.torch
@pytest.mark.parametrize("on_host", [8, 384])
def test_a_device_says_what_was_gained(on_host, monkeypatch):
    from array_api_compat import torch

    monkeypatch.setattr("banklearn.engines.torch_ops.ON_HOST", on_host)
    case = Case(11, "constant")
    gram = case.statistic(DeviceEngine(case.problem.X, case.problem.y, None, xp=torch))
    before = gram.in_memory().copy()
    result = accept_in_turn(gram, LAM, 1, case.log_u, case.a_n, case.rest)
    accepted, gain = case.expected()
    np.testing.assert_array_equal(result.accepted, accepted)
    close(result.gain, gain, 1e-8, 1e-8)
    assert abs(gain) > 0.1
    assert (result.trouble, result.solutions) == (False, None)
    np.testing.assert_array_equal(gram.in_memory(), before)
