"""Joint distribution tests (Geweke, 2004) of every update alone and of whole sweeps.

An update alone: everything is drawn from the model, the update is applied given the data, and what
comes out must still follow the model. The draws are independent, so Kolmogorov-Smirnov applies.

A whole sweep: a chain alternates between sweeps and new data. Its draws depend on each other; they
are thinned, and their means compared by standard errors from the effective sample size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.stats import gamma, ks_2samp, kstest, norm

from banklearn.engines.memory import MemoryEngine
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.class_tree import ClassTree
from banklearn.model.generative import draw_state, simulate_regression
from banklearn.model.joint import State
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.posterior.diagnostics import standard_error
from banklearn.sampler import (
    assignments,
    components,
    concentration,
    joint_move,
    precision,
    rescale,
    scales,
    sweep,
    switch,
)
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.gradient import GradientTuning
from banklearn.sampler.interweave import InterweaveTuning
from banklearn.sampler.sweep import Model, Tuning
from helpers import dense_log_evidence, make_prior, plain_features
from labels import draw_beta, draw_labels, stick
from trees import HALVES, log_path
from trees import draw_labels as draw_labels_of_tree

N, M, TREND = 10, 3, "constant"
PRIOR = make_prior(2, np.random.default_rng(3), lam_log_mean=-1.5, psi_shape=3.0)


@dataclass(frozen=True)
class Everything:
    """All that the model draws; beta is None in regression, where it is integrated out."""

    X: np.ndarray
    y: np.ndarray
    state: State
    beta: np.ndarray | None


@dataclass(frozen=True)
class Kind:
    """A model to test: regression, or classification with C classes on a stick or in a tree."""

    classes: int = 0
    tree: ClassTree | None = None

    @property
    def model(self) -> Model:
        if not self.classes:
            return Model(PRIOR, Gaussian(PRIOR.a0, PRIOR.b0), TREND)
        return Model(PRIOR, Logistic(self.tree or self.classes), TREND)

    def data(self, X: np.ndarray, state: State, beta: Any, rng: np.random.Generator) -> np.ndarray:
        """New targets or labels given everything else."""
        if not self.classes:
            return simulate_regression(X, state, PRIOR, TREND, rng)[0]
        f = beta @ plain_features(X, state.W, TREND).T
        return draw_labels_of_tree(self.tree, f, rng) if self.tree else draw_labels(f, rng)

    def draw(self, rng: np.random.Generator, X: np.ndarray | None = None) -> Everything:
        """Everything from the model."""
        X = 2.0 * rng.standard_normal((N, 2)) if X is None else X
        state = draw_state(PRIOR, M, rng)
        beta = draw_beta(state, 1 + 2 * M, self.classes - 1, rng) if self.classes else None
        return Everything(X, self.data(X, state, beta, rng), state, beta)

    def link(self, it: Everything) -> float:
        """How well data and unknowns fit: log evidence, or log likelihood of the labels."""
        Phi = plain_features(it.X, it.state.W, TREND)
        if it.beta is None:
            return dense_log_evidence(Phi, it.y, it.state.lam, PRIOR.a0, PRIOR.b0)
        f = it.beta @ Phi.T
        seen = it.y.astype(int), np.arange(len(it.y))
        log_p = log_path(self.tree, f)[seen] if self.tree else np.log(stick(f)[seen])
        return float(log_p.sum())


def log_members(state: State) -> float:
    """The log density of the frequencies given their components, up to a constant."""
    away, Sigma = state.W - state.mu[state.Z], state.Sigma[state.Z]
    squares = (away * np.linalg.solve(Sigma, away[..., None])[..., 0]).sum()
    return float(-0.5 * (squares + np.linalg.slogdet(Sigma)[1].sum()))


Value = Callable[[Everything, Kind], float]
#: Quantities whose law is known.
LAWS: dict[str, tuple[Value, Any]] = {
    "alpha": (lambda e, k: e.state.alpha, gamma(PRIOR.alpha_shape, scale=1 / PRIOR.alpha_rate)),
    "log lam": (lambda e, k: np.log(e.state.lam), norm(PRIOR.lam_log_mean, PRIOR.lam_log_sd)),
    "psi": (
        lambda e, k: e.state.psi[0],
        gamma(PRIOR.psi_shape, scale=PRIOR.psi_mean[0] / PRIOR.psi_shape),
    ),
}
WEIGHT_LAWS: dict[str, tuple[Value, Any]] = {
    "trend": (lambda e, k: e.beta[0, 0] * np.sqrt(e.state.lam), norm()),
    "cosine": (lambda e, k: e.beta[-1, 1] * np.sqrt(e.state.lam), norm()),
    "sine": (lambda e, k: e.beta[0, -1] * np.sqrt(e.state.lam), norm()),
}
#: Quantities that are compared with draws from the model.
FUNCTIONS: dict[str, Value] = {
    "W": lambda e, k: e.state.W[0, 0],
    "|W - mu0|": lambda e, k: np.linalg.norm(e.state.W - PRIOR.mu0),
    "K": lambda e, k: e.state.K,
    "log |Sigma|": lambda e, k: np.linalg.slogdet(e.state.Sigma[e.state.Z[2]])[1],
    "link": lambda e, k: k.link(e),
    "W given its component": lambda e, k: log_members(e.state),
}


def quantities(kind: Kind) -> dict[str, tuple[Value, Any]]:
    """Every quantity of a kind of model, with its law where that is known."""
    known = LAWS | (WEIGHT_LAWS if kind.classes else {})
    return known | {name: (value, None) for name, value in FUNCTIONS.items()}


Update = Callable[[Everything, Kind, Streams, int], Everything]


def unchanged(state: State, *rest: Any) -> State:
    """In place of an update that is switched off."""
    return state


def where_it_is(state: State, *rest: Any) -> switch.Proposals:
    """Proposals that change nothing."""
    return switch.Proposals(state.W, state.Z, state.mu, state.Sigma, np.full(state.M, 0.5))


@contextmanager
def switched_off(*names: str) -> Iterator[None]:
    """Whole sweeps without some of their updates."""
    put = {
        "mixture": [
            (sweep, "update_mixture", unchanged),
            (joint_move, "update_mixture", unchanged),
        ],
        "proposals": [(switch, "offer", where_it_is)],
        "lam given weights": [(joint_move, "lam_given_weights", lambda b, lam, *rest: lam)],
        "trend": [(joint_move, "_trend_weights", lambda *rest: None)],
    }
    with ExitStack() as stack:
        for name in names:
            for module, attribute, other in put[name]:
                stack.enter_context(patch.object(module, attribute, other))
        yield


def by_step(tuning: Tuning, *off: str, kernel: Any = sweep) -> Update:
    """A sweep in which all but one update are switched off."""

    def update(it: Everything, kind: Kind, streams: Streams, i: int) -> Everything:
        engine, model = MemoryEngine(it.X, it.y), kind.model
        if kernel is joint_move:
            chain = joint_move.place(engine, model, it.state, it.beta)
        elif it.beta is None:
            chain = sweep.init(engine, model, it.state, streams, i)
        else:
            chain = sweep.Chain(it.state, None, None, it.beta)
        with switched_off(*off):
            chain, _ = kernel.step(chain, engine, model, tuning, streams, i + 1)
        return replace(it, state=chain.state, beta=chain.beta)

    return update


def of_state(module: Any) -> Update:
    """An update that sees the state alone."""

    def update(it: Everything, kind: Kind, streams: Streams, i: int) -> Everything:
        rng = np.random.default_rng([streams.seed, streams.chain, i])
        return replace(it, state=module.update(it.state, PRIOR, rng))

    return update


def precision_alone(it: Everything, kind: Kind, streams: Streams, i: int) -> Everything:
    """lam in regression."""
    engine, model, rng = (
        MemoryEngine(it.X, it.y),
        kind.model,
        np.random.default_rng([streams.seed, streams.chain, i]),
    )
    gram = sweep.statistic(engine, model, it.state, None, streams, i)
    solved = precision.solve(gram, it.state.lam, model.likelihood, JitterCount())
    solved, _ = precision.update(solved, gram, model.likelihood, PRIOR, 1.0, rng, JitterCount())
    return replace(it, state=it.state.with_(lam=solved.lam))


def lam_given_weights_alone(it: Everything, kind: Kind, streams: Streams, i: int) -> Everything:
    """lam in the paper's sampler."""
    rng = np.random.default_rng([streams.seed, streams.chain, i])
    lam = joint_move.lam_given_weights(it.beta, it.state.lam, PRIOR, rng)
    return replace(it, state=it.state.with_(lam=lam))


def trend_alone(it: Everything, kind: Kind, streams: Streams, i: int) -> Everything:
    """The trend's weights in the paper's sampler."""
    rng = np.random.default_rng([streams.seed, streams.chain, i])
    engine, beta = MemoryEngine(it.X, it.y), it.beta.copy()
    chain = joint_move.place(engine, kind.model, it.state, beta)
    F = [f.copy() for f in chain.predictor]
    joint_move._trend_weights(engine, kind.model, beta, F, chain.tasks, it.state, rng)
    return replace(it, beta=beta)


def rescale_alone(it: Everything, kind: Kind, streams: Streams, i: int) -> Everything:
    """The weights of a classifier together with lam."""
    rng = np.random.default_rng([streams.seed, streams.chain, i])
    engine, model = MemoryEngine(it.X, it.y), kind.model
    state, beta = rescale.update(it.state, it.beta, engine, model.likelihood, TREND, PRIOR, rng)
    return replace(it, state=state, beta=beta)


REST = ("mixture",)
STILL = Tuning(Moves(jump=0.5, rho_min=0.2), lam_step=0.0, rescale=False)
JUMPS = replace(STILL, moves=Moves(jump=1.0))
LOCAL = replace(STILL, moves=Moves(jump=0.0, rho_min=0.2))
SWITCHES = replace(STILL, moves=Moves(jump=1.0, switch=1.0))
EXCHANGES = replace(STILL, moves=Moves(exchange=1.0))
WOVEN = replace(STILL, interweave_every=1, interweave=InterweaveTuning((0.5, 0.5, 0.8)))
#: Steps so long that a third of the trajectories arrives: decisions matter.
FLIGHTS = replace(STILL, gradient_every=1, gradient=GradientTuning(step=0.6, length=4))
ALL_MOVES = Tuning(
    Moves(jump=0.5, rho_min=0.2, switch=0.5, exchange=0.5),
    lam_step=0.8,
    gradient_every=3,
    gradient=GradientTuning(0.6, 4),
    interweave_every=2,
)

TWO, THREE, FIVE, REGRESSION = Kind(2), Kind(3), Kind(5, HALVES), Kind()
#: (kind, update, how often it is applied to each draw); a place gives random numbers, so that new
#: ones go to the end.
ALONE: dict[str, tuple[Kind, Update, int]] = {
    "assignments": (REGRESSION, of_state(assignments), 2),
    "components": (REGRESSION, of_state(components), 1),
    "scales": (REGRESSION, of_state(scales), 1),
    "concentration": (REGRESSION, of_state(concentration), 2),
    "regression: lam": (REGRESSION, precision_alone, 3),
    "regression: jumps": (REGRESSION, by_step(JUMPS, *REST), 1),
    "regression: local moves": (REGRESSION, by_step(LOCAL, *REST), 1),
    "regression: switches": (REGRESSION, by_step(SWITCHES, *REST), 1),
    "regression: interweaving": (REGRESSION, by_step(WOVEN, *REST, "proposals"), 2),
    "regression: all at once": (REGRESSION, by_step(replace(LOCAL, scheme="at-once"), *REST), 1),
    "regression: gradient": (REGRESSION, by_step(FLIGHTS, *REST, "proposals"), 8),
    "two classes: weights": (TWO, by_step(STILL, *REST, "proposals"), 1),
    "two classes: lam": (TWO, by_step(replace(STILL, lam_step=1.0), *REST, "proposals"), 2),
    "two classes: jumps": (TWO, by_step(JUMPS, *REST), 1),
    "two classes: switches": (TWO, by_step(SWITCHES, *REST), 1),
    "three classes: interweaving": (THREE, by_step(WOVEN, *REST, "proposals"), 2),
    "two classes: local moves": (TWO, by_step(LOCAL, *REST), 1),
    "two classes: gradient": (
        TWO,
        by_step(FLIGHTS, *REST, "proposals"),
        4,
    ),
    "three classes: weights": (THREE, by_step(STILL, *REST, "proposals"), 1),
    "three classes: jumps": (THREE, by_step(JUMPS, *REST), 1),
    "three classes: gradient": (
        THREE,
        by_step(FLIGHTS, *REST, "proposals"),
        4,
    ),
    "joint move: frequencies": (
        TWO,
        by_step(STILL, *REST, "lam given weights", "trend", kernel=joint_move),
        1,
    ),
    "joint move: trend": (TWO, trend_alone, 1),
    "joint move: lam": (TWO, lam_given_weights_alone, 1),
    "joint move, three classes: frequencies": (
        THREE,
        by_step(STILL, *REST, "lam given weights", "trend", kernel=joint_move),
        1,
    ),
    "two classes: rescaling": (TWO, rescale_alone, 5),
    "three classes: rescaling": (THREE, rescale_alone, 5),
    "five classes: weights": (FIVE, by_step(STILL, *REST, "proposals"), 1),
    "five classes: jumps": (FIVE, by_step(JUMPS, *REST), 1),
    "five classes: interweaving": (FIVE, by_step(WOVEN, *REST, "proposals"), 1),
    "five classes: gradient": (
        FIVE,
        by_step(FLIGHTS, *REST, "proposals"),
        4,
    ),
    "five classes: rescaling": (FIVE, rescale_alone, 5),
    "joint move, five classes: frequencies": (
        FIVE,
        by_step(STILL, *REST, "lam given weights", "trend", kernel=joint_move),
        1,
    ),
    "regression: exchanges": (REGRESSION, by_step(EXCHANGES, *REST), 1),
    "two classes: exchanges": (TWO, by_step(EXCHANGES, *REST), 1),
    "three classes: exchanges": (THREE, by_step(EXCHANGES, *REST), 1),
    "five classes: exchanges": (FIVE, by_step(EXCHANGES, *REST), 1),
}
WHOLE: dict[str, tuple[Kind, Update]] = {
    "regression": (REGRESSION, by_step(ALL_MOVES)),
    "regression, all at once": (REGRESSION, by_step(replace(ALL_MOVES, scheme="at-once"))),
    "two classes": (TWO, by_step(ALL_MOVES)),
    "three classes": (THREE, by_step(ALL_MOVES)),
    "joint move, two classes": (TWO, by_step(ALL_MOVES, kernel=joint_move)),
    "joint move, three classes": (THREE, by_step(ALL_MOVES, kernel=joint_move)),
    "five classes": (FIVE, by_step(ALL_MOVES)),
    "joint move, five classes": (FIVE, by_step(ALL_MOVES, kernel=joint_move)),
}


@dataclass(frozen=True)
class Outcome:
    """p values by quantity, and the two samples behind them for the quantile plots."""

    p: dict[str, float]
    sampled: dict[str, np.ndarray]
    model: dict[str, np.ndarray]


def _values(draws: list[Everything], kind: Kind) -> dict[str, np.ndarray]:
    return {
        name: np.array([value(e, kind) for e in draws])
        for name, (value, _) in quantities(kind).items()
    }


def alone(name: str, master: int, n: int) -> Outcome:
    """An update alone on n draws from the model; 2n other draws are the reference."""
    kind, update, times = ALONE[name]
    place = list(ALONE).index(name)
    model = _values(
        [kind.draw(np.random.default_rng([master, place, 0, i])) for i in range(2 * n)], kind
    )
    swept = []
    for i in range(n):
        it = kind.draw(np.random.default_rng([master, place, 1, i]))
        streams = Streams(master * 1000 + place, i)
        for t in range(times):
            it = update(it, kind, streams, t)
        swept.append(it)
    sampled, p = _values(swept, kind), {}
    for quantity, (_, law) in quantities(kind).items():
        x = sampled[quantity]
        p[quantity] = float(
            kstest(x, law.cdf).pvalue
            if law is not None
            else ks_2samp(x, model[quantity], method="asymp").pvalue
        )
    return Outcome(p, sampled, model)


def _squash(values: np.ndarray, law: Any, centre: float, width: float) -> np.ndarray:
    """Bounded, so that means exist and converge quickly."""
    return law.cdf(values) if law is not None else np.tanh((values - centre) / width)


def whole(name: str, master: int, n: int, chains: int = 4, thin: int = 2) -> Outcome:
    """`chains` chains of n kept draws, each `thin` sweeps (and data sets) after the one before."""
    kind, update = WHOLE[name]
    place = 100 + list(WHOLE).index(name)
    rng = np.random.default_rng([master, place])
    X = 2.0 * rng.standard_normal((N, 2))
    model = _values([kind.draw(rng, X) for _ in range(2 * n)], kind)
    kept: list[Everything] = []
    for c in range(chains):
        it, streams = kind.draw(rng, X), Streams(master * 1000 + place, c)
        for i in range(n * thin):
            it = update(it, kind, streams, i)
            it = replace(it, y=kind.data(X, it.state, it.beta, rng))
            if i % thin == thin - 1:
                kept.append(it)
    sampled, p = _values(kept, kind), {}
    for quantity, (_, law) in quantities(kind).items():
        centre, width = model[quantity].mean(), 2.0 * model[quantity].std()
        squash = partial(_squash, law=law, centre=centre, width=width)
        chain = squash(sampled[quantity]).reshape(chains, n)
        right = squash(model[quantity])
        # The mean, and the mean square: a law that is too wide has the right mean.
        for suffix, power in (("", 1), (", spread", 2)):
            x, reference = (chain - right.mean()) ** power, (right - right.mean()) ** power
            error = np.hypot(standard_error(x), reference.std() / np.sqrt(len(reference)))
            p[quantity + suffix] = float(2 * norm.sf(abs(x.mean() - reference.mean()) / error))
    return Outcome(p, sampled, model)


def number_of_statistics() -> int:
    """How many p values all units give together."""
    single = sum(len(quantities(kind)) for kind, _, _ in ALONE.values())
    return single + sum(2 * len(quantities(kind)) for kind, _ in WHOLE.values())
