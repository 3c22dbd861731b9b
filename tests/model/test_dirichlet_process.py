"""The Chinese restaurant process as a law of partitions."""

import numpy as np
import pytest
from scipy.stats import beta, chisquare, gamma, kstest

from banklearn.model.dirichlet_process import draw_crp, draw_shares, log_crp, log_gamma_prior
from helpers import FALSE_ALARM, close


def partitions(n):
    """All partitions of n items as labels in order of appearance."""
    if n == 1:
        yield (0,)
        return
    for head in partitions(n - 1):
        for label in range(max(head) + 2):
            yield (*head, label)


def test_there_are_fifty_two_partitions_of_five():
    assert len(set(partitions(5))) == 52


@pytest.mark.parametrize("alpha", [1e-3, 0.3, 1.0, 7.5])
def test_probabilities_of_all_partitions_sum_to_one(alpha):
    total = sum(np.exp(log_crp(np.array(Z), alpha)) for Z in partitions(5))
    close(total, 1.0, 1e-12)


@pytest.mark.parametrize("alpha", [0.3, 2.0])
def test_it_is_the_product_of_the_seating_probabilities(alpha):
    for Z in partitions(5):
        counts, log_p = [], 0.0
        for k in Z:
            if k == len(counts):
                counts.append(0)
                log_p += np.log(alpha)
            else:
                log_p += np.log(counts[k])
            log_p -= np.log(sum(counts) + alpha)
            counts[k] += 1
        close(log_crp(np.array(Z), alpha), log_p, 1e-12, 1e-12)


def test_neither_order_nor_labels_nor_gaps_matter():
    rng = np.random.default_rng(0)
    Z = np.array([0, 0, 1, 2, 1, 0, 3])
    for _ in range(20):
        labels = rng.permutation(9)
        assert log_crp(labels[rng.permutation(Z)], 0.7) == pytest.approx(log_crp(Z, 0.7))
    assert log_crp(np.array([0, 1, 1, 1, 1, 0, 3]), 0.7) != pytest.approx(log_crp(Z, 0.7))


@pytest.mark.parametrize("alpha", [0.4, 1.5])
def test_draws_follow_the_law(alpha):
    rng = np.random.default_rng(1)
    n = 20_000
    seen = {}
    for _ in range(n):
        Z = tuple(draw_crp(4, alpha, rng).tolist())
        seen[Z] = seen.get(Z, 0) + 1
    cells = list(partitions(4))
    assert set(seen) <= set(cells)
    expected = np.array([n * np.exp(log_crp(np.array(Z), alpha)) for Z in cells])
    observed = np.array([seen.get(Z, 0) for Z in cells])
    assert chisquare(observed, expected).pvalue > FALSE_ALARM
    wrong = np.array([n * np.exp(log_crp(np.array(Z), 1.2 * alpha)) for Z in cells])
    assert chisquare(observed, wrong).pvalue < FALSE_ALARM


def test_gamma_prior_is_that_of_scipy():
    for shape, rate, x in [(1.0, 1.0, 0.5), (2.5, 0.3, 4.0), (0.4, 7.0, 1e-3)]:
        close(log_gamma_prior(x, shape, rate), gamma.logpdf(x, shape, scale=1 / rate), 1e-12)


def test_shares_are_a_draw_from_dirichlet_s_law():
    m, alpha, rng = np.array([3.0, 1.0, 6.0]), 0.7, np.random.default_rng(0)
    drawn = np.stack([draw_shares(m, alpha, rng) for _ in range(2000)])
    close(drawn.sum(axis=1), np.ones(2000), 1e-12)
    for share, a in zip(drawn.T, (*m, alpha), strict=True):
        assert kstest(share, beta(a, m.sum() + alpha - a).cdf).pvalue > FALSE_ALARM
