"""A chain on the rows of an engine, and the arithmetic in which they are summed.

Where single precision shows in the log evidence, or where its statistic cannot be factored, the
chain goes on from the same state in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar

from banklearn.engines.base import Engine
from banklearn.model.joint import State
from banklearn.numerics.linalg import NumericalError
from banklearn.numerics.streams import Streams
from banklearn.sampler import rounding
from banklearn.sampler.rounding import arithmetic_of
from banklearn.sampler.sweep import Info, Model, Tuning

T = TypeVar("T")


class Kernel(Protocol):
    """A Markov kernel: a module with init and step (:mod:`.sweep`, :mod:`.joint_move`)."""

    def init(
        self, engine: Any, model: Model, state: State, streams: Streams, sweep: int, beta: Any
    ) -> Any:
        """A chain at a state."""
        ...

    def step(
        self,
        chain: Any,
        engine: Any,
        model: Model,
        tuning: Tuning,
        streams: Streams,
        sweep: int,
        hurried: Callable[[float], bool] = ...,
    ) -> tuple[Any, Info]:
        """One sweep, without its long parts where `hurried` has no time for so many seconds."""
        ...

    def pack(self, chain: Any) -> dict[str, Any]:
        """What the next sweep needs of a chain, as numbers and arrays in memory."""
        ...

    def unpack(self, packed: dict[str, Any], engine: Any, model: Model) -> Any:
        """The chain of which :meth:`pack` told, to the bit."""
        ...


class Footing:
    """A chain and the rows that it stands on; ``chain`` is None before it begins.

    ``rows`` is the engine that it was given, ``engine`` that in whose arithmetic it goes on.
    """

    def __init__(self, kernel: Kernel, model: Model, streams: Streams, engine: Engine) -> None:
        self.kernel, self.model, self.streams = kernel, model, streams
        self.engine = self.rows = engine
        self.chain: Any = None

    @property
    def arithmetic(self) -> str:
        """In which the chain goes on."""
        return arithmetic_of(self.engine)

    def begin(self, engine: Engine, state: State, sweep: int) -> None:
        """At a state, in the engine's arithmetic if that will do; weights go on from the last."""
        beta = self.chain and self.chain.beta
        self.engine, self.rows, self.chain = engine, engine, None

        def init() -> Any:
            return self.kernel.init(self.engine, self.model, state, self.streams, sweep, beta)

        self.chain = self._or_exactly(init, sweep)
        self._look(sweep)

    def go_on(self, engine: Engine, packed: dict[str, Any], arithmetic: str) -> None:
        """Where a chain was stored, in the arithmetic that it had then."""
        self.rows = engine
        self.engine = engine if arithmetic_of(engine) == arithmetic else engine.exact()
        self.chain = self.kernel.unpack(packed, self.engine, self.model)

    def sample(self, engine: Engine, state: State, sweep: int) -> None:
        """On all rows: at the state if it stands on others, else where it is, weights and all.

        Weights that are begun anew are those of a mode, where rows weigh less than they do around
        it, and frequencies are lost that take long to come back. An arithmetic that did not do
        before may do from here on.
        """
        if self.chain is None or self.rows is not engine:
            self.begin(engine, state, sweep)
        elif self.engine is not engine:
            self.engine = engine
            self.chain = self._or_exactly(partial(self._restated, sweep), sweep)
            self._look(sweep)

    def step(self, tuning: Tuning, sweep: int, done: int, hurried: Callable[[float], bool]) -> Info:
        """One sweep, after which so many of the stage are done."""

        def step() -> tuple[Any, Info]:
            return self.kernel.step(
                self.chain, self.engine, self.model, tuning, self.streams, sweep, hurried
            )

        self.chain, info = self._or_exactly(step, sweep)
        if rounding.is_due(done):
            self._look(sweep)
        return info

    def _look(self, sweep: int) -> None:
        if rounding.shows(self.engine, self.model, self.chain, self.streams, sweep):
            self._give_up(sweep)

    def _or_exactly(self, action: Callable[[], T], sweep: int) -> T:
        try:
            return action()
        except NumericalError:
            if self.arithmetic == "double":
                raise
            self._give_up(sweep)
            return action()

    def _give_up(self, sweep: int) -> None:
        self.engine = self.engine.exact()
        if self.chain is not None:
            self.chain = self._restated(sweep)

    def _restated(self, sweep: int) -> Any:
        return rounding.restated(self.engine, self.model, self.chain, self.streams, sweep)
