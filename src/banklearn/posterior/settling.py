"""Whether chains have settled: the rule by which ``n_draws="auto"`` ends, and fits warn.

Looked at are quantities that do not depend on how components or frequencies are numbered, at the
kept draws: log likelihood, lam, noise, number of components, the function at a few rows (with its
weights drawn) and the kernel at a few lags. Chains have settled when

- rank-normalised split R-hat is at most :data:`HIGHEST_R_HAT`,
- bulk and tail effective sample sizes, of all chains together, are at least
  :data:`LEAST_EFFECTIVE`,

for each of them (medians over the rows, and over the lags), and

- the log likelihood does not climb: its mean over the second half of the sweeps is not above that
  over the first by more than :data:`CLIMB` standard errors, all chains taken together.

The rule sees draws, not the clock, and looks only where every chain has as many draws as
:data:`LOOKS` says: the same seed gives the same end on every machine, however chains are run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.model.features import Trend
from banklearn.model.kernel import mixture_kernel
from banklearn.numerics.row_keys import RowKeys
from banklearn.posterior.diagnostics import (
    bulk_effective,
    rank_r_hat,
    standard_error,
    tail_effective,
)
from banklearn.posterior.draws import Draw
from banklearn.posterior.functions import draw_weights, function_at
from banklearn.sampler.run import Run

Array = NDArray[np.float64]

#: Kept draws of each chain at which "auto" looks: the first is the least that it makes, the last
#: the most.
LOOKS = (50, 75, 100, 150, 200, 300, 400)
#: What chains that have settled do not exceed, and reach. With 30 effective draws the Monte Carlo
#: error of a mean adds a thirtieth to the variance of what it estimates.
HIGHEST_R_HAT, LEAST_EFFECTIVE = 1.05, 30.0
#: Standard errors by which a log likelihood that has settled may climb from half to half.
CLIMB = 2.0
#: Beyond these a fit whose number of draws was given warns: R-hat of predictions (at the square
#: root of 2 functions vary as much between chains as within them), and the climb.
WARN_R_HAT, WARN_CLIMB = 1.4, 3.0
#: Fewer draws of a chain than this say nothing.
LEAST_DRAWS = 8
#: Rows at which the function is watched; every two of them give a lag for the kernel.
PROBES = 8


def looks_of(n_draws: int | str) -> tuple[int, ...]:
    """Draws of each chain at which a fit may end, unless it is cut short: the least first."""
    return LOOKS if n_draws == "auto" else (int(n_draws),)


def least_draws(n_draws: int | str) -> int:
    """Draws of each chain that a fit makes at least, unless it is cut short."""
    return looks_of(n_draws)[0]


def most_draws(n_draws: int | str) -> int:
    """Draws of each chain that a fit makes at most."""
    return looks_of(n_draws)[-1]


@dataclass(frozen=True)
class Probes:
    """Rows (n, d) at which the function is watched, and lags (l, d), in model units."""

    rows: Array
    lags: Array

    @classmethod
    def among(cls, X: Array, scale: float, rng: np.random.Generator) -> Probes:
        """Rows of X (n, d) by their values, whatever their order.

        Lags point from one row to the next, as far as the starting kernel falls to one half.
        """
        rows = X[RowKeys.of(X, None).choose(PROBES, rng)]
        lags = rows[1::2] - rows[: 2 * (len(rows) // 2) : 2]
        length = np.sqrt((lags**2).sum(axis=1, keepdims=True))
        far = np.sqrt(2.0 * np.log(2.0)) / scale
        return cls(rows, far * (lags / np.where(length > 0, length, 1.0))[length[:, 0] > 0])


@dataclass(frozen=True)
class Settling:
    """What a look at the chains found.

    draws of each chain were looked at; r_hat, bulk and tail are by quantity (None where it did not
    vary, or R-hat is infinite), climb in standard errors; unsettled names what has not settled.
    """

    draws: int
    settled: bool
    unsettled: list[str]
    r_hat: dict[str, float | None]
    bulk: dict[str, float | None]
    tail: dict[str, float | None]
    climb: float | None

    def plain(self) -> dict[str, Any]:
        """All of it as plain data."""
        return asdict(self)


def look(
    runs: Sequence[Run[Draw]], thin: int, probes: Probes, trend: Trend, draws: int | None = None
) -> Settling | None:
    """Judge the first `draws` kept draws of every chain, or all; None where they are too few.

    Chains that never came to sampling are left out if others did.
    """
    sampled = [run for run in runs if len(run.trace) > run.warmup]
    n = min(((len(run.trace) - run.warmup) // thin for run in sampled), default=0)
    n = n if draws is None else min(n, draws)
    if n < LEAST_DRAWS:
        return None
    sweeps = np.array(
        [[info.log_likelihood for info in run.trace[run.warmup :][: n * thin]] for run in sampled]
    )
    at_draws = {"log likelihood": sweeps[:, thin - 1 :: thin, None]}
    return judge(at_draws | watched([run.draws[:n] for run in sampled], probes, trend), sweeps)


def watched(chains: Sequence[Sequence[Draw]], probes: Probes, trend: Trend) -> dict[str, Array]:
    """What is watched beside the log likelihood, (chains, draws, n) each."""

    def each(of: Callable[[Draw], Any]) -> Array:
        values = [[np.atleast_1d(of(draw)) for draw in chain] for chain in chains]
        return np.array(values, dtype=np.float64)

    found = {
        "lam": each(lambda draw: draw.lam),
        "noise": each(lambda draw: draw.noise),
        "components": each(lambda draw: len(draw.pi) - 1),
        "predictions": each(lambda draw: _function(draw, probes.rows, trend)),
    }
    if len(probes.lags):
        found["kernel"] = each(lambda d: mixture_kernel(probes.lags, d.pi, d.mu, d.Sigma))
    return found


def _function(draw: Draw, rows: Array, trend: Trend) -> Array:
    """One draw of the function at rows, (n,), its weights drawn too; tasks are added up."""
    beta = draw_weights(draw, np.random.default_rng((draw.chain, draw.sweep)))
    return np.asarray(function_at(draw, beta, rows, trend).sum(axis=0))


def climb(likelihood: Array) -> float:
    """How far a log likelihood (chains, sweeps) climbs from half to half, in standard errors."""
    first, second = np.array_split(likelihood, 2, axis=1)
    gained = float((second.mean(axis=1) - first.mean(axis=1)).sum())
    # A half that does not vary is known exactly.
    errors = np.nan_to_num([standard_error(half) for half in (*first, *second)], nan=0.0)
    spread = float(np.sqrt((errors**2).sum()))
    if spread == 0.0:
        return 0.0 if gained == 0.0 else float(np.copysign(np.inf, gained))
    return gained / spread


def judge(values: Mapping[str, Array], likelihood: Array) -> Settling:
    """The rule: values (chains, draws, n) at kept draws, log likelihood (chains, sweeps)."""
    r_hat, bulk, tail = (
        {
            name: _median([measure(value[:, :, i]) for i in range(value.shape[2])])
            for name, value in values.items()
        }
        for measure in (rank_r_hat, bulk_effective, tail_effective)
    )
    climbed = climb(likelihood)
    # What does not vary is NaN, and has settled.
    unsettled = [
        name
        for name in values
        if r_hat[name] > HIGHEST_R_HAT
        or bulk[name] < LEAST_EFFECTIVE
        or tail[name] < LEAST_EFFECTIVE
        or (name == "log likelihood" and climbed > CLIMB)
    ]
    return Settling(
        draws=next(iter(values.values())).shape[1],
        settled=not unsettled,
        unsettled=unsettled,
        r_hat={name: _finite(value) for name, value in r_hat.items()},
        bulk={name: _finite(value) for name, value in bulk.items()},
        tail={name: _finite(value) for name, value in tail.items()},
        climb=_finite(climbed),
    )


def _median(values: Sequence[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.median(known)) if known else float("nan")


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
