"""What a sweep reports: every field, for every kind of sweep, from the sweep made again plainly."""

from dataclasses import fields

import numpy as np
import pytest

from banklearn.engines.memory import MemoryEngine
from banklearn.gram import Frozen, GramSum
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Purpose, Streams
from banklearn.sampler import (
    assignments,
    components,
    concentration,
    gradient,
    halving,
    interweave,
    precision,
    scales,
    sweep,
    switch,
)
from banklearn.sampler.exchange import Exchanged
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.interweave import InterweaveTuning
from banklearn.sampler.schedule import Pace
from banklearn.sampler.sweep import Info, Model, Tuning
from banklearn.sampler.target import Target
from exchanges import exchanged
from helpers import close, dense_log_evidence, make_problem, plain_features
from labels import plain_rescale
from trees import log_likelihood, make_classes

#: Five frequencies and three columns of the trend: no two sums of their multiples are the same.
M, H = 5, 3
LOCAL = Moves(jump=0.0, rho_min=0.1)
SHARES = ("accepted_jumps", "accepted_local", "accepted_switches", "accepted_exchanges")
TUNINGS = {
    "in turn": Tuning(),
    "switches": Tuning(Moves(jump=0.9, switch=0.7)),
    "exchanges": Tuning(Moves(jump=0.9, exchange=1.0)),
    "at once": Tuning(LOCAL, scheme="at-once"),
    "gradient": Tuning(gradient_every=1, gradient=GradientTuning(0.6, 4)),
    "gradient at a pace": Tuning(pace=Pace(0.5, 0.5)),
    "interweaving": Tuning(interweave_every=1, interweave=InterweaveTuning((0.2, 0.2, 0.5))),
    "lam by long steps, not rescaled": Tuning(lam_step=2.0, rescale=False),
    "everything": Tuning(
        Moves(jump=0.5, switch=0.5),
        gradient_every=1,
        gradient=GradientTuning(0.6, 4),
        interweave_every=1,
    ),
}


class Counting(MemoryEngine):
    """An engine that remembers how often row weights were frozen."""

    frozen = 0

    def freeze(self, working, W, trend):
        self.frozen += 1
        return super().freeze(working, W, trend)


def make_case(C, seed):
    """(problem, model) of a regression, C = 0, or of C classes."""
    if C:
        problem = make_classes(seed, N=25, M=M, C=C, trend="linear")
        return problem, problem.model
    problem = make_problem(seed, N=25, M=M, trend="linear")
    return problem, Model(problem.prior, Gaussian(problem.prior.a0, problem.prior.b0), "linear")


class Plain:
    """The evidences of one sweep, each from the data."""

    def __init__(self, problem, model, chain, streams, i):
        self.problem, self.tasks = problem, model.likelihood.tasks
        self.fixed = model.likelihood.fixed_weights
        self.working = model.likelihood.working(chain.beta, streams, i)
        if not self.fixed:
            (block,) = problem.engine().blocks()
            Phi = problem.features(chain.state.W)
            self.works = self.working(block, lambda beta: beta @ Phi.T)
            self.working = Frozen(self.working)
            self.gram(chain.state.W)  # the weights belong to these frequencies

    def gram(self, W):
        return self.problem.engine().sum(GramSum(W, self.problem.trend, self.working, self.tasks))

    def evidence(self, W, lam):
        p = self.problem
        if self.fixed:
            Phi = plain_features(p.X, W, p.trend)
            return dense_log_evidence(Phi, p.y, lam, p.prior.a0, p.prior.b0)
        total = 0.0
        for work, (rows, _, _) in zip(self.works, p.tasks(), strict=True):
            Phi = p.features(W)[rows]
            A = Phi.T @ (work.A[:, None] * Phi) + lam * np.eye(H + 2 * M)
            r = Phi.T @ work.At
            total += 0.5 * (len(A) * np.log(lam) - np.linalg.slogdet(A)[1])
            total += 0.5 * r @ np.linalg.solve(A, r)
        return total


def share(flags):
    return sum(flags) / len(flags) if flags else float("nan")


def decide(plain, state, offered, log_u, at_once):
    W, lam = state.W.copy(), state.lam
    if at_once:
        yes = log_u[0] < plain.evidence(offered.W, lam) - plain.evidence(W, lam)
        return np.full(M, yes)
    accepted = np.zeros(M, dtype=bool)
    for j in range(M):
        candidate = W.copy()
        candidate[j] = offered.W[j]
        if log_u[j] < plain.evidence(candidate, lam) - plain.evidence(W, lam):
            W, accepted[j] = candidate, True
    return accepted


def expected_info(problem, model, chain, tuning, streams, i):
    """The report of a sweep, put together from the description of its parts."""
    state, prior, likelihood = chain.state, model.prior, model.likelihood
    plain = Plain(problem, model, chain, streams, i)
    engine, count = problem.engine(), JitterCount()
    found = {name: [] for name in SHARES}
    rng = streams.at(Purpose.ACCEPT, i)
    if tuning.moves.exchange:
        fresh = Moves(jump=1.0, switch=1.0)
        offered = switch.offer(state, prior, fresh, streams.at(Purpose.PROPOSALS, i))
        W = np.concatenate([state.W, offered.W])
        holds = exchanged(lambda held: plain.evidence(W[held], state.lam), M, rng)
        found["accepted_exchanges"] = [bool(held >= M) for held in holds]
        state = Exchanged(np.array(holds), 0.0, False).taken(state, offered)
    else:
        offered = switch.offer(state, prior, tuning.moves, streams.at(Purpose.PROPOSALS, i))
        log_u = np.log(rng.random(M))
        accepted = decide(plain, state, offered, log_u, tuning.scheme == "at-once")
        for j in range(M):
            name = "local" if offered.rho[j] < 1 else "jumps"
            if offered.Z[j] != state.Z[j]:
                name = "switches"
            found["accepted_" + name].append(bool(accepted[j]))
        state = offered.taken(state, accepted)
    values = {name: share(flags) for name, flags in found.items()}
    gram = plain.gram(state.W)
    solved = precision.solve(gram, state.lam, likelihood, count)

    values |= {"gradient_acceptance": float("nan"), "flown": None}
    if tuning.gradient_every or (tuning.pace and i == 2):
        target = Target(engine, likelihood, "linear", prior, state, plain.working, count)
        rng = streams.at(Purpose.GRADIENT, i)
        flown = gradient.update(state, gram, solved, target, tuning.gradient, rng)
        values |= {"gradient_acceptance": flown.probability, "flown": flown}
        if flown.place.W is not state.W:
            gram, solved, state = flown.place.gram, flown.place.solved, state.with_(W=flown.place.W)
            rng = streams.at(Purpose.COMPONENTS, i, block=1)
            state = components.update(state, prior, rng)
    values["interweave_acceptance"] = np.full(3, np.nan)
    if tuning.interweave_every:

        def evaluate(W):
            there = plain.gram(W)
            return there, precision.solve(there, state.lam, likelihood, count)

        state, gram, solved, values["interweave_acceptance"] = interweave.update(
            state, gram, solved, evaluate, tuning.interweave, prior, streams, i
        )
    rng = streams.at(Purpose.PRECISION, i)
    lam = state.lam * np.exp(tuning.lam_step * rng.standard_normal())
    log_ratio = plain.evidence(state.W, lam) - plain.evidence(state.W, state.lam)
    log_ratio += prior.log_lam(lam) - prior.log_lam(state.lam)
    values["lam_acceptance"] = min(np.exp(log_ratio), 1.0)
    if np.log(rng.random()) < log_ratio:
        state = state.with_(lam=lam)
    values["log_evidence"] = values["log_likelihood"] = plain.evidence(state.W, state.lam)
    if not plain.fixed:
        values["log_likelihood"] = log_likelihood(problem, chain.beta, chain.state.W)
        solved = precision.solve(gram, state.lam, likelihood, count)
        rng = streams.at(Purpose.WEIGHTS, i)
        beta = likelihood.draw_weights(gram, solved.solutions, rng)
        if tuning.rescale:
            rng = streams.at(Purpose.RESCALE, i)
            lam, beta = plain_rescale(problem, state.W, beta, state.lam, rng)
            state = state.with_(lam=float(lam))
    for part, purpose in (
        (assignments, Purpose.ASSIGNMENTS),
        (components, Purpose.COMPONENTS),
        (scales, Purpose.SCALES),
        (concentration, Purpose.CONCENTRATION),
    ):
        state = part.update(state, prior, streams.at(purpose, i))
    values |= {"K": state.K, "alpha": state.alpha, "lam": state.lam}
    return values | {"trouble": False, "jitter": count.times}, state


def compare(info, values):
    assert {field.name for field in fields(Info)} == set(values)
    for name, expected in values.items():
        seen = getattr(info, name)
        if name == "flown" and expected is not None:
            close(seen.place.W, expected.place.W, 1e-6, 1e-9)
            close(seen.seen.squares, expected.seen.squares, 1e-4, 1e-9)
            assert seen.probability == info.gradient_acceptance
        elif expected is None or name in ("K", "trouble", "jitter"):
            assert seen == expected, name
            assert type(seen) is type(expected), name
        else:
            np.testing.assert_allclose(seen, expected, rtol=1e-6, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("C", [0, 3])
@pytest.mark.parametrize("name", TUNINGS)
def test_every_field_is_what_it_says(name, C):
    tuning, shares = TUNINGS[name], []
    for seed in range(8):
        problem, model = make_case(C, seed)
        engine, streams = Counting(problem.X, problem.y), Streams(seed)
        chain = sweep.init(engine, model, problem.state, streams)
        for i in (1, 2):
            engine.frozen = 0
            values, state = expected_info(problem, model, chain, tuning, streams, i)
            chain, info = sweep.step(chain, engine, model, tuning, streams, i)
            compare(info, values)
            close(chain.state.W, state.W, 1e-8)
            # Row weights are kept only where a sweep sums with them more than once.
            moves = np.isfinite([info.gradient_acceptance, *info.interweave_acceptance])
            often = bool(C) and (tuning.interweave_every > 0 or bool(moves.any()))
            assert engine.frozen == often
            shares.append([getattr(info, name) for name in SHARES])
    # Every share is seen: unknown where there was no such proposal, and in between elsewhere.
    jumps, local, switches, exchanges = np.transpose(shares)
    own = tuning.moves.exchange == 0
    assert np.isfinite(jumps).any() == (own and tuning.moves.jump > 0)
    assert np.isfinite(local).any() == (own and tuning.moves.jump < 1)
    assert np.isfinite(switches).any() == (own and tuning.moves.switch > 0)
    assert np.isfinite(exchanges).all() == (not own)
    if not own:
        assert 0 < exchanges.sum() < len(exchanges)
    if tuning.scheme == "at-once":
        assert set(local) == {0.0, 1.0}


@pytest.mark.parametrize("C", [0, 3])
def test_a_sweep_in_which_a_factor_fails_says_so_and_goes_on(C, monkeypatch):
    problem, model = make_case(C, 0)
    engine, streams = problem.engine(), Streams(0)
    chain = sweep.init(engine, model, problem.state, streams)
    real = halving.cholesky_in_place

    def cholesky(A):
        if len(A) == 2 * M:  # the columns in use, after all decisions
            raise np.linalg.LinAlgError("not positive definite")
        return real(A)

    good, told = sweep.step(chain, engine, model, Tuning(), streams, 1)
    monkeypatch.setattr(halving, "cholesky_in_place", cholesky)
    after, info = sweep.step(chain, engine, model, Tuning(), streams, 1)
    assert (told.trouble, info.trouble) == (False, True)
    np.testing.assert_array_equal(after.state.W, good.state.W)
    close(info.log_evidence, told.log_evidence, 1e-9)
    assert (info.K, info.alpha) == (told.K, told.alpha)


@pytest.mark.parametrize("C", [0, 3])
def test_a_chain_begins_at_sweep_zero(C):
    problem, model = make_case(C, 1)
    engine, streams = problem.engine(), Streams(1)
    plain, at_zero, later = (
        sweep.init(engine, model, problem.state, streams, *number) for number in ((), (0,), (3,))
    )
    assert plain.solved.log_evidence == at_zero.solved.log_evidence
    if C:
        np.testing.assert_array_equal(plain.beta, at_zero.beta)
        assert not np.array_equal(plain.beta, later.beta)
    else:
        assert plain.beta is None
