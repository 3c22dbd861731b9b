"""A whole sweep of a classifier, both samplers: the path it takes, the law it keeps."""

import numpy as np
import pytest

from banklearn.gram import Frozen
from banklearn.model.features import TRENDS
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Purpose, Streams
from banklearn.sampler import joint_move, precision, sweep
from banklearn.sampler.frequencies import Moves, propose
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.sweep import Chain, Tuning
from banklearn.sampler.target import Target
from helpers import FALSE_ALARM, close
from joint_law import SAMPLERS, draw_from_model, smallest_p, sweep_from_model
from labels import gram_of, one_block, plain_rescale
from trees import log_likelihood, make_classes, see_trees


def at(problem):
    """A chain at the problem's own weights."""
    return Chain(problem.state, None, None, problem.beta)


def dense_log_evidence(problem, works, W, lam):
    """log of p(t | w, W, lam), up to what W and lam do not touch, in N dimensions."""
    total = 0.0
    for work, (rows, _, _) in zip(works, problem.tasks(), strict=True):
        Phi, w = problem.features(W)[rows], work.A
        C = np.diag(1 / w) + Phi @ Phi.T / lam
        target = work.At / w
        total -= 0.5 * (np.linalg.slogdet(C)[1] + target @ np.linalg.solve(C, target))
    return float(total)


@pytest.mark.parametrize("trend", TRENDS)
@pytest.mark.parametrize(("C", "M"), [(2, 1), (2, 20), (3, 20), (4, 5), (5, 5)])
def test_one_pass_takes_the_path_of_recomputing_every_evidence(C, M, trend, monkeypatch):
    see_trees(monkeypatch)
    both = np.zeros(2, dtype=int)
    for seed in range(3):
        problem = make_classes(seed, N=25, M=M, C=C, trend=trend, weighted=seed == 1)
        streams, tuning = Streams(seed), Tuning(Moves(jump=0.3))
        engine = problem.engine()
        chain, info = sweep.step(at(problem), engine, problem.model, tuning, streams, 1)
        # The same numbers, decided one after another from the data.
        works = one_block(problem, problem.logistic.working(problem.beta, streams, 1))
        rng = streams.at(Purpose.PROPOSALS, 1)
        W_star = propose(problem.state, tuning.moves.draw_rho(M, rng), rng)
        log_u = np.log(streams.at(Purpose.ACCEPT, 1).random(M))
        W, lam = problem.state.W.copy(), problem.state.lam
        for j in range(M):
            candidate = W.copy()
            candidate[j] = W_star[j]
            change = dense_log_evidence(problem, works, candidate, lam)
            change -= dense_log_evidence(problem, works, W, lam)
            both += (log_u[j] < change, log_u[j] >= change)
            W = candidate if log_u[j] < change else W
        np.testing.assert_array_equal(chain.state.W, W)
        close(info.log_likelihood, log_likelihood(problem), 1e-9)
        # lam, with the same weights w.
        rng = streams.at(Purpose.PRECISION, 1)
        proposal = lam * np.exp(tuning.lam_step * rng.standard_normal())
        change = dense_log_evidence(problem, works, W, proposal)
        change -= dense_log_evidence(problem, works, W, lam)
        change += problem.prior.log_lam(proposal) - problem.prior.log_lam(lam)
        lam = proposal if np.log(rng.random()) < change else lam
        close(chain.solved.lam, lam, 1e-12)
        # What is left behind belongs to the new frequencies and the same w.
        rng, beta = streams.at(Purpose.WEIGHTS, 1), []
        for t, (work, (rows, _, _)) in enumerate(zip(works, problem.tasks(), strict=True)):
            Phi = problem.features(W)[rows]
            close(chain.gram.G[t], Phi.T @ (work.A[:, None] * Phi), 1e-9, 1e-10)
            A = chain.gram.G[t] + lam * np.eye(Phi.shape[1])
            mean = np.linalg.solve(A, Phi.T @ work.At)
            close(chain.solved.solutions[t].mu_n, mean, 1e-6, 1e-8)
            xi = rng.standard_normal(len(A))
            beta.append(mean + np.linalg.solve(np.linalg.cholesky(A).T, xi))
        # The weights are drawn, then they and lam are rescaled with w integrated out.
        rng = streams.at(Purpose.RESCALE, 1)
        lam, moved = plain_rescale(problem, W, np.stack(beta), lam, rng)
        close(chain.state.lam, lam, 1e-10)
        close(chain.beta, moved, 1e-6, 1e-8)
    if M == 20:
        assert both.min() > 0


@pytest.mark.parametrize("C", [2, 3, 5])
def test_the_sweep_does_not_depend_on_blocks_of_cells(C):
    problem = make_classes(1, N=9000, M=4, C=C, trend="linear")
    chains = []
    for block_rows in (4096, 8192):
        engine = problem.engine(block_rows)
        chain = at(problem)
        for i in range(1, 4):
            chain, _ = sweep.step(chain, engine, problem.model, Tuning(), Streams(0), i)
        chains.append(chain)
    close(chains[0].state.W, chains[1].state.W, 1e-7)
    close(chains[0].beta, chains[1].beta, 1e-5, 1e-6)


@pytest.mark.parametrize("kernel", [sweep, joint_move], ids=["polya-gamma", "laplace-mh"])
def test_the_same_seed_gives_the_same_bits(kernel):
    problem = make_classes(2, N=50, M=6, C=3, trend="constant")

    def run(seed):
        engine, streams = problem.engine(), Streams(seed)
        chain = kernel.init(engine, problem.model, problem.state, streams)
        for i in range(1, 6):
            chain, _ = kernel.step(chain, engine, problem.model, Tuning(), streams, i)
        return chain

    one, same, other = run(0), run(0), run(1)
    np.testing.assert_array_equal(one.state.W, same.state.W)
    np.testing.assert_array_equal(one.beta, same.beta)
    assert not np.array_equal(one.beta, other.beta)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trend", ["none", "linear"])
@pytest.mark.parametrize("C", [2, 3, 5])
def test_the_gradient_is_that_of_the_augmented_evidence(C, trend, weighted):
    for seed in range(3):
        problem = make_classes(seed, N=20, M=4, C=C, trend=trend, weighted=weighted)
        working = Frozen(problem.logistic.working(problem.beta, Streams(seed), 1))
        engine = problem.engine(7)
        gram = gram_of(problem, working, block_rows=7)
        target = Target(
            engine,
            problem.logistic,
            trend,
            problem.model.prior,
            problem.state,
            working,
            JitterCount(),
        )
        W = problem.state.W
        place = target.at(W)
        close(place.gram.G, gram.G, 1e-10, 1e-12)  # the frozen weights, again
        slope, numeric = target.sloping(place).slope, np.empty_like(W)
        for index in np.ndindex(*W.shape):
            step = np.zeros_like(W)
            step[index] = 1e-5
            up, down = target.at(W + step).solved, target.at(W - step).solved
            numeric[index] = (up.log_evidence - down.log_evidence) / 2e-5
        close(slope, numeric, 1e-5, 1e-5 * np.abs(slope).max())


def test_a_gradient_move_uses_the_weights_of_its_sweep():
    problem = make_classes(0, N=30, M=5, C=3, trend="constant")
    engine, streams = problem.engine(), Streams(0)
    tuning = Tuning(gradient_every=1, gradient=GradientTuning(0.6, 4))
    chain, info = sweep.step(at(problem), engine, problem.model, tuning, streams, 1)
    works = one_block(problem, problem.logistic.working(problem.beta, streams, 1))
    assert 0 < info.gradient_acceptance <= 1
    for t, (work, (rows, _, _)) in enumerate(zip(works, problem.tasks(), strict=True)):
        Phi = problem.features(chain.state.W)[rows]
        close(chain.gram.G[t], Phi.T @ (work.A[:, None] * Phi), 1e-8, 1e-10)
    solved = precision.solve(chain.gram, chain.solved.lam, problem.logistic, JitterCount())
    close(chain.solved.log_evidence, solved.log_evidence, 1e-9)


# Draw everything from the model, then sweep: state, weights and labels must still follow the
# model (Geweke, 2004). The long version is in tests/statistical.
@pytest.fixture(scope="module")
def forward():
    cache = {}

    def get(C):
        if C not in cache:
            cache[C] = [draw_from_model(C, np.random.default_rng([7, i])) for i in range(3000)]
        return cache[C]

    return get


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("name", SAMPLERS)
def test_sweeps_keep_the_law_of_the_model(name, C, forward):
    swept = sweep_from_model(500, C, *SAMPLERS[name], sweeps=2, seed=1)
    least, p = smallest_p(swept, forward(C))
    assert least > FALSE_ALARM, p


def test_weights_that_are_never_drawn_again_are_found(forward, monkeypatch):
    # beta left at its conditional mean: the mistake of a sampler that stops half way.
    monkeypatch.setattr(
        "banklearn.likelihoods.logistic.Logistic.draw_weights",
        lambda self, gram, solutions, rng: np.stack([s.mu_n for s in solutions]),
    )
    swept = sweep_from_model(500, 2, *SAMPLERS["polya-gamma"], sweeps=2, seed=1)
    assert smallest_p(swept, forward(2))[0] < FALSE_ALARM


def test_a_forgotten_proposal_density_is_found(forward, monkeypatch):
    real = joint_move.laplace_end

    def careless(*args):
        end = real(*args)
        return joint_move.Candidate(end.b, end.log_target, 0.0)

    monkeypatch.setattr(joint_move, "laplace_end", careless)
    swept = sweep_from_model(500, 2, *SAMPLERS["laplace-mh"], sweeps=2, seed=1)
    assert smallest_p(swept, forward(2))[0] < FALSE_ALARM
