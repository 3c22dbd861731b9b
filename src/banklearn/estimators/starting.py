"""Input scaling, trend and spectral scale, chosen by evidence on a subsample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from banklearn.model.features import Trend
from banklearn.numerics.moments import Moments
from banklearn.numerics.streams import Streams
from banklearn.numerics.threads import limited_to
from banklearn.posterior.scaling import InputScaling, Kind, fit_scaling
from banklearn.sampler.start import SCALES, StartingPoint, choose_start

Array = NDArray[np.float64]

#: In the order in which they are preferred.
TRANSFORMS: tuple[Kind, ...] = ("quantile", "arcsinh")
#: Log evidence by which a transform must be better: without one the kernel is a function of
#: distances in the user's units.
HANDICAP = 10.0
#: Log evidence per row by which arcsinh must be better than quantiles. The start knows one kernel
#: for all inputs; once spectra are learned, quantiles gain more (on hold-outs of training rows).
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
) -> Choice:
    """Scaling, trend and start of the highest evidence; :func:`prefer` settles near ties.

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
    return prefer(best, len(y))


def evidence(choice: Choice) -> float:
    """Its log evidence."""
    return choice[2].log_evidence


def prefer(best: Mapping[Kind, Choice], rows: int) -> Choice:
    """The choice of highest evidence, where transforms must earn what they cost.

    What is no transform is taken unless a transform is better by HANDICAP; of those that are,
    quantiles are taken unless arcsinh is better by TIE for each row.
    """
    plain = [choice for kind, choice in best.items() if kind not in TRANSFORMS]
    straight = max(plain, key=evidence, default=None)
    least = -np.inf if straight is None else evidence(straight) + HANDICAP
    earned = [best[k] for k in TRANSFORMS if k in best and evidence(best[k]) > least]
    if not earned:
        return straight or max(best.values(), key=evidence)
    highest = max(map(evidence, earned))
    return next(choice for choice in earned if evidence(choice) >= highest - TIE * rows)


def part_of(weight: Array | None, rows: NDArray[np.intp]) -> Array | None:
    """Weights of some rows, where there are weights."""
    return None if weight is None else weight[rows]
