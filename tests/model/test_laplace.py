"""Laplace's approximations of the logistic likelihood, against optimisers and quadrature."""

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.optimize import approx_fprime, minimize
from scipy.stats import kstest, multivariate_normal, norm

from banklearn.model.laplace import (
    laplace_law,
    laplace_log_evidence,
    log_joint_conditional,
    log_likelihood,
    log_normal_precision,
    mode,
    newton_decrement,
)
from banklearn.numerics import _compiled
from banklearn.sampler.joint_move import Task, laplace_end
from helpers import FALSE_ALARM, HUNDRED, close


def make(seed, n=30, k=2, weighted=None):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((k, n))
    offset = rng.standard_normal(n)
    y = (rng.random(n) < 1 / (1 + np.exp(-offset - columns[0]))).astype(float)
    weighted = seed % 2 == 1 if weighted is None else weighted
    weight = rng.uniform(0.2, 3.0, n) if weighted else None
    return columns, offset, y, float(rng.uniform(0.05, 2.0)), weight


def height(b, columns, offset, y, lam, weight):
    """The log density whose mode is looked for, row by row."""
    f = offset + b @ columns
    w = np.ones(len(y)) if weight is None else weight
    p = 1 / (1 + np.exp(-f))
    return np.sum(w * np.log(np.where(y > 0, p, 1 - p))) - 0.5 * lam * b @ b


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_mode_is_the_optimiser_s(k):
    for seed in range(20):
        problem = make(seed, k=k)
        b, H = mode(*problem)
        found = minimize(lambda x, p=problem: -height(x, *p), np.zeros(k), tol=1e-12)
        close(b, found.x, 0, 1e-6)
        assert height(b, *problem) >= height(found.x, *problem) - 1e-12
        step = 1e-4 * np.eye(k)
        numeric = np.array(
            [
                [
                    -sum(
                        s * u * height(b + s * e + u * g, *problem)
                        for s in (-1, 1)
                        for u in (-1, 1)
                    )
                    / 4e-8
                    for g in step
                ]
                for e in step
            ]
        )
        close(H, numeric, 1e-4, 1e-4)


def test_the_compiled_pair_is_the_likelihood_with_its_derivatives():
    for seed in range(20):
        columns, offset, y, _, weight = make(seed)
        w = np.ones(len(y)) if weight is None else weight
        b = np.random.default_rng(seed).standard_normal(2)
        value, *rest = _compiled.logistic_pair(*columns, offset, y, w, *b)

        def f(b, columns=columns, offset=offset, y=y, w=w):
            return log_likelihood(offset + b @ columns, y, w)

        close(value, f(b), 1e-12)
        close(value, height(b, columns, offset, y, 0.0, w), 1e-9)
        close(rest[:2], approx_fprime(b, f, 1e-6), 1e-4, 1e-4)
        p = 1 / (1 + np.exp(-(offset + b @ columns)))
        H = (columns * (w * p * (1 - p))) @ columns.T
        close(rest[2:], [H[0, 0], H[0, 1], H[1, 1]], 1e-10)


def test_the_compiled_mode_is_the_plain_one():
    for seed in HUNDRED:
        columns, offset, y, lam, weight = make(seed)
        w = np.ones(len(y)) if weight is None else weight
        b0, b1, h00, h01, h11 = _compiled.laplace_pair(*columns, offset, y, w, lam)
        b, H = laplace_law(columns, offset, y, lam, weight)
        # In standard deviations of the law.
        assert np.linalg.norm(np.linalg.cholesky(H).T @ (np.array([b0, b1]) - b)) < 2e-5
        close([h00, h01, h11], [H[0, 0], H[0, 1], H[1, 1]], 1e-4, 1e-5)
        if weight is None:
            assert newton_decrement(columns, np.array([b0, b1]), offset, y, lam) < 2e-5
            assert newton_decrement(columns, b, offset, y, lam) < 1e-6


@pytest.mark.parametrize("case", ["separable", "huge offsets", "tiny lam", "one row", "no rows"])
def test_the_compiled_mode_survives_hard_cases(case):
    columns, offset, y, lam, _ = make(0, n=40)
    if case == "separable":
        y, offset = (columns[0] > 0).astype(float), 0 * offset
    if case == "huge offsets":
        offset = 500.0 * offset
    if case == "tiny lam":
        lam, y = 1e-8, (columns[0] > 0).astype(float)
    n = {"one row": 1, "no rows": 0}.get(case, 40)
    columns, offset, y = np.ascontiguousarray(columns[:, :n]), offset[:n], y[:n]
    b0, b1, h00, h01, h11 = _compiled.laplace_pair(*columns, offset, y, np.ones(n), lam)
    assert np.all(np.isfinite([b0, b1]))
    assert h00 * h11 > h01**2
    assert newton_decrement(columns, np.array([b0, b1]), offset, y, lam) < 1e-4


def test_the_proposal_is_a_density_in_two_dimensions():
    for seed in range(5):
        columns, offset, y, lam, weight = make(seed)
        w = np.ones(len(y)) if weight is None else weight
        task = Task(np.arange(len(y)), y, w)
        rng = np.random.default_rng(seed)
        centre, H = laplace_law(columns, offset, y, lam, weight)
        spread = np.sqrt(np.diag(np.linalg.inv(H)))
        grid = [np.linspace(c - 9 * s, c + 9 * s, 161) for c, s in zip(centre, spread, strict=True)]
        cell = np.prod([g[1] - g[0] for g in grid])
        total, target = 0.0, 0.0
        for x in grid[0]:
            for z in grid[1]:
                end = laplace_end(columns, offset, task, lam, np.array([x, z]), rng)
                total += np.exp(end.log_proposal) * cell
        close(total, 1.0, 1e-6)
        b = centre + 0.7 * spread
        end = laplace_end(columns, offset, task, lam, b, rng)
        close(end.log_target, log_joint_conditional(columns, b, offset, y, lam, weight), 1e-10)
        target = height(b, columns, offset, y, lam, weight) + np.log(lam / (2 * np.pi))
        close(end.log_target, target, 1e-9)
        close(end.log_proposal, log_normal_precision(b, centre, H), 0, 1e-4)


def test_proposed_weights_follow_the_density():
    columns, offset, y, lam, _ = make(2)
    task = Task(np.arange(len(y)), y, np.ones(len(y)))
    centre, H = laplace_law(columns, offset, y, lam)
    rng = np.random.default_rng(0)
    drawn = [laplace_end(columns, offset, task, lam, None, rng) for _ in range(3000)]
    white = np.array([np.linalg.cholesky(H).T @ (end.b - centre) for end in drawn])
    assert kstest(white.ravel(), norm.cdf).pvalue > FALSE_ALARM
    close(white.T @ white / 3000, np.eye(2), 0, 6 / np.sqrt(3000))
    law = multivariate_normal(centre, np.linalg.inv(H))
    close([end.log_proposal for end in drawn], law.logpdf([end.b for end in drawn]), 0, 1e-3)


def test_the_normal_density_by_its_precision():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        root = rng.standard_normal((3, 3))
        H, b, mean = root @ root.T + np.eye(3), rng.standard_normal(3), rng.standard_normal(3)
        close(
            log_normal_precision(b, mean, H),
            multivariate_normal.logpdf(b, mean, np.linalg.inv(H)),
            1e-9,
        )


def test_the_approximate_evidence_is_near_the_integral():
    for seed in range(4):
        columns, _, y, lam, weight = make(seed, n=60)
        none = np.zeros(60)

        def joint(b1, b0, columns=columns, y=y, lam=lam, weight=weight, none=none):
            b = np.array([b0, b1])
            return np.exp(log_joint_conditional(columns, b, none, y, lam, weight))

        b, H = mode(columns, none, y, lam, weight)
        s = 8 / np.sqrt(np.linalg.eigvalsh(H)[0])
        value, _ = dblquad(joint, b[0] - s, b[0] + s, b[1] - s, b[1] + s, epsabs=0, epsrel=1e-6)
        approximate = laplace_log_evidence(columns, y, lam, weight)
        close(approximate, np.log(value), 0, 0.1)
        # And it is the formula exactly: a normal integral through the peak.
        peak = np.log(joint(b[1], b[0])) + np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(H)[1]
        close(approximate, peak, 1e-10)


def test_the_likelihood_counts_weights_as_repetitions():
    _, f, y, _, _ = make(0)
    counts = np.random.default_rng(0).integers(1, 4, len(y))
    close(
        log_likelihood(f, y, counts.astype(float)),
        log_likelihood(f.repeat(counts), y.repeat(counts)),
        1e-12,
    )
    assert log_likelihood(np.array([800.0, -800.0]), np.array([1.0, 0.0])) == 0.0


@pytest.mark.parametrize("offset", [15.0, 30.0])
def test_steps_are_halved_where_the_curvature_misleads(offset):
    # Saturated labels: the curvature is nearly lam, and a full Newton step overshoots by far.
    columns, y, lam = np.ones((1, 8)), np.zeros(8), 1e-4
    b, _ = mode(columns, np.full(8, offset), y, lam)
    assert newton_decrement(columns, b, np.full(8, offset), y, lam) < 1e-6
    assert -60.0 < b[0] + offset < -1.0


def test_newton_does_not_look_for_gains_below_rounding(monkeypatch):
    # Sums over many rows round more than the last steps gain; steps were halved in vain there.
    calls = []
    one_pass = _compiled.logistic_pair

    def counted(*arguments):
        calls.append(1)
        return one_pass(*arguments)

    monkeypatch.setattr(_compiled, "logistic_pair", counted)
    most = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = 200_000
        angle, offset = rng.uniform(0, 6, n), 3 * rng.standard_normal(n)
        y = (rng.random(n) < 1 / (1 + np.exp(-offset))).astype(float)
        columns = 0.05 * np.cos(angle), 0.05 * np.sin(angle)
        calls.clear()
        _compiled.laplace_pair.py_func(*columns, offset, y, np.ones(n), 1e-3)
        most = max(most, len(calls))
    assert most <= 8


def test_the_decrement_is_the_way_to_the_mode_in_standard_deviations():
    """One weight on equal columns: gradient over the root of the curvature, by hand."""
    columns, y, lam = np.full((1, 5), 2.0), np.array([1.0, 1, 1, 1, 0]), 0.3
    b, offset = np.array([0.4]), np.full(5, -0.1)
    p = 1 / (1 + np.exp(-0.7))
    gradient = 2.0 * (4 - 5 * p) - 0.3 * 0.4
    curvature = 5 * 4.0 * p * (1 - p) + 0.3
    close(newton_decrement(columns, b, offset, y, lam), abs(gradient) / np.sqrt(curvature), 1e-12)
    # And in several dimensions the length of Newton's step in the norm of the Hessian.
    columns, offset, y, lam, _ = make(0, k=3)
    b = np.array([0.5, -1.0, 0.2])
    p = 1 / (1 + np.exp(-(offset + b @ columns)))
    gradient = columns @ (y - p) - lam * b
    H = (columns * p * (1 - p)) @ columns.T + lam * np.eye(3)
    found = newton_decrement(columns, b, offset, y, lam)
    close(found, np.sqrt(gradient @ np.linalg.solve(H, gradient)), 1e-10)


def test_without_a_step_there_is_the_prior():
    columns, offset, y, lam, weight = make(1)
    b, H = mode(columns, offset, y, lam, weight, steps=0)
    np.testing.assert_array_equal(b, np.zeros(2))
    np.testing.assert_array_equal(H, lam * np.eye(2))


def test_a_step_is_halved_until_it_climbs():
    """The first step by hand: saturated labels, where a full step overshoots by far."""
    columns, offset, y, lam = np.ones((1, 8)), np.full(8, 15.0), np.zeros(8), 1e-4
    p = 1 / (1 + np.exp(-15.0))
    step, size = -8 * p / (8 * p * (1 - p) + lam), 1.0

    def at(b):
        return -8 * np.logaddexp(0.0, 15.0 + b) - 0.5 * lam * b**2

    while at(size * step) < at(0.0):
        size /= 2
    assert size < 0.1
    b, _ = mode(columns, offset, y, lam, steps=1)
    close(b, [size * step], 1e-9)
