"""The normal bound of the logistic likelihood lies below it, and touches where it should."""

import numpy as np
import pytest
from scipy.special import log_expit

from banklearn.engines import MemoryEngine
from banklearn.gram import GramSum
from banklearn.likelihoods.bound import curvature, log_bound, touching
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.features import feature_rows
from banklearn.model.laplace import laplace_log_evidence
from banklearn.numerics.linalg import JitterCount
from banklearn.sampler import precision
from helpers import close
from trees import HALVES, ONE_ALONE, log_path


def bound_at(f, label, xi):
    a = curvature(xi)
    rest = log_expit(xi) - 0.5 * xi + 0.5 * a * xi**2
    return rest + (label - 0.5) * f - 0.5 * a * f**2


def test_the_bound_lies_below_and_touches():
    f = np.linspace(-8.0, 8.0, 401)
    for xi in (1e-9, 0.3, 2.0, 7.0):
        for label in (0.0, 1.0):
            exact = log_expit(f if label else -f)
            below = bound_at(f, label, np.full_like(f, xi))
            assert (below <= exact + 1e-12).all()
            at = np.array([-xi, xi])
            touch = bound_at(at, label, np.full(2, xi))
            close(touch, log_expit(at if label else -at), 1e-10, 1e-12)


def test_the_curvature_has_no_gap_at_zero():
    xi = np.array([0.0, 5e-5, 1e-4, 1.1e-4])
    close(curvature(xi), [0.25, *(np.tanh(0.5 * x) / (2 * x) for x in xi[1:])], 1e-9)


def problem(seed, n=80, M=3):
    rng = np.random.default_rng(seed)
    X, W = rng.standard_normal((n, 2)), rng.standard_normal((M, 2))
    y = (np.sin(2 * X[:, 0]) + 0.5 * rng.standard_normal(n) > 0).astype(float)
    return X, W, y


def log_evidence_of_bound(X, W, y, weight, mean, roots, lam, classes=2):
    """The bound, and the weights that it gives."""
    likelihood = Logistic(classes)
    working = touching(likelihood.tree, mean, roots)
    gram = MemoryEngine(X, y, weight, block_rows=32).sum(
        GramSum(W, "constant", working, likelihood.tasks)
    )
    solved = precision.solve(gram, lam, likelihood, JitterCount())
    roots = [np.linalg.inv(s.L).T for s in solved.solutions]
    mean = np.stack([s.mu_n for s in solved.solutions])
    return log_bound(likelihood, gram, solved.log_evidence), mean, roots


def test_the_bound_of_the_evidence_climbs_to_just_below_it(seed):
    X, W, y = problem(seed)
    lam, P = 0.5, 7
    mean, roots = np.zeros((1, P)), [np.eye(P)]
    heights = []
    for _ in range(30):
        height, mean, roots = log_evidence_of_bound(X, W, y, None, mean, roots, lam)
        heights.append(height)
    assert (np.diff(heights) > -1e-9).all()
    assert heights[-1] > heights[0] + 0.1
    Phi = feature_rows(X, W, "constant")
    # y = 0 is the first class of the stick: the weights have the other sign, which changes nothing.
    laplace = laplace_log_evidence(Phi, y, lam)
    # By sampling the prior, which needs no approximation.
    rng = np.random.default_rng(1)
    f = (rng.standard_normal((40_000, P)) / np.sqrt(lam)) @ Phi
    log_p = log_expit(np.where(y > 0, f, -f)).sum(axis=1)
    exact = np.logaddexp.reduce(log_p) - np.log(len(log_p))
    assert heights[-1] < exact + 0.1  # the sample's error
    assert heights[-1] > exact - 1.5
    assert abs(laplace - exact) < 1.0


@pytest.mark.parametrize("classes", [3, HALVES, ONE_ALONE], ids=["stick", "halves", "one alone"])
def test_a_weight_counts_rows_and_every_class_is_seen(seed, classes):
    X, W, y = problem(seed)
    y = y + (X[:, 1] > 0.5)  # three classes
    if classes != 3:
        y = y + 2.0 * (X[:, 0] + X[:, 1] > 0.8)  # five
    T = Logistic(classes).tasks
    weight = np.random.default_rng(seed).integers(1, 4, len(y)).astype(float)
    again = np.repeat(np.arange(len(y)), weight.astype(int))
    mean, roots = np.zeros((T, 7)), [np.eye(7)] * T
    one = log_evidence_of_bound(X, W, y, weight, mean, roots, 0.5, classes)
    other = log_evidence_of_bound(X[again], W, y[again], None, mean, roots, 0.5, classes)
    close(one[0], other[0], 1e-9)
    close(one[1], other[1], 1e-8, 1e-10)
    # Where the weights are known the bound is the likelihood.
    sure = [np.zeros((7, 1))] * T
    beta = 0.3 * np.random.default_rng(seed).standard_normal((T, 7))
    f = beta @ feature_rows(X, W, "constant")
    log_p = log_path(Logistic(classes).tree, f)[y.astype(int), range(len(y))]
    gram = MemoryEngine(X, y, weight).sum(
        GramSum(W, "constant", touching(Logistic(classes).tree, beta, sure), T)
    )
    quadratic = np.einsum("tp,tpq,tq->", beta, gram.G, beta)
    close(gram.tt.sum() + (gram.r * beta).sum() - 0.5 * quadratic, weight @ log_p, 1e-9)


def test_no_other_touching_point_gives_a_higher_bound(seed):
    """At the weights' own law; at their mean alone, or for a wider law, it is lower."""
    X, W, y = problem(seed)
    mean, roots = np.zeros((1, 7)), [np.eye(7)]
    for _ in range(40):
        best, mean, roots = log_evidence_of_bound(X, W, y, None, mean, roots, 0.5)
    for factor in (0.0, 0.5, 2.0):
        other = [factor * root for root in roots]
        assert log_evidence_of_bound(X, W, y, None, mean, other, 0.5)[0] < best - 1e-3
