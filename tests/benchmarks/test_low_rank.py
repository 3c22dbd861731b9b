"""The paper's algorithm, kept for comparison, makes the decisions that the sweep makes."""

import numpy as np
import pytest

from helpers import close


def plain(scripts, problem, **options):
    state = problem.chain.state
    a_n, rest = problem.model.likelihood.accept_form(problem.chain.gram)
    return scripts("low_rank").LowRank(
        problem.engine.X, problem.engine.y, state.W, state.lam, "constant", a_n, rest, **options
    )


@pytest.mark.parametrize("product", ["loop", "gemm", "gemv"])
def test_decisions_are_those_of_the_sweep(scripts, product, seed):
    measure = scripts("measure")
    X, y = measure.make_data(400, 3, seed=seed)
    problem = measure.make_problem(X, y, 24, seed=seed)
    accepted = 0
    for _ in range(6):
        W_star, log_u = problem.next_proposals()
        before = problem.chain.state.W
        reference = plain(scripts, problem, product=product)
        decisions = reference.sweep(W_star, log_u)
        problem.step()
        moved = (problem.chain.state.W != before).any(axis=1)
        np.testing.assert_array_equal(decisions, moved)
        np.testing.assert_array_equal(reference.W, problem.chain.state.W)
        close(reference.G, problem.chain.gram.G[0], 1e-9, 1e-9)
        accepted += decisions.sum()
    assert 0 < accepted < 6 * 24


def test_the_order_of_the_factor_changes_no_decision(scripts, seed):
    measure, low_rank = scripts("measure"), scripts("low_rank")
    X, y = measure.make_data(300, 2, seed=seed)
    problem = measure.make_problem(X, y, 20, seed=seed)
    W_star, log_u = problem.next_proposals()
    places = low_rank.spread_places(20, 6)
    assert sorted(places) == list(range(20))
    assert [places.index(j) for j in range(6)] == [1, 5, 8, 11, 15, 18]
    whole = plain(scripts, problem).sweep(W_star, log_u)
    some = plain(scripts, problem, places=places).sweep(W_star, log_u, 6)
    np.testing.assert_array_equal(some, whole[:6])


def test_the_factor_stays_that_of_the_matrix(scripts, seed):
    measure = scripts("measure")
    X, y = measure.make_data(300, 2, seed=seed)
    problem = measure.make_problem(X, y, 15, seed=seed)
    reference = plain(scripts, problem)
    for _ in range(5):
        W_star, log_u = problem.next_proposals()
        reference.sweep(W_star, log_u - 3.0)
        problem.step()
    columns = reference.columns()
    A = reference.G[np.ix_(columns, columns)] + reference.lam * np.eye(len(columns))
    R = np.triu(reference.R)
    close(R.T @ R, A, 1e-10, 1e-10)


def test_a_wrong_random_number_is_noticed(scripts, seed):
    measure = scripts("measure")
    X, y = measure.make_data(400, 3, seed=seed)
    problem = measure.make_problem(X, y, 24, seed=seed)
    W_star, log_u = problem.next_proposals()
    assert not np.array_equal(
        plain(scripts, problem).sweep(W_star, log_u),
        plain(scripts, problem).sweep(W_star, log_u - 2.0),
    )
