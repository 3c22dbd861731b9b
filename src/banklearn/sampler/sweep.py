"""One sweep of the chain: every update once.

The frequencies' proposals take one pass over the data, a gradient move and the walks of
components (as long as warm-up keeps them) theirs. A classifier's rescaling takes one more that
forms no matrix: the features of the current frequencies, and the likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.base import Engine
from banklearn.engines.host import HostOps
from banklearn.gram import Gram, GramSum, ProposalSum, WorkingFunction
from banklearn.likelihoods.base import Augmented, Likelihood
from banklearn.model.features import Trend, trend_columns
from banklearn.model.joint import State
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Purpose, Streams
from banklearn.sampler import (
    assignments,
    components,
    concentration,
    decisions,
    gradient,
    interweave,
    precision,
    rescale,
    scales,
    switch,
)
from banklearn.sampler.exchange import CANDIDATES
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.gradient import GradientTuning, Outcome
from banklearn.sampler.interweave import InterweaveTuning
from banklearn.sampler.precision import Solved
from banklearn.sampler.schedule import Pace
from banklearn.sampler.target import Target, unhurried

Array = NDArray[np.float64]


#: Newton steps with which the weights of a classifier start.
NEWTON_STEPS = 10


@dataclass(frozen=True)
class Model:
    """What stays fixed during a run."""

    prior: Prior
    likelihood: Likelihood
    trend: Trend = "constant"


def is_due(sweep: int, every: int) -> bool:
    """Whether a move that is made every so many sweeps is made in this one; 0: in none."""
    return every > 0 and sweep % every == 0


@dataclass(frozen=True)
class Tuning:
    """What warm-up adapts and the chain proper keeps."""

    moves: Moves = field(default_factory=Moves)
    lam_step: float = 0.3
    scheme: Literal["in-turn", "at-once"] = "in-turn"
    gradient: GradientTuning = field(default_factory=GradientTuning)
    #: Sweeps between two gradient moves; 0 makes none.
    gradient_every: int = 0
    #: Sweeps between two moves of a component with its members; 0 makes none.
    interweave_every: int = 0
    interweave: InterweaveTuning = field(default_factory=InterweaveTuning)
    #: Whether a classifier's weights and lam are rescaled together.
    rescale: bool = True
    #: Where warm-up finds out how often gradient moves pay: as often as this, not gradient_every.
    pace: Pace | None = None

    def gradients(self, sweep: int) -> bool:
        """Whether this sweep makes a gradient move."""
        if self.pace is not None:
            return self.pace.due(sweep)
        return is_due(sweep, self.gradient_every)

    def exchanges(self, sweep: int) -> bool:
        """Whether this sweep's proposals are candidates for every place."""
        return self.scheme == "in-turn" and self.moves.exchanges(sweep)

    def interweaves(self, sweep: int) -> bool:
        """Whether components walk in this sweep; not once warm-up has dropped all walks."""
        return any(self.interweave.steps) and is_due(sweep, self.interweave_every)


@dataclass(frozen=True)
class Chain:
    """State of a chain together with the statistic and factors of its sweep.

    They belong to the state's frequencies and to solved.lam. A classifier's rescaling leaves the
    state another lam: the Polya-Gamma variables in the statistic were drawn before it.
    """

    state: State
    gram: Gram
    solved: Solved
    beta: Array | None


@dataclass(frozen=True)
class Info:
    """What one sweep reports.

    log_likelihood is the quantity to watch: the evidence itself in regression; in classification
    that of the weights at the sweep's start, since the evidence there depends on the augmentation.
    """

    log_evidence: float
    log_likelihood: float
    accepted_jumps: float
    accepted_local: float
    accepted_switches: float
    interweave_acceptance: Array
    lam_acceptance: float
    gradient_acceptance: float
    flown: Outcome | None
    K: int
    alpha: float
    lam: float
    trouble: bool
    jitter: int
    accepted_exchanges: float = float("nan")

    @property
    def taken(self) -> float:
        """Share of candidates from the mixture that were taken; NaN where there was none."""
        exchanged = np.isfinite(self.accepted_exchanges)
        return self.accepted_exchanges if exchanged else self.accepted_jumps


def init(
    engine: Engine,
    model: Model,
    state: State,
    streams: Streams,
    sweep: int = 0,
    beta: Array | None = None,
) -> Chain:
    """A chain at a given state on the data of an engine; weights start near their mode."""
    if not model.likelihood.fixed_weights:
        beta = near_mode(engine, model, state, beta)
    gram = statistic(engine, model, state, beta, streams, sweep)
    solved = precision.solve(gram, state.lam, model.likelihood, JitterCount())
    rng = streams.at(Purpose.WEIGHTS, sweep)
    return Chain(state, gram, solved, model.likelihood.draw_weights(gram, solved.solutions, rng))


def pack(chain: Chain) -> dict[str, Any]:
    """State, weights and the statistic, whose rounding a new sum over the data would not repeat."""
    gram = chain.gram
    return {
        "state": chain.state,
        "beta": chain.beta,
        "lam": chain.solved.lam,
        "G": gram.in_memory(),
        "r": gram.r,
        "tt": gram.tt,
        "n": gram.n,
    }


def unpack(packed: dict[str, Any], engine: Engine, model: Model) -> Chain:
    """The chain of :func:`pack`; its factors follow from the statistic."""
    ops = getattr(engine, "ops", HostOps())  # sums that come from elsewhere end in memory
    gram = Gram(ops.array(packed["G"]), packed["r"], packed["tt"], packed["n"], ops)
    state: State = packed["state"]
    solved = precision.solve(gram, packed["lam"], model.likelihood, JitterCount())
    return Chain(state, gram, solved, packed["beta"])


def near_mode(engine: Engine, model: Model, state: State, beta: Array | None) -> Array:
    """A few Newton steps for the weights, halved while they do not climb.

    Gibbs sampling alone climbs slowly from a bad start when classes are nearly separable.
    """
    tasks = model.likelihood.tasks
    if beta is None:
        P = trend_columns(model.trend, state.W.shape[1]) + 2 * state.M
        beta = np.zeros((tasks, P))
    best, target, height = beta, beta, -np.inf
    for _ in range(NEWTON_STEPS):
        newton = model.likelihood.newton(target)
        gram: Gram = engine.sum(GramSum(state.W, model.trend, newton, tasks))
        now = float(gram.tt.sum()) - 0.5 * state.lam * float((target**2).sum())
        if now < height:
            target = 0.5 * (best + target)
            continue
        best, gained, height = target, now - height, now
        solved = precision.solve(gram, state.lam, model.likelihood, JitterCount())
        target = np.stack([s.mu_n for s in solved.solutions])
        if gained < 1.0:
            break
    return best


def statistic(
    engine: Engine, model: Model, state: State, beta: Array | None, streams: Streams, sweep: int
) -> Gram:
    """The statistic of the current frequencies, from scratch."""
    working = model.likelihood.working(beta, streams, sweep)
    result: Gram = engine.sum(GramSum(state.W, model.trend, working, model.likelihood.tasks))
    return result


def extended(
    engine: Engine, model: Model, chain: Chain, W_star: Array, working: WorkingFunction
) -> Gram:
    """The statistic of [trend | current | proposed] columns, in one pass over the data."""
    W = chain.state.W
    result: Gram
    if model.likelihood.fixed_weights:
        result = engine.sum(ProposalSum(chain.gram, W, W_star, model.trend, working))
    else:
        both = np.concatenate([W, W_star])
        result = engine.sum(
            GramSum(both, model.trend, working, model.likelihood.tasks, current=len(W))
        )
    return result


def step(
    chain: Chain,
    engine: Engine,
    model: Model,
    tuning: Tuning,
    streams: Streams,
    sweep: int,
    hurried: Callable[[float], bool] = unhurried,
) -> tuple[Chain, Info]:
    """Frequencies and lam with the weights integrated out, the weights, then the mixture.

    A classifier's weights are rescaled with lam before the mixture: no step that follows sees the
    Polya-Gamma variables, which the next sweep draws anew. A trajectory is left out where `hurried`
    says that there is no time for so many seconds; it may also end the sweep, by an exception.
    """
    count = JitterCount()
    state, likelihood, prior = chain.state, model.likelihood, model.prior
    h = trend_columns(model.trend, state.W.shape[1])

    how: decisions.How = "exchange" if tuning.exchanges(sweep) else tuning.scheme
    moves = CANDIDATES if how == "exchange" else tuning.moves
    offered = switch.offer(state, prior, moves, streams.at(Purpose.PROPOSALS, sweep))
    use_gradient = tuning.gradients(sweep)
    working = likelihood.working(chain.beta, streams, sweep)
    use_interweave = tuning.interweaves(sweep)
    if (use_gradient or use_interweave) and not likelihood.fixed_weights:
        working = engine.freeze(working, state.W, model.trend)
    ext = extended(engine, model, chain, offered.W, working)
    rng = streams.at(Purpose.ACCEPT, sweep)
    decided = decisions.decide(how, state, offered, ext, h, likelihood, rng, count)
    state, gram = decided.state, decided.gram

    solved = precision.solve(gram, state.lam, likelihood, count, decided.solutions)
    flown = None
    if use_gradient:
        target = Target(engine, likelihood, model.trend, prior, state, working, count, hurried)
        rng = streams.at(Purpose.GRADIENT, sweep)
        flown = gradient.update(state, gram, solved, target, tuning.gradient, rng)
        if flown is not None and flown.place.W is not state.W:
            place = flown.place
            state, gram, solved = state.with_(W=place.W), place.gram, place.solved
            # The trajectory knew nothing of the components, which belong to where it began.
            state = components.update(state, prior, streams.at(Purpose.COMPONENTS, sweep, block=1))
    woven = np.full(len(interweave.KINDS), np.nan)
    if use_interweave:

        def evaluate(W: Array) -> tuple[Gram, Solved]:
            there: Gram = engine.sum(GramSum(W, model.trend, working, likelihood.tasks))
            return there, precision.solve(there, state.lam, likelihood, count)

        state, gram, solved, woven = interweave.update(
            state, gram, solved, evaluate, tuning.interweave, prior, streams, sweep
        )
    solved, lam_acceptance = precision.update(
        solved,
        gram,
        likelihood,
        prior,
        tuning.lam_step,
        streams.at(Purpose.PRECISION, sweep),
        count,
    )
    state = state.with_(lam=solved.lam)
    beta = likelihood.draw_weights(gram, solved.solutions, streams.at(Purpose.WEIGHTS, sweep))
    if tuning.rescale and beta is not None and isinstance(likelihood, Augmented):
        rng = streams.at(Purpose.RESCALE, sweep)
        state, beta = rescale.update(state, beta, engine, likelihood, model.trend, prior, rng)

    state = update_mixture(state, prior, streams, sweep)
    info = Info(
        log_evidence=solved.log_evidence,
        log_likelihood=solved.log_evidence if likelihood.fixed_weights else float(ext.tt.sum()),
        accepted_jumps=decided.shares.jumps,
        accepted_local=decided.shares.local,
        accepted_switches=decided.shares.switches,
        interweave_acceptance=woven,
        lam_acceptance=lam_acceptance,
        gradient_acceptance=float("nan") if flown is None else flown.probability,
        flown=flown,
        K=state.K,
        alpha=state.alpha,
        lam=state.lam,
        trouble=decided.trouble,
        jitter=count.times,
        accepted_exchanges=decided.shares.exchanges,
    )
    return Chain(state, gram, solved, beta), info


def update_mixture(state: State, prior: Prior, streams: Streams, sweep: int) -> State:
    """Assignments, components, scales and concentration: everything that sees only W."""
    state = assignments.update(state, prior, streams.at(Purpose.ASSIGNMENTS, sweep))
    state = components.update(state, prior, streams.at(Purpose.COMPONENTS, sweep))
    state = scales.update(state, prior, streams.at(Purpose.SCALES, sweep))
    return concentration.update(state, prior, streams.at(Purpose.CONCENTRATION, sweep))


def adapt(tuning: Tuning, info: Info, sweep: int) -> Tuning:
    """Warm-up only: steps of log lam, of gradient moves and of interweaving, the pace of moves."""
    change = (info.lam_acceptance - 0.44) / np.sqrt(1.0 + 0.1 * sweep)
    lam_step = float(np.clip(tuning.lam_step * np.exp(change), 1e-3, 5.0))
    tuned, pace = tuning.gradient, tuning.pace
    if info.flown is not None:
        tuned = gradient.adapt(tuned, info.flown)
    if pace is not None and np.isfinite(info.taken):
        pace = pace.after(info.taken, tuned.steps)
    woven = interweave.adapt(tuning.interweave, info.interweave_acceptance, sweep)
    return replace(tuning, lam_step=lam_step, gradient=tuned, interweave=woven, pace=pace)


def entering(tuning: Tuning, stage: int, whole: bool) -> Tuning:
    """The tuning with which a stage begins: the first of the warm-up is 0, the last sees all rows.

    Where candidates take few places among some of the rows, they need not among all: until these
    have been seen there are no gradient moves.
    """
    tuned = gradient.warier(tuning.gradient) if stage else tuning.gradient
    pace = tuning.pace
    if pace is not None:
        pace = replace(pace, rate=0.0 if whole else pace.rate, taken=None, whole=whole)
    return replace(tuning, gradient=tuned, pace=pace)


def settled(tuning: Tuning) -> Tuning:
    """The tuning with which the chain proper begins and ends: trajectories of one length."""
    tuned, pace = gradient.settled(tuning.gradient), tuning.pace
    return replace(tuning, gradient=tuned, pace=pace and pace.of_length(tuned.steps))
