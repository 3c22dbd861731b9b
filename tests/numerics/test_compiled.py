"""Every compiled loop does what its source says when it runs as ordinary Python.

This also lets coverage see the lines of the loops, which it cannot while they are compiled.
"""

import copy

import numpy as np
import pytest

from banklearn.numerics import _accept, _compiled, _exchange

DISPATCHERS = {
    name: f
    for module in (_compiled, _accept, _exchange)
    for name, f in vars(module).items()
    if hasattr(f, "py_func")
}
RNG = np.random.default_rng(0)


def spd(n, tasks=2):
    A = RNG.standard_normal((tasks, n, 2 * n))
    return np.ascontiguousarray(A @ A.transpose(0, 2, 1))


def phases():
    plain = np.array([0.0, 0.3, 1.2, 2.0, 3.5, 5.1, -0.4, -2.2, -4.0, 1e4, 1e5, -1e5])
    return np.stack([plain, 7.0 * plain])


def accept(m, a_n, tasks=1, broken=None):
    """Arguments of accept_small; broken spoils a diagonal entry."""
    S = spd(4 * m + 1, tasks)
    if broken is not None:
        S[:, broken, broken] = -1.0
    log_u = 0.3 * RNG.standard_normal(m)
    return S, 0, 50.0 if a_n else 0.0, a_n, log_u, np.zeros(m, dtype=np.int64), np.zeros(2)


def crp(log_alpha):
    Z = np.array([0, 0, 1, 1, 2, 0, 1, 2])
    counts = np.bincount(Z)
    density, new = RNG.standard_normal((8, 3)), RNG.standard_normal(8)
    return 0, RNG.random(8), Z, counts, density, new, log_alpha


def logistic(n=12, scale=1.0, weight=None):
    c, s = RNG.standard_normal((2, n))
    y = (RNG.random(n) < 0.5).astype(float)
    weight = np.ones(n) if weight is None else np.full(n, weight)
    return scale * c, scale * s, RNG.standard_normal(n), y, weight


def log_value(a_n, S=None, rest=50.0):
    return (spd(5) if S is None else S), 0, 2, rest, a_n


def eliminate(broken=False):
    S = spd(13)
    if broken:
        S[:, 5, 5] = -1.0
    return S, 0, 0, 1, 3, np.array([4, 5, 10, 11]), np.zeros((2, 5, 5))


#: A pair that is proposed, and a current one; of a later place the first.
SOME, AWAY = np.array([1, 2]), np.array([3, 0])
DROP, KEEP = np.array([0, 1, 7]), np.array([4, 5, 2, 3])


def gathered():
    return np.zeros((3, 3)), np.zeros((3, 5)), np.zeros((5, 5))


CASES = {
    "gather": [
        (spd(10, 1)[0], RNG.standard_normal(10), 0.5, DROP, KEEP, *gathered()),
    ],
    "gather_second": [
        (spd(13, 1)[0], 0, 1, 3, np.zeros((4, 4)), np.zeros((4, 5)), np.zeros((5, 5))),
    ],
    "gather_first": [
        (spd(13, 1)[0], 0, 2, 3, SOME, np.zeros((4, 4)), np.zeros((4, 5))),
    ],
    "fill_factor": [
        (spd(4, 1)[0], RNG.random((4, 9)), SOME, 0, np.zeros((8, 8)), np.zeros(8)),
    ],
    "gather_used": [(spd(9, 1)[0], 0, SOME, np.zeros((4, 4)), np.zeros((4, 1)))],
    "select": [(spd(6, 1)[0], np.array([4, 1, 2]), np.zeros((3, 3)), 0, 2)],
    "_cos_sin": [(phases()[0], np.zeros(12), np.zeros(12), 0.5)],
    "cos_sin_rows": [(phases(), np.zeros((4, 12)), 0.5)],
    "crp_walk": [crp(-50.0), crp(0.0), crp(50.0)],
    "_log_value": [
        log_value(0.0),
        log_value(3.0),
        log_value(3.0, rest=-1e9),
        log_value(0.0, -spd(5)),
        log_value(0.0, np.ones((2, 5, 5)) - 1e-3 * np.eye(5)),
    ],
    "_eliminate": [eliminate(), eliminate(broken=True)],
    "accept_small": [
        accept(1, 0.0),
        accept(1, 5.0),
        accept(1, 0.0, broken=2),
        accept(3, 0.0, tasks=2),
        accept(5, 5.0),
        accept(4, 5.0, broken=7),
    ],
    "mirror_lower": [(RNG.standard_normal((40, 40)),)],
    "copy_lower": [(RNG.standard_normal((5, 5)), np.ones((5, 5)))],
    "logistic_pair": [(*logistic(), 0.3, -2.0)],
    "laplace_pair": [
        (*logistic(), 0.5),
        (*logistic(scale=1e3, weight=1e6), 1e-6),
        (*logistic(scale=40.0), 1e-9),
    ],
    "_add_slope": [(*RNG.standard_normal((6, 9)), 0.4, -1.1, np.zeros(9))],
    "add_phase_gradient": [
        (
            RNG.standard_normal((4, 9)),
            RNG.standard_normal((4, 9)),
            RNG.random(9),
            RNG.standard_normal(9),
            RNG.standard_normal(4),
            np.zeros((2, 9)),
        )
    ],
}


def far_off():
    """One row whose class is very unlikely at zero: the first Newton step goes much too far."""
    one = np.ones(1)
    return one, np.zeros(1), np.array([-10.0]), one, one, 1e-6


def exchanging(m, a_n, tasks=1, broken=None):
    """Arguments of exchange_small."""
    S, o, rest, a_n, log_u, chosen, gain = accept(m, a_n, tasks, broken)
    return S, o, rest, a_n, log_u - 1.0, RNG.random(m), chosen, gain


def valued(a_n, spoil=False):
    """Arguments of _values: three pairs in use, the second of them proposed for the first place."""
    S, chosen = spd(13, 1), np.array([0, 1, 4])
    columns = np.array([0, 1, 2, 3, 8, 9])
    L = np.linalg.cholesky(S[0][np.ix_(columns, columns)])
    R = np.linalg.inv(L)
    whole, v = R.T @ R, R @ S[0, 12, columns]
    K = np.array([np.diag(whole), [0.0, *np.diag(whole, -1)]])
    if spoil:
        S[0, 6, 6] = 0.0
    factors = (A[None] for A in (np.column_stack([L.T, v, R]), K, R.T @ v))
    return S, 0, 500.0, a_n, chosen, 1, *factors, np.array([v @ v]), np.zeros(4)


def factored(broken=False):
    S = spd(13, 1)[0]
    if broken:
        S[4, 4] = -1.0
    return S, 0, np.array([1, 2, 0]), np.zeros((6, 13)), np.zeros((2, 6)), np.zeros(6)


# After the others, which have their random numbers by their place.
CASES["accept_small"] += [
    (*accept(3, 0.0)[:4], np.full(3, -1e9), np.zeros(3, dtype=np.int64), np.zeros(2)),
    (*accept(1, 5.0)[:4], np.full(1, -1e9), np.zeros(1, dtype=np.int64), np.zeros(2)),
    accept(4, 0.0, broken=8),
]
CASES["gather_first"] += [
    (spd(13, 1)[0], 0, 2, 3, AWAY, np.zeros((4, 4)), np.zeros((4, 5))),
]
CASES["gather_used"] += [(spd(9, 1)[0], 0, AWAY, np.zeros((4, 4)), np.zeros((4, 1)))]
CASES["_factor"] = [factored(), factored(broken=True)]
CASES["_pair"] = [
    (2.0, 0.5, 1.0, 0.3, -0.2),
    (-1.0, 0.5, 1.0, 0.3, 0.2),
    (0.0, 0.5, 1.0, 0.3, 0.2),
    (1.0, 2.0, 1.0, 0.3, 0.2),
]
CASES["_values"] = [valued(0.0), valued(4.0), valued(4.0, spoil=True)]
CASES["_of"] = [(1.0, 2.0, 0.5, 3.0, 2.0), (1.0, 9.0, 0.5, 3.0, 2.0), (1.0, 2.0, 0.5, 3.0, 0.0)]
CASES["_other"] = [
    (np.array(values), u, log_u)
    for values in (
        [0.3, -0.2, 0.1],
        [0.3, np.nan, 0.1],
        [np.nan, np.nan, 0.0],
        [900.0, -900.0, 0.0],
    )
    for u, log_u in ((0.1, -0.01), (0.9, -3.0))
]
CASES["exchange_small"] = [
    exchanging(1, 0.0),
    exchanging(1, 5.0),
    exchanging(3, 0.0, tasks=2),
    exchanging(6, 5.0),
    exchanging(4, 5.0, broken=4),
    exchanging(4, 5.0, broken=6),
]
CASES["extend"] = [
    (*(RNG.standard_normal(shape) for shape in ((3, 3), (n, 3), (n, n))), np.ones((3 + n,) * 2), *p)
    for n, *p in ((4, 0, 1), (70, 1, 2))
]
CASES["crp_walk"] += [(0, np.ones(8), *crp(-50.0)[2:])]
CASES["laplace_pair"] += [far_off()]


def test_cases_reach_what_is_rare():
    sure = copy.deepcopy(CASES["accept_small"][-2])
    DISPATCHERS["accept_small"].py_func(*sure)
    assert sure[5].tolist() == [1]
    spoiled = copy.deepcopy(CASES["accept_small"][-1])
    DISPATCHERS["accept_small"].py_func(*spoiled)
    assert spoiled[6][1] == 1.0
    assert not (spoiled[5][:2] % 2).any()  # decided after what could not be taken out
    b0, _, h00, _, _ = DISPATCHERS["laplace_pair"].py_func(*far_off())
    slope = 1.0 / (1.0 + np.exp(b0 - 10.0)) - 1e-6 * b0
    assert abs(slope) < 1e-5 * h00**0.5  # at the mode, although the first step went past it


def test_every_loop_has_a_case():
    assert DISPATCHERS.keys() == CASES.keys()


@pytest.mark.parametrize(
    ("name", "arguments"), [(name, case) for name, cases in CASES.items() for case in cases]
)
def test_the_compiled_loop_does_what_its_source_says(name, arguments):
    compiled, plain = copy.deepcopy(arguments), copy.deepcopy(arguments)
    result = DISPATCHERS[name](*compiled)
    expected = DISPATCHERS[name].py_func(*plain)
    if expected is not None:
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-12)
    for changed, right in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(changed, right, rtol=1e-9, atol=1e-12)
