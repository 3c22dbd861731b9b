"""The paper's joint move: its ratio, the path it takes, and the law it keeps."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import kstest, multivariate_normal, norm

from banklearn.model.class_tree import stick
from banklearn.model.features import TRENDS
from banklearn.model.joint import log_frequencies, log_prior
from banklearn.numerics import _compiled
from banklearn.numerics.streams import Purpose, Streams
from banklearn.sampler import joint_move
from banklearn.sampler.frequencies import Moves, log_proposal, propose
from banklearn.sampler.joint_move import Task
from banklearn.sampler.sweep import Tuning
from helpers import FALSE_ALARM, HUNDRED, close
from labels import draw_labels, log_weights, make_labelled
from trees import HALVES, log_likelihood, make_classes


def tasks_of(problem):
    return [Task(rows, label, weight) for rows, label, weight in problem.tasks()]


def columns_at(problem, j, W):
    """The two columns of frequency j for every task, (2, rows of the task)."""
    pair = problem.features(W)[:, problem.h + 2 * j : problem.h + 2 * j + 2].T
    return [np.ascontiguousarray(pair[:, rows]) for rows, _, _ in problem.tasks()]


def offsets_of(problem, j, W, beta):
    """The linear predictor without frequency j, from scratch."""
    beta = beta.copy()
    beta[:, problem.h + 2 * j : problem.h + 2 * j + 2] = 0.0
    Phi = problem.features(W)
    return [Phi[rows] @ b for b, (rows, _, _) in zip(beta, problem.tasks(), strict=True)]


def log_laplace(b, columns, offsets, problem, lam):
    """Log density of the weights (T, 2) under the Laplace laws, by another route."""
    total = 0.0
    for t, (_, label, weight) in enumerate(problem.tasks()):
        b0, b1, h00, h01, h11 = _compiled.laplace_pair(*columns[t], offsets[t], label, weight, lam)
        covariance = np.linalg.inv([[h00, h01], [h01, h11]])
        total += multivariate_normal.logpdf(b[t], [b0, b1], covariance)
    return total


@pytest.mark.parametrize("C", [2, 3, 4, 5])
def test_the_ratio_is_that_of_joint_densities_and_proposals(C):
    for seed in HUNDRED:
        problem = make_classes(seed, C=C, trend=TRENDS[seed % 3], weighted=seed // 2 % 2 == 0)
        state, beta = problem.state, problem.beta
        rng = np.random.default_rng(seed)
        j, rho = int(rng.integers(state.M)), float(rng.uniform(0.1, 1.0))
        W = state.W.copy()
        W[j] = propose(state, np.full(state.M, rho), rng)[j]
        at = slice(problem.h + 2 * j, problem.h + 2 * j + 2)
        now, star = columns_at(problem, j, state.W), columns_at(problem, j, W)
        offsets = offsets_of(problem, j, state.W, beta)
        b_star, log_ratio = joint_move.move(
            now, star, beta[:, at], offsets, tasks_of(problem), state.lam, rng
        )
        new = beta.copy()
        new[:, at] = b_star

        def joint(W, beta, problem=problem, state=state):
            return (
                log_prior(state.with_(W=W), problem.prior)
                + log_weights(beta, state.lam)
                + log_likelihood(problem, beta, W)
            )

        expected = joint(W, new) - joint(state.W, beta)
        expected += log_proposal(j, W[j], state.W[j], rho, state)
        expected -= log_proposal(j, state.W[j], W[j], rho, state)
        expected += log_laplace(beta[:, at], now, offsets, problem, state.lam)
        expected -= log_laplace(b_star, star, offsets, problem, state.lam)
        close(log_ratio, expected, 1e-8, 1e-8)


def test_the_prior_of_the_frequency_cancels_against_its_proposal():
    for seed in range(20):
        problem = make_labelled(seed)
        state, rng = problem.state, np.random.default_rng(seed)
        W = state.W.copy()
        W[1] = propose(state, np.full(state.M, 0.6), rng)[1]
        change = log_frequencies(state.with_(W=W)) - log_frequencies(state)
        change += log_proposal(1, W[1], state.W[1], 0.6, state)
        close(change - log_proposal(1, state.W[1], W[1], 0.6, state), 0, 0, 1e-9)


def plain_step(problem, tuning, streams, sweep):
    """The same decisions with the linear predictor recomputed for every frequency.

    Returned are frequencies and weights, who jumped, and who was accepted.
    """
    state, beta, W = problem.state, problem.beta.copy(), problem.state.W.copy()
    rng = streams.at(Purpose.PROPOSALS, sweep)
    rho = tuning.moves.draw_rho(state.M, rng)
    W_star, accepted = propose(state, rho, rng), np.zeros(state.M, dtype=bool)
    draw = streams.at(Purpose.WEIGHTS, sweep)
    log_u = np.log(streams.at(Purpose.ACCEPT, sweep).random(state.M))
    for j in range(state.M):
        candidate = W.copy()
        candidate[j] = W_star[j]
        at = slice(problem.h + 2 * j, problem.h + 2 * j + 2)
        b_star, log_ratio = joint_move.move(
            columns_at(problem, j, W),
            columns_at(problem, j, candidate),
            beta[:, at],
            offsets_of(problem, j, W, beta),
            tasks_of(problem),
            state.lam,
            draw,
        )
        if log_u[j] < log_ratio:
            W, beta[:, at], accepted[j] = candidate, b_star, True
    return W, beta, rho == 1.0, accepted


def share(accepted):
    """Of proposals that were accepted; unknown where there was none."""
    return accepted.sum() / len(accepted) if len(accepted) else np.nan


@pytest.mark.parametrize("trend", TRENDS)
@pytest.mark.parametrize(("C", "M"), [(2, 1), (2, 20), (3, 20), (4, 5), (5, 5)])
def test_a_sweep_takes_the_path_of_recomputing_everything(C, M, trend):
    for seed in range(3):
        problem = make_classes(seed, N=25, M=M, C=C, trend=trend, weighted=seed == 1)
        streams, tuning = Streams(seed), Tuning(Moves(jump=0.3))
        chain = joint_move.place(problem.engine(7), problem.model, problem.state, problem.beta)
        chain, info = joint_move.step(chain, problem.engine(7), problem.model, tuning, streams, 1)
        W, beta, jumped, accepted = plain_step(problem, tuning, streams, 1)
        np.testing.assert_array_equal(chain.state.W, W)
        close(chain.beta[:, problem.h :], beta[:, problem.h :], 1e-7, 1e-8)
        close(info.log_likelihood, log_likelihood(problem, chain.beta, W), 1e-8, 1e-8)
        # Nothing that this sampler lacks is reported to go wrong, or to want another step.
        assert (info.trouble, info.jitter, info.lam_acceptance) == (False, 0, 0.44)
        assert info.flown is None
        lacking = [info.accepted_switches, info.gradient_acceptance, *info.interweave_acceptance]
        np.testing.assert_array_equal(lacking, 5 * [np.nan])
        close(info.accepted_jumps, share(accepted[jumped]), 1e-12)
        close(info.accepted_local, share(accepted[~jumped]), 1e-12)
        assert info.log_evidence == info.log_likelihood
        now = chain.state
        assert (info.K, info.alpha, info.lam) == (now.K, now.alpha, now.lam)


@pytest.mark.parametrize("C", [3, 5])
def test_what_a_chain_carries_belongs_to_its_state(C):
    problem = make_classes(1, N=60, M=8, C=C, trend="linear")
    engine, streams = problem.engine(16), Streams(0)
    chain = joint_move.init(engine, problem.model, problem.state, streams)
    for sweep in range(1, 60):
        chain, _ = joint_move.step(chain, engine, problem.model, Tuning(), streams, sweep)
    Phi = problem.features(chain.state.W)
    for f, beta, (rows, _, _) in zip(chain.predictor, chain.beta, problem.tasks(), strict=True):
        close(f, Phi[rows] @ beta, 1e-9, 1e-10)
    assert not np.array_equal(chain.state.W, problem.state.W)


def test_rows_of_weight_two_are_rows_given_twice():
    problem = make_labelled(3, N=20, C=3, trend="constant")
    counts = np.random.default_rng(0).integers(1, 4, 20)
    chains = []
    for repeat in (False, True):
        changed = make_labelled(3, N=20, C=3, trend="constant")
        values = (
            (problem.X.repeat(counts, axis=0), problem.y.repeat(counts), None)
            if repeat
            else (problem.X, problem.y, counts.astype(float))
        )
        for name, value in zip(("X", "y", "weight"), values, strict=True):
            object.__setattr__(changed, name, value)
        engine, streams = changed.engine(), Streams(0)
        chain = joint_move.place(engine, changed.model, changed.state, changed.beta)
        for sweep in range(1, 6):
            chain, _ = joint_move.step(chain, engine, changed.model, Tuning(), streams, sweep)
        chains.append(chain)
    close(chains[0].state.W, chains[1].state.W, 1e-9)
    close(chains[0].beta, chains[1].beta, 1e-6, 1e-7)


@pytest.mark.parametrize(("trend", "C"), [("constant", 2), ("linear", 2), ("linear", 3)])
def test_the_weights_of_the_trend_take_the_path_of_recomputing_everything(trend, C):
    taken = []
    for seed in range(25):
        problem = make_labelled(seed, N=8, M=2, C=C, trend=trend, lam_log_mean=-5.0)
        lam, tasks, Phi = problem.state.lam, tasks_of(problem), problem.features()
        rng, beta = np.random.default_rng(seed), problem.beta.copy()
        for first in range(0, problem.h, 2):
            at = slice(first, min(first + 2, problem.h))
            pair, width = np.zeros((2, 8)), at.stop - first
            pair[:width] = Phi[:, at].T
            b_now = rng.standard_normal((C - 1, 2)) / np.sqrt(lam)
            b_now[:, :width] = beta[:, at]
            others = beta.copy()
            others[:, at] = 0.0
            offsets = [Phi[t.rows] @ b for t, b in zip(tasks, others, strict=True)]
            columns = [np.ascontiguousarray(pair[:, t.rows]) for t in tasks]
            b_star, log_ratio = joint_move.move(columns, columns, b_now, offsets, tasks, lam, rng)
            taken.append(rng.random() < np.exp(min(log_ratio, 0.0)))
            if taken[-1]:
                beta[:, at] = b_star[:, :width]
        moved, F = problem.beta.copy(), [Phi[t.rows] @ b for t, b in zip(tasks, beta, strict=True)]
        now = [Phi[t.rows] @ b for t, b in zip(tasks, problem.beta, strict=True)]
        joint_move._trend_weights(
            problem.engine(),
            problem.model,
            moved,
            now,
            tasks,
            problem.state,
            np.random.default_rng(seed),
        )
        close(moved, beta, 1e-6, 1e-8)
        for f, expected in zip(now, F, strict=True):
            close(f, expected, 1e-6, 1e-7)
    assert 3 < sum(taken) < len(taken) - 3


@pytest.mark.parametrize("trend", ["constant", "linear"])  # one column, and an odd number of them
def test_the_weights_of_the_trend_keep_their_law(trend):
    # Weights from their prior, labels from the weights, one move: the weights keep their prior.
    rng = np.random.default_rng(0)
    problem = make_labelled(0, N=12, M=1, trend=trend)
    state, h = problem.state.with_(lam=0.2), problem.h
    out, moved = [], 0
    for _ in range(1500):
        beta = np.zeros((1, h + 2))
        beta[:, :h] = rng.standard_normal(h) / np.sqrt(0.2)
        Phi = problem.features()
        y = (rng.random(12) < expit(Phi @ beta[0])).astype(float)
        F = [Phi @ beta[0]]
        before = beta.copy()
        tasks = [Task(np.arange(12), y, np.ones(12))]
        joint_move._trend_weights(problem.engine(), problem.model, beta, F, tasks, state, rng)
        close(F[0], Phi @ beta[0], 0, 1e-10)
        moved += not np.array_equal(beta, before)
        out.append(beta[0, :h])
    for column in np.array(out).T:
        assert kstest(column * np.sqrt(0.2), norm.cdf).pvalue > FALSE_ALARM
    assert moved > 750


def test_the_conditional_of_lam_is_the_joint_s():
    for seed in HUNDRED:
        problem = make_labelled(seed, C=2 + seed % 3)
        state, prior, beta = problem.state, problem.prior, problem.beta
        lam = state.lam * np.exp(np.random.default_rng(seed).normal())
        difference = joint_move.log_lam_conditional(lam, beta, prior)
        difference -= joint_move.log_lam_conditional(state.lam, beta, prior)
        expected = log_prior(state.with_(lam=lam), prior) + log_weights(beta, lam)
        expected -= log_prior(state, prior) + log_weights(beta, state.lam)
        close(difference, expected, 1e-8, 1e-8)


@pytest.mark.parametrize("P", [1, 9, 60])
def test_lam_given_the_weights_keeps_its_law(P):
    # lam from its prior, weights given lam: after the update lam still follows its prior.
    prior, rng = make_labelled(0).prior, np.random.default_rng(0)
    out, moved = [], 0
    for _ in range(3000):
        lam = float(np.exp(prior.lam_log_mean + prior.lam_log_sd * rng.standard_normal()))
        beta = rng.standard_normal((1, P)) / np.sqrt(lam)
        new = joint_move.lam_given_weights(beta, lam, prior, rng)
        moved += new != lam
        out.append((np.log(new) - prior.lam_log_mean) / prior.lam_log_sd)
    assert kstest(out, norm.cdf).pvalue > FALSE_ALARM
    assert moved > 2500


def test_tasks_see_the_rows_that_are_left():
    y, weight = np.array([0.0, 2, 1, 0, 2]), np.arange(1.0, 6.0)
    first, second = joint_move.split_tasks(y, weight, stick(3))
    assert first.y.tolist() == [1, 0, 0, 1, 0]
    assert second.rows.tolist() == [1, 2, 4]
    assert second.y.tolist() == [0, 1, 0]
    assert second.weight.tolist() == [2, 3, 5]
    assert draw_labels(np.full((2, 5), -50.0), np.random.default_rng(0)).tolist() == [2.0] * 5


def test_tasks_of_a_tree_see_the_rows_of_their_range():
    y, weight = np.array([4.0, 0, 2, 1, 3, 0]), np.arange(1.0, 7.0)
    seen = joint_move.split_tasks(y, weight, HALVES)
    assert [task.rows.tolist() for task in seen] == [[*range(6)], [1, 3, 5], [0, 2, 4], [0, 4]]
    assert [task.y.tolist() for task in seen] == [
        [0, 1, 0, 1, 0, 1],
        [1, 0, 1],
        [0, 1, 0],
        [0, 1],
    ]
    assert seen[3].weight.tolist() == [1, 5]


@pytest.mark.parametrize("case", range(10))
def test_an_end_of_a_move_is_drawn_from_the_density_that_it_tells(case):
    problem = make_labelled(case, weighted=case % 2 == 1)
    lam, (task,) = problem.state.lam, tasks_of(problem)
    (columns,) = columns_at(problem, 1, problem.state.W)
    (offset,) = offsets_of(problem, 1, problem.state.W, problem.beta)
    drawn = joint_move.laplace_end(columns, offset, task, lam, None, np.random.default_rng(case))
    b0, b1, h00, h01, h11 = _compiled.laplace_pair(*columns, offset, task.y, task.weight, lam)
    H = np.array([[h00, h01], [h01, h11]])
    white = np.linalg.cholesky(H).T @ (drawn.b - [b0, b1])
    close(white, np.random.default_rng(case).standard_normal(2), 1e-9, 1e-10)
    for b in (drawn.b, np.array([0.3, -0.8])):
        end = joint_move.laplace_end(columns, offset, task, lam, b, np.random.default_rng(0))
        np.testing.assert_array_equal(end.b, b)
        proposal = multivariate_normal.logpdf(b, [b0, b1], np.linalg.inv(H))
        close(end.log_proposal, proposal, 1e-9, 1e-9)
        f = offset + b @ columns
        target = task.weight @ np.log(expit(np.where(task.y == 1, f, -f)))
        target += norm.logpdf(b, scale=lam**-0.5).sum()
        close(end.log_target, target, 1e-9, 1e-9)


def test_lam_walks_eight_steps_by_the_spread_of_its_conditional():
    for seed in range(20):
        problem = make_labelled(seed, M=1 + seed % 4)
        prior, beta, lam = problem.prior, problem.beta, problem.state.lam
        found = joint_move.lam_given_weights(beta, lam, prior, np.random.default_rng(seed))
        rng = np.random.default_rng(seed)
        size = 2.4 / np.sqrt(1 + beta.size / 2)
        for _ in range(8):
            other = np.exp(np.log(lam) + size * rng.standard_normal())
            gain = joint_move.log_lam_conditional(other, beta, prior)
            gain -= joint_move.log_lam_conditional(lam, beta, prior)
            lam = other if rng.random() < np.exp(min(gain, 0.0)) else lam
        close(found, lam, 1e-9)
