"""Weights and lam rescaled together: the law of the factor, the lattice, the sum behind it."""

from dataclasses import replace

import array_api_strict
import numpy as np
import pytest
from scipy.stats import chisquare, kstest, norm

from banklearn.engines.chunked import ChunkedEngine
from banklearn.engines.dask import add_up, partial_sum
from banklearn.engines.device import DeviceEngine
from banklearn.engines.host import HostOps
from banklearn.engines.memory import MemoryEngine
from banklearn.engines.pieces import Piece
from banklearn.gram import BLOCK_ROWS
from banklearn.likelihoods.base import Augmented
from banklearn.model.features import TRENDS
from banklearn.numerics.streams import Streams
from banklearn.posterior.diagnostics import standard_error
from banklearn.posterior.draws import classification_draw
from banklearn.sampler import rescale, sweep
from banklearn.sampler.rescale import POINTS, SPACINGS, LikelihoodSum, draw_lattice, log_law
from banklearn.sampler.sweep import Chain, Model, Tuning
from helpers import FALSE_ALARM, HUNDRED, close, make_problem
from labels import log_joint_along, make_labelled, plain_rescale
from trees import log_likelihood, make_classes, see_trees


def summed(problem, engine, log_c):
    return engine.sum(
        LikelihoodSum(problem.state.W, problem.trend, problem.beta, problem.logistic, np.exp(log_c))
    )


def updated(problem, rng, engine=None, state=None, beta=None):
    return rescale.update(
        problem.state if state is None else state,
        problem.beta if beta is None else beta,
        engine or problem.engine(),
        problem.logistic,
        problem.trend,
        problem.prior,
        rng,
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trend", TRENDS)
@pytest.mark.parametrize("C", [2, 3, 5])
def test_the_law_is_the_joint_density_along_the_orbit(C, trend, weighted, monkeypatch):
    see_trees(monkeypatch)
    for seed in HUNDRED:
        problem = make_classes(seed, N=12, M=3, C=C, trend=trend, weighted=weighted)
        log_c = np.random.default_rng(seed).normal(0.0, 0.7, 5)
        law = log_law(
            log_c, summed(problem, problem.engine(), log_c), problem.state.lam, problem.prior
        )
        joint = np.array([log_joint_along(problem, v) for v in log_c])
        close(law - law[0], joint - joint[0], 1e-9, 1e-9)


@pytest.mark.parametrize("C", [2, 3, 5])
def test_an_update_takes_the_path_of_the_joint_density(C, monkeypatch):
    see_trees(monkeypatch)
    moves = 0
    for seed in HUNDRED:
        problem = make_classes(seed, M=3, C=C, trend="linear", weighted=seed % 4 > 1)
        state, beta = updated(problem, np.random.default_rng(seed))
        lam, moved = plain_rescale(
            problem, None, problem.beta, problem.state.lam, np.random.default_rng(seed)
        )
        close(state.lam, lam, 1e-12)
        close(beta, moved, 1e-12)
        np.testing.assert_array_equal(state.W, problem.state.W)
        moves += state.lam != problem.state.lam
    assert 50 < moves < 100


def test_every_point_of_a_lattice_offers_the_same_lattice():
    """Seen from any of its points a lattice is one that this point offers, each equally likely.

    The spacing does not depend on the place, and no place is likelier than another: the chance of
    a lattice is then the same from all of its points, and the choice among them is a Gibbs update.
    """
    rng = np.random.default_rng(0)
    places, spacings = [], []
    for _ in range(9000):
        log_c = draw_lattice(rng)
        (place,) = np.flatnonzero(log_c == 0.0)
        spacing = (log_c[-1] - log_c[0]) / (POINTS - 1)
        seen = log_c - log_c[:, None]
        close(seen, spacing * (np.arange(POINTS) - np.arange(POINTS)[:, None]), 1e-12, 1e-14)
        places.append(place)
        spacings.append(spacing)
    counts = np.bincount(places, minlength=POINTS)
    assert chisquare(counts).pvalue > FALSE_ALARM
    low, high = np.log(SPACINGS)
    shares = (np.log(spacings) - low) / (high - low)
    assert kstest(shares, "uniform").pvalue > FALSE_ALARM
    for place in range(POINTS):
        assert kstest(shares[np.array(places) == place], "uniform").pvalue > FALSE_ALARM


def engine_of(name, problem):
    X, y, weight = problem.X, problem.y, problem.weight
    if name == "memory":
        return MemoryEngine(X, y, weight, 1000)
    if name == "chunked":

        def read():
            for start in range(0, len(X), 999):
                part = slice(start, start + 999)
                yield Piece(X[part], y[part], None if weight is None else weight[part])

        return ChunkedEngine(read, len(X), X.shape[1], weight is not None)
    if name == "torch":
        from array_api_compat import torch as xp
    else:
        xp = array_api_strict
    return DeviceEngine(X, y, weight, xp=xp, block_rows=BLOCK_ROWS)


ENGINES = ["memory", "chunked", "strict", pytest.param("torch", marks=pytest.mark.torch)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("C", "trend"), [(2, "linear"), (3, "constant"), (5, "none")])
@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_sums_the_likelihood(name, C, trend, weighted):
    problem = make_classes(0, N=2 * BLOCK_ROWS + 700, C=C, trend=trend, weighted=weighted)
    log_c = np.array([-2.0, -0.3, 0.0, 0.1, 1.5])
    direct = [log_likelihood(problem, np.exp(v) * problem.beta) for v in log_c]
    close(summed(problem, engine_of(name, problem), log_c), direct, 1e-11)


def test_pieces_on_a_cluster_add_up():
    problem = make_labelled(1, N=2 * BLOCK_ROWS + 700, C=3, trend="constant", weighted=True)
    log_c = np.array([-0.2, 0.0, 0.4])
    statistic = LikelihoodSum(
        problem.state.W, problem.trend, problem.beta, problem.logistic, np.exp(log_c)
    )
    starts = range(0, len(problem.y), BLOCK_ROWS)
    parts = [slice(start, start + BLOCK_ROWS) for start in starts]
    sums = [
        partial_sum(Piece(problem.X[p], problem.y[p], problem.weight[p]), p.start, statistic)
        for p in parts
    ]
    close(
        statistic.finish(HostOps(), add_up(sums)),
        [log_likelihood(problem, np.exp(v) * problem.beta) for v in log_c],
        1e-11,
    )


def test_a_block_without_rows_of_a_task_adds_nothing_to_it():
    problem = make_labelled(0, N=40, C=3)
    problem = replace(problem, y=np.where(np.arange(40) < 30, 0.0, problem.y))
    log_c = np.array([0.0, 0.5])
    direct = [log_likelihood(problem, np.exp(v) * problem.beta) for v in log_c]
    close(summed(problem, problem.engine(10), log_c), direct, 1e-12)


@pytest.mark.parametrize("C", [2, 3])
def test_blocks_and_weights_make_no_difference(C):
    problem = make_labelled(3, N=60, C=C, trend="constant")
    times = np.random.default_rng(0).integers(0, 4, 60)
    twice = np.repeat(np.arange(60), times)
    weighted = replace(problem, weight=times.astype(float))
    repeated = replace(problem, X=problem.X[twice], y=problem.y[twice])
    for seed in range(20):
        ends = [
            updated(p, np.random.default_rng(seed), p.engine(rows))
            for p, rows in ((weighted, 4096), (weighted, 7), (repeated, 4096), (repeated, 13))
        ]
        assert len({state.lam for state, _ in ends}) == 1
        for _, beta in ends[1:]:
            np.testing.assert_array_equal(beta, ends[0][1])


def exact_law(problem):
    """A grid of log c and the distribution function of its law there, by quadrature."""
    grid = np.linspace(-4.0, 4.0, 4001)
    height = np.array([log_joint_along(problem, v) for v in grid])
    density = np.exp(height - height.max())
    assert max(density[0], density[-1]) < 1e-12
    area = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    return grid, area / area[-1]


@pytest.mark.parametrize("C", [2, 3])
def test_the_update_keeps_the_law_of_the_factor(C):
    """Factors drawn from their law by quadrature still follow it after some updates."""
    problem = make_labelled(5, N=10, M=2, C=C, trend="constant", weighted=True)
    grid, F = exact_law(problem)
    rng, ends = np.random.default_rng(1), []
    for v in np.interp(rng.random(1500), F, grid):
        state = problem.state.with_(lam=problem.state.lam * np.exp(-2 * v))
        beta = np.exp(v) * problem.beta
        for _ in range(4):
            state, beta = updated(problem, rng, state=state, beta=beta)
        ends.append(np.log(beta[0, 0] / problem.beta[0, 0]))
        close(np.log(problem.state.lam / state.lam), 2 * ends[-1], 1e-10, 1e-12)
    assert kstest(np.interp(ends, grid, F), "uniform").pvalue > FALSE_ALARM


def test_a_long_run_finds_the_law_of_the_factor():
    """From far away, against quadrature: the shares of its ten tenths."""
    problem = make_labelled(6, N=10, M=2, trend="constant")
    grid, F = exact_law(problem)
    rng, kept = np.random.default_rng(0), np.empty((4, 2500))
    for chain, start in zip(kept, (-3.0, -1.0, 1.0, 3.0), strict=True):
        state = problem.state.with_(lam=problem.state.lam * np.exp(-2 * start))
        beta = np.exp(start) * problem.beta
        for i in range(-200, len(chain)):
            state, beta = updated(problem, rng, state=state, beta=beta)
            if i >= 0:
                chain[i] = np.log(beta[0, 0] / problem.beta[0, 0])
    u = np.interp(kept, grid, F)
    limit = norm.isf(FALSE_ALARM / 2)
    for tenth in range(10):
        inside = ((u >= 0.1 * tenth) & (u < 0.1 * (tenth + 1))).astype(float)
        error = standard_error(inside)
        assert error < 0.02
        assert abs(inside.mean() - 0.1) < limit * error, tenth


@pytest.mark.parametrize("lam", [5e-324, 1e-300, 1e-30, 1e30, 1e300, 1.7e308])
def test_extreme_precisions_stay_numbers(lam):
    """Beside the largest and the smallest number too, where parts of a lattice are out of reach."""
    problem = make_labelled(0, C=3, trend="linear", weighted=True)
    state = problem.state.with_(lam=lam)
    for beta in (problem.beta / np.sqrt(lam), np.zeros_like(problem.beta)):
        for seed in range(30):
            end, moved = updated(problem, np.random.default_rng(seed), state=state, beta=beta)
            assert 0.0 < end.lam < np.inf
            assert np.isfinite(moved).all()


def test_what_cannot_be_computed_is_not_chosen():
    prior = make_labelled(0).prior
    log_c = np.array([-0.1, 0.0, 0.1, 0.2])
    law = log_law(log_c, np.array([np.nan, -3.0, -np.inf, np.inf]), 1.0, prior)
    np.testing.assert_array_equal(np.isfinite(law), [False, True, False, False])
    assert (law[[0, 2, 3]] == -np.inf).all()
    smallest = log_law(log_c, np.zeros(4), 5e-324, prior)
    largest = log_law(log_c, np.zeros(4), 1.7e308, prior)
    assert np.isfinite(smallest[:2]).all()
    assert largest[0] == -np.inf
    assert np.isfinite(largest[1:]).all()
    # Half of the smallest number is none, and is not asked for its density.
    nothing = log_law(np.array([0.0, 0.5, 2.0]), np.zeros(3), 5e-324, prior)
    np.testing.assert_array_equal(np.isfinite(nothing), [True, False, False])


def test_a_sweep_rescales_last_and_keeps_the_factors_of_its_own_lam():
    problem = make_labelled(2, N=40, M=5, C=3, trend="constant")
    start = Chain(problem.state, None, None, problem.beta)
    engine, streams, different = problem.engine(), Streams(0), 0
    for i in range(1, 6):
        on, _ = sweep.step(start, engine, problem.model, Tuning(), streams, i)
        off, _ = sweep.step(start, engine, problem.model, Tuning(rescale=False), streams, i)
        assert off.state.lam == off.solved.lam == on.solved.lam
        close(on.beta, off.beta * np.sqrt(off.state.lam / on.state.lam), 1e-12)
        np.testing.assert_array_equal(on.state.W, off.state.W)
        np.testing.assert_array_equal(on.state.psi, off.state.psi)
        different += on.state.lam != off.state.lam
        draw = classification_draw(on, problem.prior, 0, i, np.random.default_rng(0))
        G, r = on.gram.in_memory(), on.gram.r
        for t in range(2):
            A = G[t] + draw.lam * np.eye(len(r[t]))
            close(draw.mu_n[t], np.linalg.solve(A, r[t]), 1e-8, 1e-10)
    assert different >= 3


def test_regression_has_nothing_to_rescale():
    problem = make_problem(0, trend="constant")
    assert not isinstance(problem.gaussian, Augmented)
    assert isinstance(make_labelled(0).logistic, Augmented)
    model, engine, streams = Model(problem.prior, problem.gaussian), problem.engine(), Streams(0)
    chain = sweep.init(engine, model, problem.state, streams)
    ends = [
        sweep.step(chain, engine, model, Tuning(rescale=on), streams, 1)[0] for on in (True, False)
    ]
    assert ends[0].state.lam == ends[1].state.lam == ends[0].solved.lam
    np.testing.assert_array_equal(ends[0].state.W, ends[1].state.W)
