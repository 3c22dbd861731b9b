"""The paper's sampler of the frequencies, written plainly: one at a time, by low-rank updates.

For j = 1..M: the two columns of W_j* over all rows, their products with the N x 2M matrix Phi
that is kept in memory (O(N M)), and the Cholesky factor of Phi'Phi + lam I without frequency j
and with W_j* instead (O(M^2)): two rows leave the factor by Givens rotations, two are appended.
The evidence ratio decides. Removing rows is an update and never a downdate, so it is stable.

It takes the random numbers of the package's sweep, so that decisions can be compared one by one.
It is meant to be fair: compiled rotations, threaded products that read Phi once, and a rejected
proposal costs no change of the factor.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numba import njit
from scipy.linalg.blas import dgemm, dgemv, dtrsm

from banklearn.model.features import Trend, feature_rows, trend_columns
from banklearn.numerics.blas import add_square, cholesky_lower, mirror
from banklearn.numerics.threads import available_cores

Array = np.ndarray
Product = Callable[[Array, Array], Array]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _rotate(row, first, second, target, c1, s1, c2, s2):  # type: ignore[no-untyped-def]
    # A function of its own with one-dimensional arguments, which the compiler can vectorise.
    for i in range(row.shape[0]):
        x, f, g = row[i], first[i], second[i]
        mixed = c1 * x + s1 * f
        first[i] = c1 * f - s1 * x
        target[i] = c2 * mixed + s2 * g
        second[i] = c2 * g - s2 * mixed


@njit(cache=True, nogil=True)
def remove_pair(R, p, out):  # type: ignore[no-untyped-def]
    """The factor of A without rows and columns p, p + 1: out'out, given R'R = A, both upper.

    Rows above p lose two entries. The rows below take up the two rows that leave, by rotations.
    """
    P = R.shape[0]
    for k in range(p):
        for i in range(k, p):
            out[k, i] = R[k, i]
        for i in range(p + 2, P):
            out[k, i - 2] = R[k, i]
    first = R[p, p + 2 :].copy()
    second = R[p + 1, p + 2 :].copy()
    for k in range(P - p - 2):
        row = R[p + 2 + k, p + 2 :]
        target = out[p + k, p:]
        a = row[k]
        b = math.hypot(a, first[k])
        c1, s1 = a / b, first[k] / b
        e = math.hypot(b, second[k])
        c2, s2 = b / e, second[k] / e
        _rotate(row[k:], first[k:], second[k:], target[k:], c1, s1, c2, s2)


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _two_dots(row, a, b):  # type: ignore[no-untyped-def]
    x = 0.0
    y = 0.0
    for i in range(row.shape[0]):
        x += row[i] * a[i]
        y += row[i] * b[i]
    return x, y


@njit(cache=True, nogil=True)
def _rows_times_pair(Phi, star, out):  # type: ignore[no-untyped-def]
    """out += Phi star', in pieces of columns that keep star in cache."""
    piece = 2048
    for start in range(0, Phi.shape[1], piece):
        stop = min(start + piece, Phi.shape[1])
        for p in range(Phi.shape[0]):
            x, y = _two_dots(Phi[p, start:stop], star[0, start:stop], star[1, start:stop])
            out[p, 0] += x
            out[p, 1] += y


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cores())


def by_loop(Phi: Array, star: Array) -> Array:
    """Phi star' (P, 2): a compiled loop that reads Phi once, one thread per core."""
    out = np.zeros((len(Phi), 2))
    cuts = np.linspace(0, len(Phi), available_cores() + 1).astype(int)
    jobs = [_pool().submit(_rows_times_pair, Phi[a:b], star, out[a:b]) for a, b in pairwise(cuts)]
    for job in jobs:
        job.result()
    return out


def by_gemm(Phi: Array, star: Array) -> Array:
    """Phi star' (P, 2) as one matrix product."""
    return dgemm(1.0, Phi.T, star.T, trans_a=1)


def by_gemv(Phi: Array, star: Array) -> Array:
    """Phi star' (P, 2) as two products of a matrix and a vector."""
    return np.stack([dgemv(1.0, Phi.T, column, trans=1) for column in star], axis=1)


PRODUCTS: dict[str, Product] = {"loop": by_loop, "gemm": by_gemm, "gemv": by_gemv}


def fastest_product(Phi: Array, star: Array, repeats: int = 3) -> str:
    """The name of the product that is fastest here, for these shapes."""
    best = {}
    for name, product in PRODUCTS.items():
        product(Phi, star)
        seconds = []
        for _ in range(repeats):
            begin = time.perf_counter()
            product(Phi, star)
            seconds.append(time.perf_counter() - begin)
        best[name] = min(seconds)
    return min(best, key=best.__getitem__)


class LowRank:
    """Phi (P, N), its Gram matrix and the factor of Phi'Phi + lam I at some frequencies.

    places[k] is the frequency whose pair of columns stands k-th in the factor, behind the trend.
    Any order gives the same decisions; an accepted pair moves to the end.
    """

    def __init__(
        self,
        X: Array,
        y: Array,
        W: Array,
        lam: float,
        trend: Trend,
        a_n: float,
        rest: float,
        product: str | None = None,
        places: Sequence[int] | None = None,
    ) -> None:
        self.X, self.y, self.W, self.lam, self.a_n, self.rest = X, y, W.copy(), lam, a_n, rest
        self.M, self.h = len(W), trend_columns(trend, X.shape[1])
        self.Phi = feature_rows(X, W, trend)
        P = len(self.Phi)
        self.G = np.zeros((P, P))
        add_square(self.G, self.Phi)
        mirror(self.G)
        self.r = self.Phi @ y
        self.places = list(range(self.M)) if places is None else list(places)
        columns = self.columns()
        A = self.G[np.ix_(columns, columns)]
        A[np.diag_indices(P)] += lam
        self.R = np.ascontiguousarray(cholesky_lower(A).T)
        self.spare = np.zeros_like(self.R)
        self.star = np.empty((2, len(X)))
        self.value = self._value(self.R, self._solve(self.R, self.r[columns][:, None])[:, 0])
        self.product = product or fastest_product(self.Phi, self.Phi[self.h : self.h + 2])

    def columns(self) -> Array:
        """Columns of Phi in the order of the factor."""
        pairs = self.h + 2 * np.asarray(self.places, dtype=np.intp)
        return np.concatenate([np.arange(self.h), np.stack([pairs, pairs + 1], axis=1).ravel()])

    @staticmethod
    def _solve(R: Array, B: Array) -> Array:
        """R^-T B for upper triangular R in row order; B may be overwritten."""
        return dtrsm(1.0, R.T, B, lower=1, overwrite_b=1)

    def _value(self, R: Array, v: Array) -> float:
        """Log evidence up to a constant: -1/2 log|A| - a_n log(b_0 + (Y'Y - v'v) / 2)."""
        left = self.rest - 0.5 * float(v @ v)
        if not left > 0.0:
            return math.nan
        return float(-np.log(np.diagonal(R)).sum() - self.a_n * math.log(left))

    def decide(self, j: int, W_star_j: Array, log_u: float) -> bool:
        """Accept or reject the proposal for frequency j."""
        h, P = self.h, len(self.R)
        scale = 1.0 / np.sqrt(self.M)
        star = feature_rows(self.X, W_star_j[None], "none", self.star, scale)
        cross = PRODUCTS[self.product](self.Phi, star)
        square, target = by_gemm(star, star), dgemv(1.0, star.T, self.y, trans=1)

        place = self.places.index(j)
        others = np.delete(self.columns(), [h + 2 * place, h + 2 * place + 1])
        without = self.spare
        remove_pair(self.R, h + 2 * place, without)
        # Two rows of the identity close the factor: BLAS then takes it as it lies in memory.
        without[: P - 2, P - 2 :] = 0.0
        without[P - 2 :, P - 2 :] = np.eye(2)
        right = np.zeros((P, 3), order="F")
        right[: P - 2, :2], right[: P - 2, 2] = cross[others], self.r[others]
        solved = self._solve(without, right)[: P - 2]
        B, v = solved[:, :2], solved[:, 2]
        try:
            corner = np.linalg.cholesky(square + self.lam * np.eye(2) - B.T @ B)
        except np.linalg.LinAlgError:
            return False
        last = np.linalg.solve(corner, target - B.T @ v)
        value = self._value(without, np.concatenate([v, last]))
        value -= float(np.log(np.diagonal(corner)).sum())
        if not log_u < value - self.value:
            return False

        self.spare[: P - 2, P - 2 :] = B
        self.spare[P - 2 :, P - 2 :] = corner.T
        self.R, self.spare = self.spare, self.R
        self.places.append(self.places.pop(place))
        self.value, self.W[j] = value, W_star_j
        pair = slice(h + 2 * j, h + 2 * j + 2)
        self.Phi[pair] = star
        cross[pair] = square
        self.G[:, pair] = cross
        self.G[pair] = cross.T
        self.r[pair] = target
        return True

    def sweep(self, W_star: Array, log_u: Array, count: int | None = None) -> Array:
        """Decide the first `count` frequencies (all, if None) in turn; which were accepted."""
        count = self.M if count is None else count
        return np.array([self.decide(j, W_star[j], float(log_u[j])) for j in range(count)])


def spread_places(M: int, count: int) -> list[int]:
    """An order of the factor where the first `count` frequencies stand evenly spread.

    Removing a pair costs more the further ahead it stands. With the timed frequencies spread
    out, their mean cost is that of a whole sweep.
    """
    at = ((np.arange(count) + 0.5) * M / count).astype(int)
    places = np.full(M, -1)
    places[at] = np.arange(count)
    places[places < 0] = np.arange(count, M)
    return [int(j) for j in places]
