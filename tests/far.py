"""Matrices that are not in memory, and how columns are eliminated from them, by definition."""

import numpy as np


class Far:
    """A matrix that is not in memory."""

    def __init__(self, A):
        self.A = A


class Eliminate:
    """Schur complements by their definition; up to three frequencies come to memory."""

    def __init__(self, fails=None):
        self.calls, self.fails = [], fails

    def __call__(self, S, r, keep, drop):
        self.calls.append((keep, drop.tolist()))
        if len(self.calls) == self.fails:
            raise np.linalg.LinAlgError("not positive definite")
        kept = np.r_[keep]
        B = np.linalg.solve(S.A[np.ix_(drop, drop)], S.A[np.ix_(drop, kept)])
        reduced = S.A[np.ix_(kept, kept)] - S.A[np.ix_(kept, drop)] @ B
        quadratic = r[drop] @ np.linalg.solve(S.A[np.ix_(drop, drop)], r[drop])
        near = len(kept) <= 4 * 3
        return (reduced if near else Far(reduced)), r[kept] - r[drop] @ B, float(quadratic)
