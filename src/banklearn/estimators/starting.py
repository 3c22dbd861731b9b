"""Input scaling, trend and spectral scale, chosen by evidence on a subsample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from banklearn.model.features import Trend
from banklearn.numerics.moments import Moments
from banklearn.numerics.streams import Streams
from banklearn.numerics.threads import limited_to
from banklearn.posterior.scaling import InputScaling, Kind, fit_scaling
from banklearn.sampler.start import SCALES, StartingPoint, choose_start

Array = NDArray[np.float64]

#: Log evidence by which a transform must be better: without one the kernel is a function of
#: distances in the user's units.
HANDICAP = 10.0


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
) -> tuple[InputScaling, Trend, StartingPoint]:
    """The combination with the highest evidence, transforms at a handicap.

    moments are those of all rows, sample is (X, weight) of the rows that scaling looks at and
    start is (X, y, weight) of those that the evidence looks at.
    """
    X, y, weight = start
    options = []
    with limited_to(1):  # many small problems: threads would only get in each other's way
        for kind in kinds:
            scaling = fit_scaling(*sample, kind, moments)
            Xs = scaling(X)
            scales = SCALES
            if spectral_scale is not None:
                scales = (spectral_scale * np.sqrt(Xs.shape[1]),)
            for trend in trends:
                found = choose_start(Xs, y, weight, trend, M, a0, b0, streams, scales)
                options.append((scaling, trend, found))
    return max(options, key=lambda o: o[2].log_evidence - (0.0 if o[0].linear else HANDICAP))


def part_of(weight: Array | None, rows: NDArray[np.intp]) -> Array | None:
    """Weights of some rows, where there are weights."""
    return None if weight is None else weight[rows]
