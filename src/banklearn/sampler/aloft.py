"""The density of :mod:`.target` on a device, for trajectories that stay there.

With few rows a step takes as long as it takes to wait for its numbers and to copy factors there and
back. Here nothing comes to memory between looks: a device is told of the next steps while it works
on this one. What a path leads to is judged by the target itself. A factor that fails is NaN and its
path lost, as it would be from its other end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.repeated import Step
from banklearn.gram import Block, GradientSum, GramSum, Latent, Working, WorkingFunction
from banklearn.likelihoods.base import Likelihood
from banklearn.model.features import Trend
from banklearn.model.kept_features import LastFeatures
from banklearn.model.niw import NIW

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
    """Working weights and targets that are moved to the device once."""

    def __init__(self, working: WorkingFunction, ops: Any) -> None:
        self.working, self.ops = working, ops
        self.moved: dict[int, Sequence[Working]] = {}

    @property
    def all_there(self) -> bool:
        """Whether sums over some of the rows need no memory either."""
        works = [work for moved in self.moved.values() for work in moved]
        return not any(isinstance(work.rows, np.ndarray) for work in works)

    def __call__(self, block: Block, latent: Latent) -> Sequence[Working]:
        """What the working function gave for this block, on the device."""
        if block.start not in self.moved:
            self.moved[block.start] = [self._move(work) for work in self.working(block, latent)]
        return self.moved[block.start]

    def _move(self, work: Working) -> Working:
        ops, A, rows = self.ops, work.A, work.rows
        return replace(
            work,
            A=A if A is None else ops.array(A),
            At=ops.array(work.At),
            rows=rows if rows is None else ops.index(rows),
        )


class Aloft:
    """The log density of the frequencies, by an engine whose operations can factor."""

    def __init__(
        self,
        engine: Any,
        likelihood: Likelihood,
        trend: Trend,
        working: WorkingFunction,
        lam: float,
        base: NIW,
        members: Sequence[NDArray[np.intp]],
        hurried: Callable[[float], bool],
    ) -> None:
        self.engine, self.ops, self.xp = engine, engine.ops, engine.ops.xp
        self.likelihood, self.trend, self.lam = likelihood, trend, lam
        self.working, self.hurried = Resident(working, self.ops), hurried
        self.kept = LastFeatures()
        counts = np.array([len(part) for part in members])
        weights = np.zeros((len(members), 1 + int(counts.sum())))
        weights[:, 0] = base.kappa
        for k, part in enumerate(members):
            weights[k, 1 + part] = 1.0
        nu = (base.nu + counts)[:, None]
        self.weights, self.each = self.there(weights), self.there(weights[:, :, None])
        self.by_kappa = self.there(1.0 / (base.kappa + counts)[:, None])
        self.nu, self.pulling = self.there(nu), self.there((-nu * weights[:, 1:])[:, :, None])
        self.mu0, self.Psi0 = self.there(base.mu0[None]), self.there(base.Psi)

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

    def again(self, leap: Step, length: int) -> Step:
        """A step that the device repeats, unless steps are few or long or need memory."""
        short = self.engine.lanes_at_work == 1 and self.working.all_there
        if not short or length < WORTH_RECORDING:
            return leap
        repeated = self.ops.repeated(leap)

        def step(*values: Any) -> tuple[Any, ...]:
            point, q, energy = repeated(*values)
            return point, q, energy + 0.0  # the next step overwrites it

        return step

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
        root = ops.factor(self.Psi0 + xp.matrix_transpose(self.each * off) @ off)
        white = ops.inverse_factor(root)
        pulls = (off[:, 1:, :] @ xp.matrix_transpose(white)) @ white
        log_det = xp.log(xp.linalg.diagonal(root))
        return -xp.sum(self.nu * log_det), xp.sum(self.pulling * pulls, axis=0)
