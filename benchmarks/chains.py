"""What the studies of mixing share: chains that take turns, and how fast they mix."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn import BankClassifier, BankRegressor
from banklearn.datasets.names import Task
from banklearn.engines.device import DeviceEngine
from banklearn.engines.memory import MemoryEngine
from banklearn.estimators.moves import tuning_of
from banklearn.model.features import feature_rows
from banklearn.model.joint import State
from banklearn.numerics.streams import Streams
from banklearn.sampler.start import starting_state
from banklearn.sampler.sweep import Model, Tuning, adapt, settled

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """What a chain needs, as the estimator would choose it, and rows at which it is watched."""

    engine: MemoryEngine | DeviceEngine
    model: Model
    start: Any
    tuning: Tuning
    M: int
    n_warmup: int
    probes: Array

    def starting(self, streams: Streams) -> State:
        """Where the estimator's chain would start."""
        prior = self.model.prior
        lam = self.model.likelihood.start_lam(self.start.lam)
        alpha = prior.alpha_shape / prior.alpha_rate
        return starting_state(self.M, prior.d, self.start.scale, lam, alpha, streams)


class _Chooses:
    """An estimator whose fit ends where its chains would begin."""

    def _run(self, engine: Any, model: Model, *rest: Any) -> None:
        self.engine, self.model = engine, model


class _Regressor(_Chooses, BankRegressor):
    pass


class _Classifier(_Chooses, BankClassifier):
    pass


def prepare(
    task: Task,
    X: Array,
    y: np.ndarray,
    probes: Array,
    M: int,
    device: str = "cpu",
    gradient_every: Any = "auto",
) -> Problem:
    """The problem of rows X, y with all that the estimator decides before its first sweep."""
    kind: Any = _Regressor if task == "regression" else _Classifier
    chosen = kind(M, random_state=0, device=device, gradient_every=gradient_every).fit(X, y)
    scaled = chosen.input_scaling_(probes)
    start = chosen._start  # where its chains start; starting_point_ is the best fixed kernel
    tuning = tuning_of(chosen, chosen.engine)
    return Problem(chosen.engine, chosen.model, start, tuning, M, chosen.n_warmup, scaled)


def drawn_weights(chain: Any) -> Array:
    """The weights that a classifier's chain has drawn."""
    return np.asarray(chain.beta[0])


def mean_weights(chain: Any) -> Array:
    """The weights' mean given frequencies, lam and working targets."""
    return np.asarray(chain.solved.solutions[0].mu_n)


class Course:
    """One chain that runs in slices of time.

    ``values`` has a line for every sweep that was watched: log likelihood (the log evidence in
    regression) and the latent function at the probes; ``ends`` says when it ended, in seconds of
    this chain's own time.
    """

    def __init__(
        self,
        problem: Problem,
        kernel: Any,
        tuning: Tuning,
        chain: Any,
        streams: Streams,
        sweep: int = 0,
        weights: Callable[[Any], Array] = mean_weights,
    ) -> None:
        self.problem, self.kernel, self.tuning = problem, kernel, tuning
        self.chain, self.streams, self.sweep, self.weights = chain, streams, sweep, weights
        self.values: list[list[float]] = []
        self.ends: list[float] = []
        #: Acceptance of the gradient moves that were watched.
        self.flights: list[float] = []
        self.time = 0.0

    def adapt(self, seconds: float) -> None:
        """Sweep for some seconds, adapting; nothing is watched."""
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            self.tuning = adapt(self.tuning, self._step(), self.sweep)

    def settle(self) -> None:
        """Warm-up is over: keep what the chain proper of a fit would."""
        self.tuning = settled(self.tuning)

    def watch(self, seconds: float) -> None:
        """Sweep for some seconds as a chain proper."""
        begin = time.perf_counter()
        while (now := time.perf_counter()) - begin < seconds:
            info = self._step()
            Phi = feature_rows(self.problem.probes, self.chain.state.W, self.problem.model.trend)
            self.values.append([info.log_likelihood, *(self.weights(self.chain) @ Phi)])
            self.time += time.perf_counter() - now
            self.ends.append(self.time)
            if np.isfinite(info.gradient_acceptance):
                self.flights.append(info.gradient_acceptance)

    def _step(self) -> Any:
        self.sweep += 1
        self.chain, info = self.kernel.step(
            self.chain,
            self.problem.engine,
            self.problem.model,
            self.tuning,
            self.streams,
            self.sweep,
        )
        return info


def in_turn(courses: Iterable[Course], seconds: float, slices: int, adapting: bool = False) -> None:
    """Give every course so many seconds, in slices, so that a busy machine is busy for all."""
    courses = list(courses)
    for _ in range(slices):
        for course in courses:
            (course.adapt if adapting else course.watch)(seconds / slices)
    for course in courses if adapting else ():
        course.settle()
