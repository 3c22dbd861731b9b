"""Where a chain starts: spectral scale (and input transform) by the evidence of fixed features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from banklearn.engines.memory import MemoryEngine
from banklearn.gram import Gram, GramSum
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.model.features import Trend
from banklearn.model.joint import State
from banklearn.numerics.row_keys import RowKeys
from banklearn.numerics.streams import Purpose, Streams

Array = NDArray[np.float64]

#: Standard deviations of the frequencies that are tried, in units of 1/sqrt(d).
SCALES = tuple(2.0**k for k in np.arange(-4, 4.5, 0.5))
#: No start is faster than this, however much a series would like it.
FASTEST = 2.0**12
#: Prior precisions that are tried.
LAMS = tuple(10.0**k for k in np.arange(-7, 3.5, 0.5))


@dataclass(frozen=True)
class StartingPoint:
    """A fixed kernel: frequencies N(0, scale^2 I), the best lam of a grid, the log evidence."""

    scale: float
    lam: float
    log_evidence: float


def best_lam(G: Array, r: Array, tt: float, n: float, a0: float, b0: float) -> tuple[float, float]:
    """(lam, log evidence) with the highest evidence on the grid, by one eigendecomposition."""
    values, vectors = np.linalg.eigh(G)
    projected = (vectors.T @ r) ** 2
    a_n = a0 + 0.5 * n
    lams = np.array(LAMS)
    A = np.maximum(values, 0.0)[None] + lams[:, None]
    b_n = b0 + np.maximum(0.5 * (tt - (projected / A).sum(axis=1)), 0.0)
    log_ev = (
        0.5 * (len(r) * np.log(lams) - np.log(A).sum(axis=1))
        - a_n * np.log(b_n)
        + gammaln(a_n)
        - gammaln(a0)
        + a0 * np.log(b0)
        - 0.5 * n * np.log(2 * np.pi)
    )
    best = int(np.argmax(log_ev))
    return float(lams[best]), float(log_ev[best])


def fixed_kernel(scale: float, gram: Gram, a0: float, b0: float) -> StartingPoint:
    """The kernel of a scale with the lam that suits the statistic of its features best."""
    (G,), (r,), (tt,), (n,) = gram.G, gram.r, gram.tt, gram.n  # a regression has one task
    lam, log_ev = best_lam(G, r, float(tt), float(n), a0, b0)
    return StartingPoint(scale, lam, log_ev)


def start_rows(rows: RowKeys, streams: Streams, most: int = 4000) -> NDArray[np.intp]:
    """Rows on which the starting point is chosen."""
    return rows.choose(most, streams.at(Purpose.START, block=2))


def pilot_rows(
    rows: RowKeys, first: NDArray[np.intp], streams: Streams, most: int = 2000
) -> NDArray[np.intp]:
    """Of the rows on which the starting point is chosen, those that pilots look at."""
    return rows.choose_among(first, most, streams.at(Purpose.START, block=4))


def scaling_rows(rows: RowKeys, streams: Streams, most: int = 100_000) -> NDArray[np.intp]:
    """Rows whose medians stand for all where inputs are scaled."""
    return rows.choose(most, streams.at(Purpose.START, block=3))


def choose_start(
    X: Array,
    y: Array,
    weight: Array | None,
    trend: Trend,
    M: int,
    a0: float,
    b0: float,
    streams: Streams,
    scales: tuple[float, ...] = SCALES,
) -> StartingPoint:
    """The point of highest evidence on the given rows, of a grid that goes on where it must."""
    rng = streams.at(Purpose.START)
    d = X.shape[1]
    xi = rng.standard_normal((min(M, 128), d))
    engine = MemoryEngine(X, y, weight)
    working = Gaussian(a0, b0).working(None, streams, 0)

    def at(scale: float) -> StartingPoint:
        scale /= np.sqrt(d)
        gram: Gram = engine.sum(GramSum(xi * scale, trend, working, 1))
        return fixed_kernel(scale, gram, a0, b0)

    points = [at(scale) for scale in scales]
    best = max(points, key=lambda point: point.log_evidence)
    # Long series want more: on while it pays, so that the end of the grid decides nothing.
    scale = scales[-1]
    while best is points[-1] and len(scales) > 1 and scale < FASTEST:
        scale *= scales[-1] / scales[-2]
        points.append(at(scale))
        best = max(best, points[-1], key=lambda point: point.log_evidence)
    return best


def starting_state(
    M: int, d: int, scale: float, lam: float, alpha: float, streams: Streams
) -> State:
    """All frequencies in one component N(0, scale^2 I)."""
    rng = streams.at(Purpose.START, block=1)
    return State(
        W=scale * rng.standard_normal((M, d)),
        Z=np.zeros(M, dtype=np.int64),
        mu=np.zeros((1, d)),
        Sigma=scale**2 * np.eye(d)[None],
        alpha=alpha,
        lam=lam,
        psi=np.full(d, scale**2),
    )
