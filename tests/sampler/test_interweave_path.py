"""Exact: a sweep with switches and interweaving decides as if every evidence were computed anew."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Purpose, Streams
from banklearn.sampler import interweave, precision, sweep, switch
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.interweave import KINDS, InterweaveTuning
from banklearn.sampler.sweep import Chain, Model, Tuning
from helpers import close, dense_log_evidence, make_problem, plain_features
from labels import one_block
from trees import make_classes

TUNING = Tuning(
    Moves(jump=0.6, switch=0.6),
    lam_step=0.0,
    interweave_every=1,
    interweave=InterweaveTuning((0.3, 0.3, 1.0)),
)


@dataclass
class Case:
    problem: Any
    model: Model
    chain: Chain
    evidence: Any


def regression(seed: int, streams: Streams) -> Case:
    p = make_problem(seed, N=25, M=8, trend="constant")
    model = Model(p.prior, p.gaussian, p.trend)

    def evidence(W):
        Phi = plain_features(p.X, W, p.trend)
        return dense_log_evidence(Phi, p.y, p.state.lam, p.prior.a0, p.prior.b0)

    return Case(p, model, sweep.init(p.engine(), model, p.state, streams), evidence)


def classes(seed: int, streams: Streams, C: int) -> Case:
    """Given its Polya-Gamma weights the model is Gaussian with known noise."""
    p = make_classes(seed, N=25, M=8, C=C, trend="constant")
    works = one_block(p, p.logistic.working(p.beta, streams, 1))

    def evidence(W):
        total = 0.0
        for work, (rows, _, _) in zip(works, p.tasks(), strict=True):
            Phi, t = p.features(W)[rows], work.At / work.A
            covariance = np.diag(1 / work.A) + Phi @ Phi.T / p.state.lam
            total -= 0.5 * np.linalg.slogdet(covariance)[1]
            total -= 0.5 * t @ np.linalg.solve(covariance, t)
        return total

    return Case(p, p.model, Chain(p.state, None, None, p.beta), evidence)


def replay(case: Case, streams: Streams) -> tuple[Any, list[bool]]:
    """The state after one sweep's frequency moves, and the decisions on the walks."""
    state, evidence, prior = case.problem.state, case.evidence, case.problem.prior
    offered = switch.offer(state, prior, TUNING.moves, streams.at(Purpose.PROPOSALS, 1))
    log_u = np.log(streams.at(Purpose.ACCEPT, 1).random(state.M))
    W, accepted = state.W.copy(), np.zeros(state.M, dtype=bool)
    for j in range(state.M):
        candidate = W.copy()
        candidate[j] = offered.W[j]
        if log_u[j] < evidence(candidate) - evidence(W):
            W, accepted[j] = candidate, True
    state, decisions = offered.taken(state, accepted), []
    for i, kind in enumerate(KINDS):
        rng = streams.at(Purpose.INTERWEAVE, 1, block=i)
        proposed = interweave.propose(kind, state, TUNING.interweave.steps[i], prior, rng)
        if proposed is None:
            continue
        new, log_ratio = proposed
        yes = np.log(rng.random()) < log_ratio + evidence(new.W) - evidence(state.W)
        decisions.append(bool(yes))
        state = new if yes else state
    return state, decisions


@pytest.mark.parametrize("C", [0, 2, 3, 5])
def test_decisions_are_those_of_evidences_computed_anew(C, monkeypatch):
    monkeypatch.setattr(sweep, "update_mixture", lambda state, *rest: state)
    decisions: list[bool] = []
    for number in range(25):
        streams = Streams(number)
        case = classes(number, streams, C) if C else regression(number, streams)
        chain, _ = sweep.step(case.chain, case.problem.engine(), case.model, TUNING, streams, 1)
        state, some = replay(case, streams)
        decisions += some
        close(chain.state.W, state.W, 1e-10)
        close(chain.state.Sigma, state.Sigma, 1e-10)
        np.testing.assert_array_equal(chain.state.Z, state.Z)
        fresh = precision.solve(chain.gram, state.lam, case.model.likelihood, JitterCount())
        close(chain.solved.log_evidence, fresh.log_evidence, 1e-9)
    assert 5 < sum(decisions) < len(decisions) - 5


def test_a_walk_that_was_dropped_leaves_the_others():
    streams = Streams(0)
    case = regression(0, streams)
    without = replace(TUNING, interweave=InterweaveTuning((0.0, 0.3, 1.0)))
    engine = case.problem.engine()
    _, info = sweep.step(case.chain, engine, case.model, without, streams, 1)
    assert np.isnan(info.interweave_acceptance[0])
    assert np.isfinite(info.interweave_acceptance[1])
