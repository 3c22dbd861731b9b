"""Rows predicted without themselves, against regressions made anew without each of them."""

import numpy as np
import pytest
from scipy.stats import t as student_t

from banklearn.numerics.streams import Streams
from banklearn.posterior.draws import regression_draw
from banklearn.posterior.leave_one_out import importance, left_out_errors, without_each
from banklearn.sampler import sweep
from banklearn.sampler.sweep import Model
from helpers import close, dense_log_evidence, make_problem, plain_features

FEW = 6  # frequencies: so few that a draw holds all of A^-1


def draw_of(problem, chain_id=0):
    model = Model(problem.prior, problem.gaussian, problem.trend)
    chain = sweep.init(problem.engine(), model, problem.state, Streams(0))
    return regression_draw(chain, problem.prior, chain_id, 1, np.random.default_rng(0))


def refitted(problem, i, left_out):
    """Location, scale and degrees of freedom at row i from a regression with less of that row.

    And the relative variance of the function.
    """
    Phi = plain_features(problem.X, problem.state.W, problem.trend)
    weight = np.ones(len(Phi)) if problem.weight is None else problem.weight.copy()
    weight[i] -= left_out
    A = Phi.T @ (weight[:, None] * Phi) + problem.state.lam * np.eye(Phi.shape[1])
    mean = np.linalg.solve(A, Phi.T @ (weight * problem.y))
    a_n = problem.prior.a0 + 0.5 * weight.sum()
    b_n = problem.prior.b0 + 0.5 * ((weight * problem.y**2).sum() - mean @ A @ mean)
    relative = Phi[i] @ np.linalg.solve(A, Phi[i])
    return Phi[i] @ mean, np.sqrt(b_n / a_n * (1.0 + relative)), 2 * a_n, relative


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trend", ["none", "linear"])
def test_a_row_leaves_as_if_it_had_not_been_there(trend, weighted):
    problem = make_problem(4, N=30, M=FEW, trend=trend, weighted=weighted)
    left_out = np.ones(30) if problem.weight is None else np.minimum(problem.weight, 1.0)
    assert not weighted or 0 < (left_out < 1).sum() < 30
    location, scale, dof, relative = without_each(
        [draw_of(problem)], problem.X, problem.y, left_out, problem.trend
    )
    for i in range(30):
        *expected, doubt = refitted(problem, i, left_out[i])
        close((location[0, i], scale[0, i], dof[0, i]), expected, 1e-8)
        close(relative[i], doubt, 1e-8)


def test_its_density_is_the_evidence_that_it_adds():
    problem = make_problem(5, N=20, M=FEW)
    location, scale, dof, _ = without_each([draw_of(problem)], problem.X, problem.y, 1.0, "none")
    log_p = student_t.logpdf((problem.y - location) / scale, dof)[0] - np.log(scale[0])
    Phi = plain_features(problem.X, problem.state.W)
    prior, lam = problem.prior, problem.state.lam
    whole = dense_log_evidence(Phi, problem.y, lam, prior.a0, prior.b0)
    for i in range(20):
        others = np.arange(20) != i
        part = dense_log_evidence(Phi[others], problem.y[others], lam, prior.a0, prior.b0)
        close(log_p[i], whole - part, 1e-7)


def test_draws_count_by_one_over_the_density_within_their_chain():
    log_p = np.log(np.array([[0.2, 1.0], [0.4, 1.0], [0.3, 1.0], [9.0, 1.0], [9.0, 3.0]]))
    chain = np.array([0, 0, 0, 1, 1])
    share = importance(log_p, chain)
    close(share[:3, 0], 0.6 * np.array([5.0, 2.5, 1 / 0.3]) / (7.5 + 1 / 0.3), 1e-12)
    close(share[3:, 0], [0.2, 0.2], 1e-12)
    most, rest = 2**-0.5, 0.25  # three quarters were more than a chain of two allows
    close(share[3:, 1], 0.4 * np.array([most, rest]) / (most + rest), 1e-12)
    close(share.sum(axis=0), 1.0, 1e-12)


def test_the_largest_weights_are_cut_at_ten_times_the_mean_of_a_hundred():
    log_p = np.zeros((100, 2))
    log_p[0] = -np.log(51.0)
    log_p[:50, 1] = -1e4
    share = importance(log_p, np.zeros(100, dtype=int))
    close(share[0, 0], 15.0 / (15.0 + 99.0), 1e-12)
    close(share[1:, 0], 1.0 / (15.0 + 99.0), 1e-12)
    close(share[:50, 1], 1 / 50, 1e-12)


def test_errors_of_one_draw_are_those_of_regressions_made_anew():
    problem = make_problem(6, N=40, M=FEW)
    found = left_out_errors([draw_of(problem)], problem.X, problem.y, None, "none")
    for i in range(40):
        location, scale, dof, relative = refitted(problem, i, 1.0)
        variance = scale**2 * dof / (dof - 2)
        close(found.error[i], problem.y[i] - location, 1e-7)
        close(found.noise[i], variance / (1.0 + relative), 1e-7)
        close(found.doubt[i], variance * relative / (1.0 + relative), 1e-7)


def test_errors_of_several_draws_are_those_of_their_mixture():
    problem = make_problem(7, N=25, M=FEW, weighted=True)
    # The same frequencies with other precisions of the weights: leverages are the draws' mean.
    draws = [
        draw_of(problem.__class__(**{**vars(problem), "state": problem.state.with_(lam=lam)}), c)
        for lam, c in ((0.5, 0), (0.6, 0), (0.5, 1))
    ]
    left_out = np.minimum(problem.weight, 1.0)
    assert (left_out < 1.0).any()
    location, scale, dof, relative = without_each(draws, problem.X, problem.y, left_out, "none")
    found = left_out_errors(draws, problem.X, problem.y, problem.weight, "none")
    for i in range(25):
        laws = [
            student_t(v, m, s)
            for m, s, v in zip(location[:, i], scale[:, i], dof[:, i], strict=True)
        ]
        # A row of weight 0.5 is half of a row, and has put half as much into the posterior.
        share = np.array([law.pdf(problem.y[i]) for law in laws]) ** (-2.0 * left_out[i])
        share[:2] = np.minimum(share[:2] / share[:2].sum(), 2**-0.5)
        share[:2] *= 2 / 3 / share[:2].sum()
        share[2] = 1 / 3
        means = np.array([law.mean() for law in laws])
        mean = share @ means
        within = share @ np.array([law.var() for law in laws])
        close(found.error[i], problem.y[i] - mean, 1e-9)
        close(found.noise[i], within / (1.0 + relative[i]), 1e-9)
        close(found.noise[i] + found.doubt[i], within + share @ (means - mean) ** 2, 1e-9)
