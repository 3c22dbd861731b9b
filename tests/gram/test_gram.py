"""The statistic: blockwise equals whole, proposals beside a known statistic equal a fresh one."""

from dataclasses import replace

import numpy as np
import pytest

from banklearn.gram import Block, GramSum, Latent, ProposalSum, Working
from banklearn.model.features import TRENDS
from banklearn.numerics.streams import Streams
from helpers import close, fresh_gram, make_problem, plain_features

FIELDS = ("G", "r", "tt", "n")


def same(left, right, relative=1e-11, absolute=1e-12):
    for name in FIELDS:
        close(getattr(left, name), getattr(right, name), relative, absolute)


def working_of(problem):
    return problem.gaussian.working(None, Streams(0), 0)


def proposals(problem, seed=0):
    return np.random.default_rng(seed).standard_normal(problem.state.W.shape)


def extended(problem, W_star, block_rows=4096):
    W, trend = problem.state.W, problem.trend
    statistic = ProposalSum(fresh_gram(problem), W, W_star, trend, working_of(problem))
    return problem.engine(block_rows).sum(statistic)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trend", TRENDS)
def test_it_is_its_definition(trend, weighted):
    problem = make_problem(1, N=37, M=5, trend=trend, weighted=weighted)
    gram = fresh_gram(problem, block_rows=10)
    Phi = plain_features(problem.X, problem.state.W, trend)
    A = np.ones(37) if problem.weight is None else problem.weight
    close(gram.G[0], Phi.T @ (A[:, None] * Phi), 1e-11, 1e-12)
    close(gram.r[0], Phi.T @ (A * problem.y), 1e-11, 1e-12)
    close(gram.tt[0], problem.y @ (A * problem.y), 1e-12)
    close(gram.n[0], A.sum(), 1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("block_rows", [1, 7, 36, 37, 38])
def test_blocks_add_up_to_the_whole(block_rows, weighted):
    problem = make_problem(2, N=37, M=5, trend="linear", weighted=weighted)
    W_star = proposals(problem)
    same(fresh_gram(problem, block_rows=block_rows), fresh_gram(problem))
    same(extended(problem, W_star, block_rows), extended(problem, W_star))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trend", TRENDS)
@pytest.mark.parametrize("M", [1, 5, 20])
def test_proposals_beside_a_known_statistic_equal_a_fresh_one(trend, weighted, M):
    problem = make_problem(3, N=25, M=M, trend=trend, weighted=weighted)
    W_star = proposals(problem)
    stacked = np.concatenate([problem.state.W, W_star])
    statistic = GramSum(stacked, trend, working_of(problem), 1, current=M)
    same(extended(problem, W_star, block_rows=9), problem.engine(4).sum(statistic))


def test_the_statistic_is_symmetric_to_the_bit():
    problem = make_problem(4, N=50, M=20, trend="linear", weighted=True)
    for gram in (fresh_gram(problem), extended(problem, proposals(problem))):
        np.testing.assert_array_equal(gram.G, gram.G.transpose(0, 2, 1))


def test_a_sum_leaves_the_data_and_the_known_statistic_alone():
    problem = make_problem(5, N=30, M=4, trend="constant", weighted=True)
    known = fresh_gram(problem)
    copies = [problem.X.copy(), problem.y.copy(), problem.weight.copy(), known.G.copy()]
    W_star = proposals(problem)
    problem.engine(8).sum(
        ProposalSum(known, problem.state.W, W_star, "constant", working_of(problem))
    )
    for kept, now in zip(copies, (problem.X, problem.y, problem.weight, known.G), strict=True):
        np.testing.assert_array_equal(kept, now)


def test_selection_takes_rows_and_columns_in_order():
    problem = make_problem(6, N=30, M=4)
    gram = fresh_gram(problem)
    columns = np.array([6, 7, 0, 1])
    chosen = gram.select(columns)
    np.testing.assert_array_equal(chosen.G[0], gram.G[0][np.ix_(columns, columns)])
    np.testing.assert_array_equal(chosen.r[0], gram.r[0][columns])
    assert (chosen.tt, chosen.n) == (gram.tt, gram.n)


def test_several_tasks_see_their_own_rows_and_weights():
    problem = make_problem(7, N=40, M=3, trend="constant")
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.1, 1.0, (2, 40))
    chosen = np.sort(rng.choice(40, 25, replace=False))

    def working(block: Block, latent: Latent) -> list[Working]:
        assert latent(np.zeros((2, 1 + 6))).shape == (2, len(block.X))  # the current features only
        at = block.start + np.arange(len(block.X))
        rows = np.flatnonzero(np.isin(at, chosen))
        first = Working(weights[0, at], block.y, 1.0, float(len(at)))
        second = Working(weights[1, at[rows]], block.y[rows], 2.0, float(len(rows)), rows)
        return [first, second]

    stacked = np.concatenate([problem.state.W, proposals(problem)])
    gram = problem.engine(16).sum(GramSum(stacked, "constant", working, 2, current=3))
    Phi = plain_features(problem.X, stacked, "constant")
    Phi[:, 1:] *= np.sqrt(2)  # scaled by the three frequencies in use, not by all six
    for t, rows in enumerate((np.arange(40), chosen)):
        part = Phi[rows]
        close(gram.G[t], part.T @ (weights[t, rows, None] * part), 1e-11, 1e-12)
        close(gram.r[t], part.T @ problem.y[rows], 1e-11, 1e-12)
    close(gram.n, [40, 25], 0)
    close(gram.tt, [3.0, 6.0], 0)


def test_a_large_block_is_summed_like_small_ones():
    problem = make_problem(8, N=9000, M=3, trend="linear")
    same(fresh_gram(problem), fresh_gram(problem, block_rows=500), 1e-10, 1e-9)
    shuffled = np.random.default_rng(0).permutation(9000)
    other = replace(problem, X=problem.X[shuffled], y=problem.y[shuffled])
    same(fresh_gram(problem), fresh_gram(other), 1e-10, 1e-9)
