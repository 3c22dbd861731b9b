"""Errors of the training rows, each predicted as if it had not been seen.

Given the frequencies, a row leaves the regression in closed form: with the leverage h of a row,
its error grows by 1 / (1 - h). The frequencies have seen it too, and hundreds of them can go a
long way towards a row. A draw that counts by 1 / p(y_i | W, other rows) turns draws given all rows
into draws given the others (importance sampling; Gelfand, Dey and Chang, 1992), in every chain by
itself: chains keep their modes, and predictions average over them as they are. Weights can undo
only what draws of a chain differ in, and chains that have not been everywhere differ in less than
the posterior does: they count by the square.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import t as student_t

from banklearn.model.features import Trend
from banklearn.posterior.draws import Draw
from banklearn.posterior.error_law import Errors
from banklearn.posterior.predict import PREDICT_ROWS, latent, row_blocks, variance_factor

Array = NDArray[np.float64]

#: A row that decides its own prediction by more is taken to decide it so far.
LARGEST_LEVERAGE = 0.99
#: The power of 1 / p by which draws count. One would be right for chains that have been everywhere;
#: by hold-outs of training rows, see docs/model.md.
POWER = 2.0
#: Rows times draws that are looked at together.
BLOCK = 1 << 18


def left_out_errors(
    draws: Sequence[Draw],
    X: Array,
    y: Array,
    weight: Array | None,
    trend: Trend,
    power: float = POWER,
) -> Errors:
    """y - mean of each row given the others, and the variances of noise and function there.

    X (n, d) and y (n,) are training rows in model units; draws count by this power of 1 / p. Of a
    row that stands for w rows, one (or the whole row, if w is less) is left out: so much of p is in
    the law of the draws.
    """
    chain = np.array([draw.chain for draw in draws])
    found = Errors(*np.empty((3, len(X))))
    for part in row_blocks(X, min(max(BLOCK // len(draws), 1), PREDICT_ROWS)):
        left_out = 1.0 if weight is None else np.minimum(weight[part], 1.0)
        location, scale, dof, relative = without_each(draws, X[part], y[part], left_out, trend)
        log_p = student_t.logpdf((y[part] - location) / scale, dof) - np.log(scale)
        share = importance(power * left_out * log_p, chain)
        mean = (share * location).sum(axis=0)
        within = (share * scale**2 * variance_factor(dof)).sum(axis=0)
        found.error[part] = y[part] - mean
        found.noise[part] = within / (1.0 + relative)
        between = (share * (location - mean) ** 2).sum(axis=0)
        found.doubt[part] = within * relative / (1.0 + relative) + between
    return found


def without_each(
    draws: Sequence[Draw], X: Array, y: Array, left_out: Array | float, trend: Trend
) -> tuple[Array, Array, Array, Array]:
    """Location, scale and degrees of freedom of y_i given W and the other rows, (S, n) each.

    Last comes the variance of the function by that of the noise, (n,): leverages of a draw come
    from a sketch of A^-1 and are rough; their mean over draws is not.
    """
    f, h = np.empty((len(draws), len(X))), np.zeros(len(X))
    for s, draw in enumerate(draws):
        mean, spread = latent(draw, X, trend)
        f[s] = mean[0]
        h += spread[0] / len(draws)
    stays = 1.0 - np.minimum(left_out * h, LARGEST_LEVERAGE)
    noise = np.array([[draw.noise] for draw in draws])
    dof = np.array([[draw.dof] for draw in draws])
    # b_n and a_n without the row: its part of b_n is (y - f)^2 / (2 (1 - h)).
    part = left_out * (y - f) ** 2 / (stays * noise * dof)
    noise = noise * dof * (1.0 - np.minimum(part, LARGEST_LEVERAGE)) / (dof - left_out)
    relative = h / stays
    scale = np.sqrt(noise * (1.0 + relative))
    return y - (y - f) / stays, scale, np.broadcast_to(dof - left_out, f.shape), relative


def importance(log_p: Array, chain: NDArray[np.intp]) -> Array:
    """Shares of draws (S, n) in proportion to 1 / p within each chain; they add up to one.

    Before that they are cut at sqrt(S) times the mean of their chain of S draws (Ionides, 2008):
    how large the largest of them is, is mostly chance.
    """
    share = np.empty_like(log_p)
    for c in np.unique(chain):
        own = chain == c
        S = int(own.sum())
        each = np.exp(-log_p[own] - logsumexp(-log_p[own], axis=0))
        each = np.minimum(each, 1.0 / np.sqrt(S))
        share[own] = each / each.sum(axis=0) * (S / len(chain))
    return share
