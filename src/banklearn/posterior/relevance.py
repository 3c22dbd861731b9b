"""Relevance of inputs: the share of a function's variance that goes when one of them is shuffled.

The total Sobol index of input i over the rows x_a of the data,

    T_i = sum_ab (f(x_a) - f(x_a with input i of x_b))^2 / sum_ab (f(x_a) - f(x_b))^2,

over all pairs (a, b) of a set of rows (Homma and Saltelli, 1996). Single pairings leave an error
that is far larger than what draws of a well learned function differ by; all pairs of a set are one
product of matrices. Beyond `ROWS` rows every draw looks at the same set, which tells how draws
differ, and at a set of its own: together they tell the level, and by how much it may be wrong.

Where an input is nearly always the same, some of the rows in which it is not join each set, and
pairs have weights that undo it: one over how often they are expected in a set (:class:`Sets`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from banklearn.model.features import Trend, feature_rows
from banklearn.numerics.duplicates import row_hash
from banklearn.posterior.draws import Draw
from banklearn.posterior.functions import function_at
from banklearn.posterior.lengths import Estimate
from banklearn.posterior.scaling import InputScaling

Array = NDArray[np.float64]

#: Rows of a set, all pairs of which are looked at.
ROWS = 256
#: With more inputs and functions than this many together, sets are smaller, down to `FEWEST_ROWS`.
ROWS_TIMES_INPUTS, FEWEST_ROWS = 1 << 12, 32
#: Sets beside the common one, that tell the level.
SETS = 24
#: An input is nearly always the same where less than this share of the rows has another value.
RARE = 1.0 / 16.0


def any_order(X: Array) -> NDArray[np.intp]:
    """Places of the rows of X (n, d) in an order that depends on their values alone, (n,)."""
    return np.argsort(row_hash(X, None), kind="stable")


class Sets:
    """Sets of rows of X (n, d), number 0 the common one, and the weights of pairs of their rows.

    The order of the rows of X makes no difference. rare: of inputs that are nearly always the same,
    the rows in which they are not, some of which join the rows of a set that come in turn.
    """

    def __init__(self, X: Array, size: int) -> None:
        rng = np.random.default_rng(0)
        self.order, self.size = rng.permutation(any_order(X)), size
        usual = np.sort(X[self.order[:size]], axis=0)[size // 2]
        unusual = X != usual
        found = unusual.sum(axis=0)
        few = np.flatnonzero((found > 0) & (found < RARE * len(X)) & (size < len(X)))
        few = few[np.argsort(found[few], kind="stable")][: size // 4]
        # In an order of their own: those in turn must not be met again as rows that join.
        self.rare = [rng.permutation(self.order[unusual[self.order, i]]) for i in few]
        share = size // (4 * max(len(few), 1))
        self.joining = [min(len(rows), share) for rows in self.rare]
        self.joins = np.zeros(len(X))
        for rows, joining in zip(self.rare, self.joining, strict=True):
            self.joins[rows] += joining / len(rows)

    def __getitem__(self, k: int) -> tuple[NDArray[np.intp], Array | None]:
        """Rows of a set, and one over how often each pair of them is expected; None: all alike."""
        lists, sizes = [self.order, *self.rare], [self.size, *self.joining]
        rows = np.concatenate(
            [
                own[np.arange(k * m, (k + 1) * m) % len(own)]
                for own, m in zip(lists, sizes, strict=True)
            ]
        )
        if not self.rare:
            return rows, None
        N, m, joins = len(self.order), self.size, self.joins[rows]
        singly = m / N * joins
        expected = m * (m - 1) / (N * (N - 1)) + singly + singly[:, None] + np.outer(joins, joins)
        return rows, 1.0 / expected


def relevance(
    draws: Sequence[Draw],
    weights: Sequence[Array],
    scaling: InputScaling,
    trend: Trend,
    X: Array,
    coverage: float,
) -> list[Estimate]:
    """Total Sobol index of each varying input over rows X (n, d), at most 1.

    The interval counts what draws differ by, and what sets of rows leave open if X has more rows
    than a set. The order of the rows makes no difference.
    """
    each = len(weights[0]) * int(scaling.used.sum())
    n = min(len(X), int(np.clip(ROWS_TIMES_INPUTS // each, FEWEST_ROWS, ROWS)))
    given = X[:, scaling.used]
    sets = Sets(given, n)
    rows, weight = sets[0]
    common = scaling(X[rows])
    pairs = list(zip(draws, weights, strict=True))
    shares = np.stack([_ratio(*squares(*pair, common, trend, weight)) for pair in pairs])
    level, error = np.ones(shares.shape[1]), np.zeros(shares.shape[1])
    seen = _varies(given[rows])
    if n < len(X):
        shares[:, ~shares.any(axis=0)] = 1.0  # nothing there says how draws differ: other sets may
        changed, expected = np.empty((2, SETS, shares.shape[1]))
        for k in range(SETS):
            rows, weight = sets[k + 1]
            own = scaling(X[rows])
            seen |= _varies(given[rows])
            changed[k], total = squares(*pairs[k % len(pairs)], own, trend, weight)
            expected[k] = shares[k % len(pairs)] * total
        level = _ratio(changed.sum(axis=0), expected.sum(axis=0))
        rest = ((changed - level * expected) ** 2).sum(axis=0) * SETS / (SETS - 1)
        error = _ratio(np.sqrt(rest), expected.sum(axis=0))
    tail = 0.5 * (1.0 - coverage)
    middle, low, high = np.quantile(shares, [0.5, tail, 1.0 - tail], axis=0)
    chance = -float(ndtri(tail)) * error * middle
    low = level * middle - np.hypot(level * (middle - low), chance)
    high = level * middle + np.hypot(level * (high - middle), chance)
    high[~seen & _varies(given)] = 1.0  # nobody knows
    ends = np.clip([level * middle, low, high], 0.0, 1.0)
    return [Estimate(*map(float, one)) for one in ends.T]


def squares(
    draw: Draw, beta: Array, X: Array, trend: Trend, weight: Array | None = None
) -> tuple[Array, float]:
    """Squared changes over all pairs of rows X (n, d) in model units, added over tasks and pairs.

    Of one input alone, (d,), and of all of them together; pairs count by their weight (n, n), if
    any. With phases u = Wx, changed by v = w_i (x_bi - x_ai), and weights c and s of the cosines
    and sines, a change is

        sum_j p_j (cos v_j - 1) + q_j sin v_j,  p = c cos u + s sin u,  q = s cos u - c sin u,

    whose cos v and sin v are sums of products of one factor of a and one of b: a matrix product.
    """
    weight = np.full((len(X), len(X)), 1.0 / len(X) ** 2) if weight is None else weight
    varies = _varies(X)  # what does not must change nothing, not even by rounding
    changed, total = np.zeros(X.shape[1]), 0.0
    if not varies.any():
        return changed, total
    for f in function_at(draw, beta, X, trend):
        total += float((weight * (f[:, None] - f) ** 2).sum())
    phases = feature_rows(X, draw.W)
    cos_u, sin_u = phases[0::2], phases[1::2]
    c, s = beta[:, -len(phases) :: 2, None], beta[:, 1 - len(phases) :: 2, None]
    p, q = c * cos_u + s * sin_u, s * cos_u - c * sin_u  # (T, M, n)
    slopes = beta[:, 1 : 1 + X.shape[1]] / np.sqrt(X.shape[1]) if trend == "linear" else None
    left = np.empty_like(phases)
    for i in np.flatnonzero(varies):
        right = feature_rows(X[:, i : i + 1], draw.W[:, i : i + 1], scale=1.0)
        cos_b, sin_b = right[0::2], right[1::2]
        for t in range(len(beta)):
            np.subtract(p[t] * cos_b, q[t] * sin_b, out=left[0::2])
            np.add(p[t] * sin_b, q[t] * cos_b, out=left[1::2])
            f = left.T @ right
            f -= f.diagonal()[:, None].copy()
            if slopes is not None:
                f += slopes[t, i] * (X[:, i] - X[:, i : i + 1])
            changed[i] += float((weight * f**2).sum())
    return changed, total


def _varies(X: Array) -> NDArray[np.bool_]:
    """Which columns of X (n, d) hold more than one value, of whatever size these are, (d,)."""
    return np.asarray((X != X[:1]).any(axis=0))


def _ratio(above: Array, below: Array | float) -> Array:
    """above / below, zero where there is nothing to divide by."""
    some = np.broadcast_to(np.asarray(below) > 0.0, above.shape)
    return np.divide(above, below, out=np.zeros_like(above), where=some)
