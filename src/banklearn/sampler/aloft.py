"""The density of :mod:`.target` on a device, for trajectories that stay there.

With few rows a step takes as long as it takes to wait for its numbers and to copy factors there and
back. Here nothing comes to memory between looks: a device is told of the next steps while it works
on this one. What a path leads to is judged by the target itself, in memory; a factor that fails is
NaN, and its path lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.gram import Block, GradientSum, GramSum, Latent, Working, WorkingFunction
from banklearn.likelihoods.base import Likelihood
from banklearn.model.features import Trend
from banklearn.model.niw import NIW

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Spot:
    """A place on a device: frequencies, log density up to a constant, and what gives its gradient.

    L and mu_n are the factors and mean weights of every task, c the expected precision of the
    noise, prior_pull the gradient of the prior's part.
    """

    W: Any
    height: Any
    L: Sequence[Any]
    mu_n: Sequence[Any]
    c: Any
    prior_pull: Any


@dataclass(frozen=True)
class Slope:
    """A spot with the gradients of its log evidence (slope) and of its log density (pull)."""

    place: Spot
    slope: Any
    pull: Any


class Resident:
    """Working weights and targets that are moved to the device once."""

    def __init__(self, working: WorkingFunction, ops: Any) -> None:
        self.working, self.ops = working, ops
        self.moved: dict[int, Sequence[Working]] = {}

    def __call__(self, block: Block, latent: Latent) -> Sequence[Working]:
        """What the working function gave for this block, on the device."""
        if block.start not in self.moved:
            self.moved[block.start] = [
                replace(work, A=work.A if work.A is None else array(work.A), At=array(work.At))
                for array in [self.ops.array]
                for work in self.working(block, latent)
            ]
        return self.moved[block.start]


class Aloft:
    """The log density of the frequencies, by an engine whose operations can factor."""

    #: Steps that the device is told of before anybody waits for it.
    steps_between_looks = 8

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
        d, counts = len(base.mu0), np.array([len(part) for part in members])
        belongs = np.zeros((len(members), int(counts.sum())))
        for k, part in enumerate(members):
            belongs[k, part] = 1.0
        kappa, nu = base.kappa + counts, base.nu + counts
        self.belongs, self.nu = self.there(belongs), self.there(nu)
        self.by_count = self.there(1.0 / np.maximum(counts, 1)[:, None])
        self.by_kappa = self.there(1.0 / kappa[:, None])
        self.pulls_by = self.there((nu[:, None] * belongs)[:, :, None])
        self.shrink = self.there((base.kappa * counts / kappa)[:, None, None])
        self.mu0, self.Psi0 = self.there(base.mu0), self.there(base.Psi)
        self.weighed_mu0 = self.there(base.kappa * base.mu0)
        self.eye = self.there(np.broadcast_to(np.eye(d), (len(members), d, d)))

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
        xp, ops = self.xp, self.ops
        tasks = self.likelihood.tasks
        gram = self.engine.sum(GramSum(W, self.trend, self.working, tasks, stays=True))
        a_n, rest = self.likelihood.accept_form(gram)
        height, pull = self._prior(W)
        factors, means, c = [], [], 1.0
        for t in range(tasks):
            L = ops.factor(gram.G[t, ...], self.lam)
            v = ops.solve_lower(L, gram.r[t, :, None])
            factors.append(L)
            means.append(ops.solve_lower(L, v, transposed=True)[:, 0])
            height = height - xp.sum(xp.log(xp.linalg.diagonal(L)))
            half_quadratic = 0.5 * xp.sum(v * v)
            if a_n > 0.0:  # the noise is integrated out, and there is one task
                left = rest - half_quadratic
                height, c = height - a_n * xp.log(left), a_n / left
            else:
                height = height + half_quadratic
        return Spot(W, height, factors, means, c, pull)

    def sloping(self, place: Spot) -> Slope:
        """The gradients there: one pass."""
        sums = GradientSum(
            place.W, self.trend, self.working, place.L, place.mu_n, place.c, stays=True
        )
        slope = self.engine.sum(sums)
        return Slope(place, slope, slope + place.prior_pull)

    def energy(self, place: Spot, q: Any) -> Any:
        """Minus the log density plus half the squares of the momenta."""
        return -place.height + 0.5 * self.xp.sum(q * q)

    def _prior(self, W: Any) -> tuple[Any, Any]:
        """What is left of the components, integrated out: log density and its gradient.

        :func:`.niw.log_marginal` and :func:`.niw.marginal_slope` of all components together.
        """
        xp, ops = self.xp, self.ops
        sums = self.belongs @ W
        mean = sums * self.by_count
        centred, shift = W - self.belongs.T @ mean, mean - self.mu0
        spread = (self.belongs[:, None, :] * centred.T[None, :, :]) @ centred[None, :, :]
        Psi = self.Psi0 + spread + self.shrink * shift[:, :, None] * shift[:, None, :]
        root = ops.factor(Psi)
        log_det = 2.0 * xp.sum(xp.log(xp.linalg.diagonal(root)), axis=1)
        off = W - self.belongs.T @ ((self.weighed_mu0 + sums) * self.by_kappa)
        white = ops.solve_lower(root, self.eye)
        pulls = (off[None, :, :] @ xp.matrix_transpose(white)) @ white
        pull = -xp.sum(self.pulls_by * pulls, axis=0)
        return -0.5 * xp.sum(self.nu * log_det), pull
