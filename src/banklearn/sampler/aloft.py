"""The density of :mod:`.target` on a device, for trajectories that stay there.

With few rows a step takes as long as it takes to wait for its numbers and to copy factors there and
back. Here nothing comes to memory between looks: a device is told of the next steps while it works
on this one. What a path leads to is judged by the target itself. A factor that fails is NaN and its
path lost, as it would be from its other end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from weakref import proxy

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.repeated import Step
from banklearn.gram import (
    Block,
    GradientSum,
    GramSum,
    Latent,
    Working,
    WorkingFunction,
    latent_values,
)
from banklearn.likelihoods.base import Likelihood
from banklearn.model.features import Trend
from banklearn.model.kept_features import LastFeatures
from banklearn.model.niw import NIW
from banklearn.sampler.leapfrog import leap

Array = NDArray[np.float64]

#: Steps between two looks.
LOOK = 8
#: From this many steps on it is worth recording one.
WORTH_RECORDING = 4
#: Added to every statistic, relative to its mean diagonal: a path can be followed where the target
#: itself may need that much to be factored.
JITTER = 1e-13


@dataclass(frozen=True)
class Spot:
    """A place on a device: frequencies, log density up to a constant, and what gives its gradient.

    inverse and mu_n are A_n^-1 and the mean weights of every task, c the expected precision of the
    noise, prior_pull the gradient of the prior's part.
    """

    W: Any
    height: Any
    inverse: Sequence[Any]
    mu_n: Sequence[Any]
    c: Any
    prior_pull: Any


@dataclass(frozen=True)
class Point:
    """A place with the gradients of its log evidence (slope) and of its log density (pull)."""

    place: Any
    slope: Any
    pull: Any


class Resident:
    """Working weights and targets on the device, always in the same place there."""

    def __init__(self, ops: Any, fixed: bool) -> None:
        self.ops, self.fixed = ops, fixed
        self.working: WorkingFunction | None = None
        self.moved: dict[int, Sequence[Working]] = {}
        self.fresh: set[int] = set()

    def settle(self, working: WorkingFunction) -> None:
        """Those of another sweep, which are moved when they are asked for."""
        self.working = working
        if not self.fixed:
            self.fresh.clear()

    def bring(self, blocks: Iterable[Block], latent: Callable[[Block, Array], Array]) -> None:
        """All of this sweep's; what they were moved from is not kept."""
        for block in blocks:
            self(block, partial(latent, block))
        self.working = None

    @property
    def all_there(self) -> bool:
        """Whether all that sums need is on the device, and of this sweep."""
        works = [work for moved in self.moved.values() for work in moved]
        there = not any(isinstance(work.rows, np.ndarray) for work in works)
        return there and bool(self.moved) and self.fresh == set(self.moved)

    def __call__(self, block: Block, latent: Latent) -> Sequence[Working]:
        """What the working function gave for this block, on the device."""
        start = block.start
        if start not in self.fresh:
            if self.working is None:
                raise RuntimeError(f"Nothing was given for the rows from {start} on.")
            given = self.working(block, latent)
            before = self.moved.get(start) or len(given) * [None]
            pairs = zip(given, before, strict=True)
            self.moved[start] = [self._move(work, old) for work, old in pairs]
            self.fresh.add(start)
        return self.moved[start]

    def _move(self, work: Working, old: Working | None) -> Working:
        """A block's rows and the shape of what belongs to them never change."""
        ops = self.ops
        A, At = None if work.A is None else ops.array(work.A), ops.array(work.At)
        if old is None:
            rows = None if work.rows is None else ops.index(work.rows)
            if not self.fixed:  # what is written to later must not be anybody else's
                A, At = None if A is None else A + 0.0, At + 0.0
            return replace(work, A=A, At=At, rows=rows)
        if old.A is not None:
            old.A[...] = A
        old.At[...] = At
        return replace(work, A=old.A, At=old.At, rows=old.rows)


class Aloft:
    """The log density of the frequencies, by an engine whose operations can factor.

    It is made for one engine, likelihood and size, and settles where a move begins: what differs
    from move to move is copied to where it was, so that a step that was recorded can be repeated.
    """

    def __init__(
        self, engine: Any, likelihood: Likelihood, trend: Trend, shape: tuple[int, int], K: int
    ) -> None:
        self.engine = proxy(engine)  # which keeps this one
        self.ops, self.xp = engine.ops, engine.ops.xp
        self.likelihood, self.trend, self.shape = likelihood, trend, shape
        self.working = Resident(self.ops, likelihood.fixed_weights)
        self.kept = LastFeatures()
        self.hurried: Callable[[float], bool]
        self.K = K
        self.numbers: Any = None
        self.still, self.nothing = self.there(np.zeros(2 * shape[1:])), self.there(np.zeros(shape))
        #: The step that is repeated, once it was recorded.
        self.recorded: Step | None = None

    def settle(
        self,
        working: WorkingFunction,
        lam: float,
        base: NIW,
        members: Sequence[NDArray[np.intp]],
        hurried: Callable[[float], bool],
    ) -> None:
        """What a move begins with."""
        self.working.settle(working)
        self.hurried = hurried
        K = self.K
        counts, nu = np.zeros((K, 1)), np.zeros((K, 1))
        weights = np.zeros((K, 1 + self.shape[0]))
        weights[:, 0] = base.kappa
        for k, part in enumerate(members):
            weights[k, 1 + part] = 1.0
            counts[k], nu[k] = len(part), base.nu + len(part)
        by_kappa = 1.0 / (base.kappa + counts)
        self._write([weights, nu, by_kappa, base.mu0[None], base.Psi, np.array(lam)])

    def _write(self, parts: Sequence[Array]) -> None:
        """All that differs from move to move, in one array; its parts stay where they are."""
        numbers = self.there(np.concatenate([part.ravel() for part in parts]))
        if self.numbers is not None:
            self.numbers[...] = numbers
            return
        self.numbers, views, start = numbers, [], 0
        for part in parts:
            views.append(self.xp.reshape(numbers[start : start + part.size], part.shape))
            start += part.size
        self.weights, self.nu, self.by_kappa, self.mu0, self.Psi0, self.lam = views

    @property
    def steps_between_looks(self) -> int:
        """Steps that the device is told of before anybody waits for it: more than one if short."""
        return LOOK if self.engine.lanes_at_work == 1 else 1

    def there(self, values: Array) -> Any:
        """Values from memory on the device, in double precision."""
        xp, values = self.xp, np.ascontiguousarray(values, dtype=np.float64)
        return xp.asarray(values, dtype=xp.float64, device=self.ops.device)

    def back(self, values: Any) -> Array:
        """Values in memory."""
        moved: Array = self.ops.host(values)
        return moved

    def start(self, W: Array, length: int) -> Point:
        """The place where a trajectory begins, with its gradients.

        Where steps are recorded it is where a step of no length leads, from the first trajectory
        on: bits do not depend on what was recorded before.
        """
        here = self.there(W)

        def latent(block: Block, beta: Array) -> Array:
            return latent_values(self.ops, block, W, self.trend, beta)

        self.working.bring(self.engine.blocks(), latent)
        repeats = self._repeats(length)
        if not repeats or self.recorded is None:  # what is loaded at first use is not recorded
            point = self.sloping(self.at(here))
        if repeats:
            point, _, _ = self._repeated(self.still, here, self.nothing, self.nothing)
        return point

    def at(self, W: Any) -> Spot:
        """A new place: one pass over the data."""
        xp, ops, tasks = self.xp, self.ops, self.likelihood.tasks
        sums = GramSum(W, self.trend, self.working, tasks, kept=self.kept, stays=True)
        gram = self.engine.sum(sums)
        a_n, rest = self.likelihood.accept_form(gram)
        height, pull = self._prior(W)
        inverses, means, c = [], [], 1.0
        for t in range(tasks):
            L = ops.factor(gram.G[t, ...], self.lam, JITTER)
            root = ops.inverse_factor(L)
            v = root @ gram.r[t, :]
            inverses.append(root.T @ root)
            means.append(root.T @ v)
            height = height - xp.sum(xp.log(xp.linalg.diagonal(L)))
            half_quadratic = 0.5 * xp.sum(v * v)
            if a_n > 0.0:  # the noise is integrated out, and there is one task
                most = xp.full_like(half_quadratic, 0.5 * float(gram.tt[t]))
                left = rest - xp.where(half_quadratic < most, half_quadratic, most)
                height, c = height - a_n * xp.log(left), a_n / left
            else:
                height = height + half_quadratic
        return Spot(W, height, [ops.array(part) for part in inverses], means, c, pull)

    def sloping(self, place: Spot) -> Point:
        """The gradients there: one pass."""
        W, mu_n, c, inverse = place.W, place.mu_n, place.c, place.inverse
        sums = GradientSum(W, self.trend, self.working, (), mu_n, c, self.kept, inverse)
        slope = self.engine.sum(sums)
        return Point(place, slope, slope + place.prior_pull)

    def energy(self, place: Spot, q: Any) -> Any:
        """Minus the log density plus half the squares of the momenta."""
        return -place.height + 0.5 * self.xp.sum(q * q)

    def again(self, length: int) -> Step:
        """A step that the device repeats, unless steps are few or long or need memory."""
        if not self._repeats(length):
            return partial(leap, self)

        def step(*values: Any) -> tuple[Any, ...]:
            point, q, energy = self._repeated(*values)
            return point, q, energy + 0.0  # the next step overwrites it

        return step

    def _repeats(self, length: int) -> bool:
        """Whether so many steps are worth recording one, which needs all it reads on the device."""
        return bool(length >= WORTH_RECORDING and self.engine.records and self.working.all_there)

    def _repeated(self, *values: Any) -> tuple[Any, ...]:
        """A step as it was recorded; what it gives is overwritten by the next."""
        if self.recorded is not None:
            return self.recorded(*values)
        step = self.ops.repeated(self._lean)
        made = step(*values)
        if self.ops.repeats:  # else it could not be recorded, and would keep this one
            self.recorded = step
        return made

    def _lean(self, *values: Any) -> tuple[Any, ...]:
        """A step without the matrices of its end, which a record would keep for nobody."""
        point, q, energy = leap(self, *values)
        place = replace(point.place, inverse=(), mu_n=(), c=None, prior_pull=None)
        return replace(point, place=place), q, energy

    def _prior(self, W: Any) -> tuple[Any, Any]:
        """What is left of the components, integrated out: log density and its gradient.

        :func:`.niw.log_marginal` and :func:`.niw.marginal_slope` of all components together. The
        base measure's mean is like kappa_0 members more of each: with mu_k as in the posterior
        Psi_k = Psi_0 + sum_j (W_j - mu_k)(W_j - mu_k)' + kappa_0 (mu_0 - mu_k)(mu_0 - mu_k)'.
        """
        xp, ops = self.xp, self.ops
        rows = xp.concat([self.mu0, W], axis=0)
        mu = (self.weights @ rows) * self.by_kappa
        off = rows[None, :, :] - mu[:, None, :]
        each = self.weights[:, :, None]
        root = ops.factor(self.Psi0 + xp.matrix_transpose(each * off) @ off)
        white = ops.inverse_factor(root)
        pulls = (off[:, 1:, :] @ xp.matrix_transpose(white)) @ white
        log_det = xp.log(xp.linalg.diagonal(root))
        pulling = (self.nu * self.weights[:, 1:])[:, :, None]
        return -xp.sum(self.nu * log_det), -xp.sum(pulling * pulls, axis=0)
