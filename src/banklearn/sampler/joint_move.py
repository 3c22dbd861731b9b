"""The paper's own classification sampler: (W_j, beta_j^cos, beta_j^sin) by Metropolis-Hastings.

The proposal is prior x Laplace: W_j* from its component, then the two weights from the normal
law at the mode of their conditional (eq. laplacej); the ratio has both directions' Laplace
densities. The linear predictor is carried as state. With C classes (see
:mod:`banklearn.likelihoods.logistic`) the move takes the two weights of every task together.

Same names as :mod:`.sweep`: Chain, init, step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.memory import MemoryEngine
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.class_tree import ClassTree
from banklearn.model.features import feature_rows, trend_columns
from banklearn.model.joint import State
from banklearn.model.laplace import log_likelihood
from banklearn.model.priors import Prior
from banklearn.numerics.streams import Purpose, Streams
from banklearn.sampler.decisions import mean_of
from banklearn.sampler.frequencies import propose
from banklearn.sampler.interweave import KINDS
from banklearn.sampler.sweep import Info, Model, Tuning, near_mode, update_mixture
from banklearn.sampler.target import unhurried

Array = NDArray[np.float64]

#: Frequencies whose features are computed together.
GROUP = 16
_LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True)
class Task:
    """The rows that one task sees, with labels in {0, 1} and weights."""

    rows: NDArray[np.intp]
    y: Array
    weight: Array


@dataclass(frozen=True)
class Chain:
    """State, weights beta (T, P), and the linear predictor of every task."""

    state: State
    beta: Array
    predictor: list[Array]
    tasks: list[Task]


def split_tasks(y: Array, weight: Array | None, tree: ClassTree) -> list[Task]:
    """Each task sees the rows in its node's range and asks for those in the first part."""
    out = []
    for first, middle, last in tree.nodes:
        rows = np.flatnonzero((y >= first) & (y < last))
        w = np.ones(len(rows)) if weight is None else weight[rows]
        out.append(Task(rows, (y[rows] < middle).astype(np.float64), np.ascontiguousarray(w)))
    return out


def _tasks(engine: MemoryEngine, model: Model) -> list[Task]:
    assert isinstance(model.likelihood, Logistic)
    return split_tasks(engine.y, engine.weight, model.likelihood.tree)


def init(
    engine: MemoryEngine,
    model: Model,
    state: State,
    streams: Streams,
    sweep: int = 0,
    beta: Array | None = None,
) -> Chain:
    """A chain at a given state; weights start near their mode."""
    return place(engine, model, state, near_mode(engine, model, state, beta))


def place(engine: MemoryEngine, model: Model, state: State, beta: Array) -> Chain:
    """A chain at a given state and given weights."""
    tasks = _tasks(engine, model)
    total = np.zeros((len(tasks), engine.n_rows))
    for block in engine.blocks():
        start = block.start
        Phi = feature_rows(block.X, state.W, model.trend)
        total[:, start : start + len(block.X)] = beta @ Phi
    predictor = [total[t, task.rows] for t, task in enumerate(tasks)]
    return Chain(state, beta, predictor, tasks)


def pack(chain: Chain) -> dict[str, Any]:
    """State, weights and predictors; the latter were summed in an order that is not repeated."""
    return {"state": chain.state, "beta": chain.beta, "predictor": chain.predictor}


def unpack(packed: dict[str, Any], engine: MemoryEngine, model: Model) -> Chain:
    """The chain of :func:`pack`."""
    tasks = _tasks(engine, model)
    return Chain(packed["state"], packed["beta"], packed["predictor"], tasks)


@dataclass(frozen=True)
class Candidate:
    """Weights drawn at one end of a move, and what the ratio needs of that end."""

    b: Array
    log_target: float
    log_proposal: float


def laplace_end(
    columns: Array, offset: Array, task: Task, lam: float, b: Array | None, rng: np.random.Generator
) -> Candidate:
    """The Laplace law at two columns; draw weights from it, or evaluate it at given ones."""
    from banklearn.numerics import _compiled

    c, s = columns
    b0, b1, h00, h01, h11 = _compiled.laplace_pair(c, s, offset, task.y, task.weight, lam)
    # Cholesky of the 2 x 2 precision; b = mode + L^-T xi.
    l00 = math.sqrt(h00)
    l10 = h01 / l00
    l11 = math.sqrt(max(h11 - l10 * l10, lam))  # never below lam, but rounding could
    if b is None:
        x0, x1 = rng.standard_normal(2)
        z1 = x1 / l11
        b = np.array([b0 + (x0 - l10 * z1) / l00, b1 + z1])
    e0, e1 = b[0] - b0, b[1] - b1
    white0, white1 = l00 * e0 + l10 * e1, l11 * e1
    log_q = math.log(l00) + math.log(l11) - 0.5 * (white0**2 + white1**2) - _LOG_2PI
    log_p = _compiled.logistic_pair(c, s, offset, task.y, task.weight, b[0], b[1])[0]
    log_prior = math.log(lam) - _LOG_2PI - 0.5 * lam * float(b @ b)
    return Candidate(b, log_p + log_prior, log_q)


def move(
    now: list[Array],
    star: list[Array],
    b_now: Array,
    offsets: list[Array],
    tasks: list[Task],
    lam: float,
    rng: np.random.Generator,
) -> tuple[Array, float]:
    """Draw new weights (T, 2) at the columns `star`; returns them and the log acceptance ratio."""
    ratio = 0.0
    b_star = np.empty_like(b_now)
    for t, task in enumerate(tasks):
        new = laplace_end(star[t], offsets[t], task, lam, None, rng)
        old = laplace_end(now[t], offsets[t], task, lam, b_now[t], rng)
        b_star[t] = new.b
        ratio += new.log_target - new.log_proposal - old.log_target + old.log_proposal
    return b_star, ratio


def step(
    chain: Chain,
    engine: MemoryEngine,
    model: Model,
    tuning: Tuning,
    streams: Streams,
    sweep: int,
    hurried: Callable[[float], bool] = unhurried,
) -> tuple[Chain, Info]:
    """Every frequency with its weights, the trend's weights, lam, then the mixture.

    No part of it is so long that `hurried` would be asked.
    """
    state, tasks = chain.state, chain.tasks
    M, h = state.M, trend_columns(model.trend, state.W.shape[1])
    beta = chain.beta.copy()
    F = [f.copy() for f in chain.predictor]
    rng = streams.at(Purpose.PROPOSALS, sweep)
    rho = tuning.moves.draw_rho(M, rng)
    W_star = propose(state, rho, rng)
    W = state.W.copy()
    draw = streams.at(Purpose.WEIGHTS, sweep)
    log_u = np.log(streams.at(Purpose.ACCEPT, sweep).random(M))
    accepted = np.zeros(M, dtype=bool)
    scale = 1.0 / np.sqrt(M)
    for first in range(0, M, GROUP):
        group = range(first, min(first + GROUP, M))
        now = feature_rows(engine.X, W[group.start : group.stop], scale=scale)
        star = feature_rows(engine.X, W_star[group.start : group.stop], scale=scale)
        for j in group:
            i = 2 * (j - first)
            at = slice(h + 2 * j, h + 2 * j + 2)
            cols = [_take(now[i : i + 2], task) for task in tasks]
            cols_star = [_take(star[i : i + 2], task) for task in tasks]
            offsets = [f - b[at] @ c for f, b, c in zip(F, beta, cols, strict=True)]
            b_star, log_ratio = move(cols, cols_star, beta[:, at], offsets, tasks, state.lam, draw)
            if log_u[j] < log_ratio:
                accepted[j] = True
                W[j] = W_star[j]
                beta[:, at] = b_star
                F = [o + b @ c for o, b, c in zip(offsets, b_star, cols_star, strict=True)]
    _trend_weights(engine, model, beta, F, tasks, state, draw)
    lam = lam_given_weights(beta, state.lam, model.prior, streams.at(Purpose.PRECISION, sweep))
    state = update_mixture(state.with_(W=W, lam=lam), model.prior, streams, sweep)
    likelihood = sum(
        log_likelihood(f, task.y, task.weight) for f, task in zip(F, tasks, strict=True)
    )
    jumped = rho == 1.0
    info = Info(
        log_evidence=likelihood,
        log_likelihood=likelihood,
        accepted_jumps=mean_of(accepted[jumped]),
        accepted_local=mean_of(accepted[~jumped]),
        accepted_switches=float("nan"),
        interweave_acceptance=np.full(len(KINDS), np.nan),
        lam_acceptance=0.44,
        gradient_acceptance=float("nan"),
        flown=None,
        K=state.K,
        alpha=state.alpha,
        lam=lam,
        trouble=False,
        jitter=0,
    )
    return Chain(state, beta, F, tasks), info


def _take(columns: Array, task: Task) -> Array:
    return columns if len(task.rows) == columns.shape[1] else columns[:, task.rows]


def _trend_weights(
    engine: MemoryEngine,
    model: Model,
    beta: Array,
    F: list[Array],
    tasks: list[Task],
    state: State,
    rng: np.random.Generator,
) -> None:
    """The same move for the trend's columns, two at a time, with the columns kept; in place.

    An odd column is paired with a column of zeros, whose weight is a fresh draw of its prior.
    """
    d = state.W.shape[1]
    h = trend_columns(model.trend, d)
    for first in range(0, h, 2):
        columns = np.zeros((2, engine.n_rows))
        for i in range(first, min(first + 2, h)):
            columns[i - first] = 1.0 if i == 0 else engine.X[:, i - 1] / np.sqrt(d)
        width = min(2, h - first)
        b_now = rng.standard_normal((len(tasks), 2)) / np.sqrt(state.lam)
        b_now[:, :width] = beta[:, first : first + width]
        cols = [_take(columns, task) for task in tasks]
        offsets = [f - b @ c for f, b, c in zip(F, b_now, cols, strict=True)]
        b_star, log_ratio = move(cols, cols, b_now, offsets, tasks, state.lam, rng)
        if math.log(rng.random()) < log_ratio:
            beta[:, first : first + width] = b_star[:, :width]
            F[:] = [o + b @ c for o, b, c in zip(offsets, b_star, cols, strict=True)]


def log_lam_conditional(lam: float, beta: Array, prior: Prior) -> float:
    """Unnormalised log p(log lam | beta)."""
    return 0.5 * beta.size * math.log(lam) - 0.5 * lam * float((beta**2).sum()) + prior.log_lam(lam)


def lam_given_weights(
    beta: Array, lam: float, prior: Prior, rng: np.random.Generator, steps: int = 8
) -> float:
    """A few random-walk steps on log lam; they cost nothing."""
    size = 2.4 / math.sqrt(0.5 * beta.size + 1.0)
    now = log_lam_conditional(lam, beta, prior)
    for _ in range(steps):
        proposal = lam * math.exp(size * rng.standard_normal())
        new = log_lam_conditional(proposal, beta, prior)
        if math.log(rng.random()) < new - now:
            lam, now = proposal, new
    return lam
