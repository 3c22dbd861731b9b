"""Input scaling, trend and spectral scale, chosen by evidence on a subsample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.model.features import Trend
from banklearn.numerics.moments import Moments
from banklearn.numerics.streams import Streams
from banklearn.numerics.threads import limited_to
from banklearn.numerics.weighted import mass
from banklearn.posterior.scaling import InputScaling, Kind, fit_scaling
from banklearn.sampler.start import SCALES, StartingPoint, choose_start

Array = NDArray[np.float64]

#: In the order in which they are preferred.
TRANSFORMS: tuple[Kind, ...] = ("quantile", "arcsinh")
#: Log evidence by which a transform must be better: without one the kernel is a function of
#: distances in the user's units.
HANDICAP = 10.0
#: Log evidence per row by which two transforms are told apart. The start knows one kernel for all
#: inputs, which says little about what they are worth once spectra are learned.
TIE = 0.025

Choice = tuple[InputScaling, Trend, StartingPoint]


def choose(
    moments: Moments,
    sample: tuple[Array, Array | None],
    start: tuple[Array, Array, Array | None],
    *,
    kinds: Sequence[Kind],
    trends: Sequence[Trend],
    spectral_scale: float | None,
    M: int,
    a0: float,
    b0: float,
    streams: Streams,
) -> list[Choice]:
    """Scaling, trend and start of the highest evidence, and those that :func:`contend` with it.

    moments are those of all rows, sample is (X, weight) of the rows that scaling looks at and
    start is (X, y, weight) of those that the evidence looks at.
    """
    X, y, weight = start
    best: dict[Kind, Choice] = {}
    with limited_to(1):  # many small problems: threads would only get in each other's way
        for kind in kinds:
            scaling = fit_scaling(*sample, kind, moments)
            Xs = scaling(X)
            scales = SCALES
            if spectral_scale is not None:
                scales = (spectral_scale * np.sqrt(Xs.shape[1]),)
            best[kind] = max(
                (
                    (scaling, trend, choose_start(Xs, y, weight, trend, M, a0, b0, streams, scales))
                    for trend in trends
                ),
                key=evidence,
            )
    return contend(best, mass(len(y), weight))


def chosen_before(
    stored: Mapping[str, Any], moments: Moments, sample: tuple[Array, Array | None]
) -> tuple[Choice, StartingPoint]:
    """The choice that a stored fit made, and where its chains started."""
    scaling = fit_scaling(*sample, stored["kind"], moments)
    return (scaling, stored["trend"], StartingPoint(**stored["fixed"])), StartingPoint(
        **stored["start"]
    )


def evidence(choice: Choice) -> float:
    """Its log evidence."""
    return choice[2].log_evidence


def contend(best: Mapping[Kind, Choice], rows: float) -> list[Choice]:
    """The choices among which evidence of fixed kernels cannot decide, the preferred one first.

    What is no transform is taken unless a transform is better by HANDICAP. Where some are, all
    contend that the best does not beat by TIE for each row, and so does what is no transform.
    """
    plain = [choice for kind, choice in best.items() if kind not in TRANSFORMS]
    straight = max(plain, key=evidence, default=None)
    least = -np.inf if straight is None else evidence(straight) + HANDICAP
    earned = [best[k] for k in TRANSFORMS if k in best and evidence(best[k]) > least]
    if not earned:
        return [straight or max(best.values(), key=evidence)]
    least = max(map(evidence, earned)) - TIE * rows
    contenders = earned if straight is None else [*earned, straight]
    return [choice for choice in contenders if evidence(choice) >= least]


def leaders(kinds: Sequence[Kind], heights: Sequence[float]) -> list[int]:
    """Places of the highest transform and of the highest that is none, the higher of them first."""
    first: dict[bool, int] = {}
    for i in sorted(range(len(kinds)), key=lambda i: -heights[i]):
        first.setdefault(kinds[i] in TRANSFORMS, i)
    return list(first.values())


def part_of(weight: Array | None, rows: NDArray[np.intp]) -> Array | None:
    """Weights of some rows, where there are weights."""
    return None if weight is None else weight[rows]
