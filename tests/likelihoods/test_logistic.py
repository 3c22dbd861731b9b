"""The Polya-Gamma likelihood: its augmentation, its conditionals, and what it leaves behind."""

import numpy as np
import pytest
from polyagamma import polyagamma_pdf
from scipy.stats import kstest, multivariate_normal, norm

from banklearn.gram import BLOCK_ROWS, Block
from banklearn.likelihoods.logistic import Logistic, log_sigmoid
from banklearn.model.laplace import mode
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.sampler import precision, sweep
from helpers import FALSE_ALARM, HUNDRED, close
from labels import gram_of, log_weights, make_labelled, one_block
from trees import HALVES, log_likelihood, make_classes

TRENDS = ("none", "constant", "linear")


def some_problem(seed, **options):
    """Classes, trends and weights in turn."""
    return make_classes(
        seed,
        C=2 + seed % 4,
        trend=TRENDS[(seed // 3) % 3],
        weighted=bool((seed // 9) % 2),
        **options,
    )


def drawn(problem, seed=0, sweep_number=1):
    return problem.logistic.working(problem.beta, Streams(seed), sweep_number)


def log_augmented(problem, works, beta, W=None):
    """log p(labels, w | beta) without the factor p(w) of PG(b, 0), from its definition."""
    Phi, total = problem.features(W), 0.0
    for t, (rows, label, b) in enumerate(problem.tasks()):
        f = Phi[rows] @ beta[t]
        w = works[t].A
        total += np.sum(b * (label - 0.5) * f - 0.5 * w * f**2 - b * np.log(2))
    return float(total)


def test_the_augmentation_takes_nothing_from_the_likelihood():
    # p(labels, w | beta) / p(w | beta, labels) is the likelihood, whatever w is.
    for seed in HUNDRED:
        problem = make_classes(seed, C=2 + seed % 4, trend=TRENDS[seed % 3])
        works = one_block(problem, drawn(problem, seed))
        value = log_augmented(problem, works, problem.beta)
        for t, (rows, _, b) in enumerate(problem.tasks()):
            f = problem.features()[rows] @ problem.beta[t]
            w = works[t].A
            value += polyagamma_pdf(w, b, 0.0, return_log=True).sum() if len(rows) else 0.0
            value -= polyagamma_pdf(w, b, np.abs(f), return_log=True).sum() if len(rows) else 0.0
        close(value, log_likelihood(problem), 1e-8, 1e-8)


@pytest.mark.parametrize("weight", [None, 1.0, 2.0, 3.7, 0.4])
def test_working_weights_follow_the_polya_gamma_law_of_the_row(weight):
    # E exp(-s w) = (cosh(f / 2) / cosh(sqrt(f^2 / 4 + s / 2)))^b for w ~ PG(b, f).
    n, b = 20_000, weight or 1.0
    for f in (0.0, -1.3, 4.0):
        block = Block(np.zeros((n, 1)), np.zeros(n), None if weight is None else np.full(n, b), 0)
        working = Logistic(2).working(np.array([[f]]), Streams(3), 1)
        (work,) = working(block, lambda beta: np.full((1, n), beta))
        for s in (0.3, 2.0):
            e = np.exp(-s * work.A)
            expected = (np.cosh(f / 2) / np.cosh(np.sqrt(f**2 / 4 + s / 2))) ** b
            error = abs(e.mean() - expected) / (e.std() / np.sqrt(n))
            assert error < norm.isf(FALSE_ALARM / 2), (f, s)


def test_targets_rows_and_the_log_likelihood():
    for seed in HUNDRED:
        problem = some_problem(seed)
        works = one_block(problem, drawn(problem, seed))
        for work, (rows, label, b) in zip(works, problem.tasks(), strict=True):
            np.testing.assert_array_equal(
                np.arange(len(problem.y)) if work.rows is None else work.rows, rows
            )
            close(work.At, b * (label - 0.5), 1e-14)
            close(work.n, b.sum(), 1e-14)
            assert np.all(work.A > 0)
        gram = gram_of(problem, drawn(problem, seed), block_rows=4)
        close(gram.tt.sum(), log_likelihood(problem), 1e-9, 1e-9)


def test_weights_are_integrated_out_exactly():
    # exp(kappa f - w f^2 / 2) is N(t | f, 1/w) with t = kappa / w, over its value at f = 0.
    for seed in HUNDRED:
        problem = some_problem(seed, N=9)
        lam = problem.state.lam
        working = drawn(problem, seed)
        works = one_block(problem, working)
        expected = 0.0
        for work, (rows, _, _) in zip(works, problem.tasks(), strict=True):
            if len(rows) == 0:
                continue
            Phi, w = problem.features()[rows], work.A
            target = work.At / w
            C = np.diag(1 / w) + Phi @ Phi.T / lam
            expected += multivariate_normal.logpdf(target, np.zeros(len(rows)), C)
            expected -= multivariate_normal.logpdf(target, np.zeros(len(rows)), np.diag(1 / w))
        gram = gram_of(problem, working)
        solved = precision.solve(gram, lam, problem.logistic, JitterCount())
        close(solved.log_evidence, expected, 1e-9, 1e-9)


def test_the_law_of_the_weights_is_their_conditional():
    for seed in HUNDRED:
        problem = some_problem(seed)
        lam, rng = problem.state.lam, np.random.default_rng(seed)
        working = drawn(problem, seed)
        works = one_block(problem, working)
        gram = gram_of(problem, working)
        solved = precision.solve(gram, lam, problem.logistic, JitterCount())
        other = problem.beta + 0.3 * rng.standard_normal(problem.beta.shape)
        joint = [
            log_augmented(problem, works, b) + log_weights(b, lam) for b in (problem.beta, other)
        ]
        conditional = []
        for beta in (problem.beta, other):
            conditional.append(
                sum(
                    multivariate_normal.logpdf(
                        beta[t], s.mu_n, np.linalg.inv(s.L @ s.L.T), allow_singular=True
                    )
                    for t, s in enumerate(solved.solutions)
                )
            )
        close(conditional[1] - conditional[0], joint[1] - joint[0], 1e-7, 1e-7)
        # What is left when the weights' law is divided out: the evidence, up to p(w).
        b_log_2 = sum(b.sum() for _, _, b in problem.tasks()) * np.log(2)
        close(joint[0] - conditional[0] + b_log_2, solved.log_evidence, 1e-7, 1e-7)


def test_weights_are_drawn_from_that_law():
    problem = make_labelled(4, N=20, M=3, C=3, trend="constant")
    gram = gram_of(problem, drawn(problem))
    solved = precision.solve(gram, problem.state.lam, problem.logistic, JitterCount())
    rng = np.random.default_rng(0)
    betas = np.stack(
        [problem.logistic.draw_weights(gram, solved.solutions, rng) for _ in range(3000)]
    )
    for t, solution in enumerate(solved.solutions):
        A = gram.G[t] + problem.state.lam * np.eye(7)
        mean = np.linalg.solve(A, gram.r[t])
        close(solution.mu_n, mean, 1e-9, 1e-11)
        white = (betas[:, t] - mean) @ np.linalg.cholesky(A)
        assert kstest(white.ravel(), norm.cdf).pvalue > FALSE_ALARM
        close(white.T @ white / 3000, np.eye(7), 0, 6 / np.sqrt(3000))
    assert abs(np.corrcoef(betas[:, 0, 0], betas[:, 1, 0])[0, 1]) < 6 / np.sqrt(3000)


@pytest.mark.parametrize("C", [2, 3, 5])
def test_working_weights_depend_on_the_block_alone(C):
    problem = make_classes(2, N=50, C=C, trend="constant")
    working = drawn(problem)
    blocks = list(problem.engine(block_rows=8).blocks())
    Phi = problem.features().T

    def works(block):
        part = slice(block.start, block.start + len(block.X))
        return working(block, lambda beta: beta @ Phi[:, part])

    forwards = [works(block) for block in blocks]
    backwards = [works(block) for block in blocks[::-1]][::-1]
    for left, right in zip(forwards, backwards, strict=True):
        for a, b in zip(left, right, strict=True):
            np.testing.assert_array_equal(a.A, b.A)
            np.testing.assert_array_equal(a.At, b.At)
    assert not np.array_equal(forwards[0][0].A, forwards[1][0].A)
    for other in (drawn(problem, seed=1), drawn(problem, sweep_number=2)):
        changed = other(blocks[0], lambda beta: beta @ Phi[:, :8])
        assert not np.array_equal(changed[0].A, forwards[0][0].A)


def test_working_weights_do_not_depend_on_how_many_cells_a_block_holds():
    n, rng = 2 * BLOCK_ROWS + 100, np.random.default_rng(0)
    y, f = rng.integers(0, 3, n).astype(float), rng.standard_normal((2, n))
    working = Logistic(3).working(f, Streams(1), 1)

    def weights(cut):
        found = np.zeros((2, n))
        for start in range(0, n, cut):
            part = slice(start, start + cut)
            block = Block(np.zeros((len(y[part]), 1)), y[part], None, start)
            for t, work in enumerate(working(block, lambda beta, part=part: beta[:, part])):
                rows = np.arange(len(block.y)) if work.rows is None else work.rows
                found[t, start + rows] = work.A
        return found

    np.testing.assert_array_equal(weights(BLOCK_ROWS), weights(3 * BLOCK_ROWS))
    # Equal rows of different cells and tasks have draws of their own.
    f[:], y[:] = 0.3, 2.0
    working = Logistic(3).working(f, Streams(1), 1)
    first, second = weights(BLOCK_ROWS)
    assert len(np.unique(np.concatenate([first, second]))) == 2 * n


@pytest.mark.parametrize("block_rows", [4, 4096])
def test_a_block_without_rows_for_a_task_adds_nothing(block_rows):
    problem = make_labelled(0, N=12, C=4, trend="linear")
    object.__setattr__(problem, "y", np.repeat([0.0, 1.0, 2.0], 4))
    for working in (drawn(problem), problem.logistic.newton(problem.beta)):
        gram = gram_of(problem, working, block_rows=block_rows)
        assert np.all(np.isfinite(gram.G))
        close(gram.n, [12, 8, 4], 0)
    object.__setattr__(problem, "y", np.zeros(12))
    gram = gram_of(problem, drawn(problem), block_rows=block_rows)
    assert not gram.G[1:].any()
    assert not gram.r[1:].any()


@pytest.mark.parametrize("C", [4, 5])
def test_a_task_is_a_two_class_problem_on_the_rows_that_are_left(C):
    for seed in range(10):
        problem = make_classes(seed, N=30, C=C, trend="linear", weighted=seed // 2 % 2 == 0)
        gram = gram_of(problem, problem.logistic.newton(problem.beta))
        for t, (rows, label, weight) in enumerate(problem.tasks()):
            # In the two-class code the class asked for has place 0.
            two = make_labelled(seed, N=30, trend="linear")
            for name, value in (
                ("X", problem.X[rows]),
                ("y", 1.0 - label),
                ("weight", weight),
                ("beta", problem.beta[t : t + 1]),
            ):
                object.__setattr__(two, name, value)
            alone = gram_of(two, two.logistic.newton(two.beta), W=problem.state.W)
            close(gram.G[t], alone.G[0], 1e-10, 1e-12)
            close(gram.r[t], alone.r[0], 1e-10, 1e-12)
            close(gram.tt[t], alone.tt[0], 1e-10)


def test_the_regression_of_a_newton_step_is_newton_s_step():
    for seed in range(20):
        problem = some_problem(seed)
        lam = problem.state.lam
        gram = gram_of(problem, problem.logistic.newton(problem.beta))
        for t, (rows, label, weight) in enumerate(problem.tasks()):
            Phi, b = problem.features()[rows], problem.beta[t]
            p = 1 / (1 + np.exp(-Phi @ b))
            H = Phi.T @ ((weight * p * (1 - p))[:, None] * Phi) + lam * np.eye(len(b))
            gradient = Phi.T @ (weight * (label - p)) - lam * b
            step = precision.solve(gram, lam, problem.logistic, JitterCount()).solutions[t].mu_n
            close(step, b + np.linalg.solve(H, gradient), 1e-6, 1e-8)


def test_a_chain_starts_near_the_mode_of_its_weights():
    for seed in range(20):
        problem = some_problem(seed, N=40)
        lam = problem.state.lam
        beta = sweep.near_mode(problem.engine(7), problem.model, problem.state, None)
        for t, (rows, label, weight) in enumerate(problem.tasks()):
            b, _ = mode(problem.features()[rows].T, np.zeros(len(rows)), label, lam, weight)

            Phi = problem.features()[rows]

            def height(b, label=label, weight=weight, lam=lam, Phi=Phi):
                f = Phi @ b
                return weight @ log_sigmoid(np.where(label > 0, f, -f)) - 0.5 * lam * b @ b

            assert height(b) - height(beta[t]) < 1.0


@pytest.mark.parametrize("classes", [3, HALVES])
def test_the_start_s_target_is_the_first_class_standardised(classes):
    y, weight = np.array([0.0, 1, 2, 0, 1]), np.array([1.0, 2, 1, 3, 1])
    target = Logistic(classes).start_target(y, weight)
    close(np.average(target, weights=weight), 0, 0, 1e-14)
    close(np.average(target**2, weights=weight), 1, 1e-12)
    assert np.all((target > 0) == (y == 0))


@pytest.mark.parametrize("x", [0.0, 3.0, -800.0, 800.0])
def test_log_sigmoid_is_finite_where_the_sigmoid_is_not(x):
    close(log_sigmoid(np.array([x]))[0], min(x, 0) - np.log1p(np.exp(-abs(x))), 1e-14)


@pytest.mark.parametrize("f", [50.0, -700.0, 1e5])
def test_extreme_latent_values_give_usable_weights(f):
    block = Block(np.zeros((50, 1)), np.zeros(50), None, 0)
    working = Logistic(2).working(np.array([[f]]), Streams(0), 1)
    (work,) = working(block, lambda beta: np.full((1, 50), beta))
    close(work.A, 0.5 / abs(f), 0.5)
