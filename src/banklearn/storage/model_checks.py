"""What a model file must hold, checked in three steps: header, shapes, values.

Each failure is a ValueError that says what is wrong. A file that passes gives finite predictions:
anybody can write a file with a right checksum, so nothing is taken on trust.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from banklearn.model.class_tree import ClassTree
from banklearn.model.features import TRENDS, trend_columns
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import NumericalError, cholesky
from banklearn.posterior.normal_scores import KNOTS, NormalScores
from banklearn.posterior.scaling import KINDS
from banklearn.sampler.start import StartingPoint
from banklearn.storage.extra import MAX_BYTES
from banklearn.storage.strings import unpack_strings

#: Arrays by name; those of all draws or chains may be lists with one array each.
Arrays = Mapping[str, Any]
Table = Mapping[str, tuple[str, tuple[int, ...]]]

ESTIMATORS = ("BankRegressor", "BankClassifier")
#: Beyond this no sum of products of a model's numbers stays finite.
LARGEST = 1e100
#: Spreads of inputs below this make scaled inputs overflow.
SMALLEST_SPREAD = 1e-200
#: Student t laws with fewer degrees of freedom have quantiles beyond any number.
SMALLEST_DOF = 0.01
#: Normal scores of ranks stay well below this.
LARGEST_SCORE = 10.0
#: Normal laws of which a law of errors is made, and how far their scales may go.
MOST_LAWS = 64
LARGEST_RATIO = 1e6
#: Columns of a root: 16 and 8 in draws of regression and classification (fewer where there are
#: fewer weights, in regression), 1 where weights are sampled, 128 in a draw that was polished.
MOST_COLUMNS = 128
#: Draws, classes, names of inputs, names of traces: each becomes objects of many times its bytes.
MOST_DRAWS = 1 << 18
MOST_CLASSES = 1 << 18
MOST_NAMES = 1 << 20
MOST_TRACES = 32
#: Bytes of all names of inputs, or of all labels.
MOST_BYTES = 1 << 26
#: Numbers of one sweep under one name of a trace.
MOST_OF_A_KIND = 16
#: Characters of an array of labels, all as wide as the longest.
MOST_CHARACTERS = 1 << 22
#: Numbers that are looked at together: what the checks compute stays small beside the arrays.
BLOCK = 1 << 16
#: Parts of a trace that plots and reports read.
WATCHED = ("log_evidence", "log_likelihood", "K", "lam")
#: Labels by the dtype they had, and how they are stored.
LABELS = {
    **{f"{kind}{bits}": "i8" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": "f8" for bits in (16, 32, 64)},
    "bool": "b1",
    "str": "",
    "object": "",
}
_META = {
    "schema",
    "estimator",
    "parameters",
    "trend",
    "scaling",
    "start",
    "prior",
    "target",
    "labels",
    "sweeps",
    "warmup",
    "provenance",
}


def fail(what: str) -> NoReturn:
    """Refuse."""
    raise ValueError(what)


def check_meta(meta: Any) -> None:
    """The header: every key, every type, every range."""
    if not isinstance(meta, dict) or "schema" not in meta:
        fail("the header names no schema.")
    if meta["schema"] != 1 or isinstance(meta["schema"], bool):
        fail(
            f"its schema is {meta['schema']!r:.40}, but this banklearn reads schema 1. "
            "Read it with the banklearn that wrote it, or a later one."
        )
    if set(meta) != _META:
        fail(f"the header should hold {sorted(_META)}, but holds {str(sorted(meta))[:400]}.")
    _one_of(meta, "estimator", ESTIMATORS)
    _one_of(meta, "trend", TRENDS)
    _one_of(meta, "scaling", KINDS)
    _check_plain("parameters", meta["parameters"], 3)
    _check_plain("provenance", meta["provenance"], 3)
    start = _keys("start", meta["start"], {f.name for f in fields(StartingPoint)}, set())
    _number("start/scale", start["scale"], above=0.0)
    _number("start/lam", start["lam"], above=0.0)
    _number("start/log_evidence", start["log_evidence"])
    arrays = {"mu0", "psi_mean"}
    known = {f.name for f in fields(Prior)} - arrays
    needed = {f.name for f in fields(Prior) if f.default is MISSING} - arrays
    for name, value in _keys("prior", meta["prior"], known, known - needed).items():
        if value is not None or name != "psi_shape":
            _number(f"prior/{name}", value, above=None if name == "lam_log_mean" else 0.0)
    regression = meta["estimator"] == "BankRegressor"
    if regression:
        target = _keys("target", meta["target"], {"shift", "scale"}, set())
        _number("target/shift", target["shift"])
        _number("target/scale", target["scale"], above=0.0)
    if regression != (meta["labels"] is None) or regression == (meta["target"] is None):
        fail("a regressor has a target scaling and no labels, a classifier the other way round.")
    if not regression:
        _one_of(meta, "labels", tuple(LABELS))
    sweeps, warmup = meta["sweeps"], meta["warmup"]
    for name, counts in (("sweeps", sweeps), ("warmup", warmup)):
        if not isinstance(counts, list) or not 0 < len(counts) <= 4096:
            fail(f"{name} should be a list with one number per chain.")
        if not all(type(n) is int and 0 <= n < 2**40 for n in counts):
            fail(f"{name} should hold whole numbers.")
    if len(sweeps) != len(warmup) or any(w > n for w, n in zip(warmup, sweeps, strict=True)):
        fail("sweeps and warmup do not fit each other.")


def check_shapes(meta: Mapping[str, Any], table: Table) -> None:
    """Names, dtypes and shapes of all arrays, before any is read."""
    S, M, d = _shape(table, "draws/W", 3)
    T, P, R = _shape(table, "draws/root", 4)[1:]
    D = _shape(table, "scaling/used", 1)[0]
    Q = _shape(table, "draws/pi", 1)[0]
    if min(S, M, d, T, P, R, D, Q) < 1:
        fail("an array of draws is empty.")
    if S > MOST_DRAWS:
        fail(f"it has {S} draws; at most {MOST_DRAWS} can be stored.")
    if R > MOST_COLUMNS:
        fail(f"'draws/root' has {R} columns; at most {MOST_COLUMNS} can be stored.")
    if P != trend_columns(meta["trend"], d) + 2 * M or d > D:
        fail(f"{M} frequencies, {d} of {D} inputs and {P} weights do not fit each other.")
    expected: dict[str, tuple[str, tuple[int, ...]]] = {
        "draws/W": ("f8", (S, M, d)),
        "draws/mu_n": ("f8", (S, T, P)),
        "draws/root": ("f8", (S, T, P, R)),
        **{f"draws/{n}": ("f8", (S,)) for n in ("noise", "dof", "lam", "alpha", "log_evidence")},
        **{f"draws/{n}": ("i8", (S,)) for n in ("chain", "sweep", "components")},
        "draws/pi": ("f8", (Q,)),
        "draws/mu": ("f8", (Q, d)),
        "draws/Sigma": ("f8", (Q, d, d)),
        "scaling/used": ("b1", (D,)),
        **{f"scaling/{n}": ("f8", (d,)) for n in ("shift", "scale", "centre", "spread")},
        "prior/mu0": ("f8", (d,)),
        "prior/psi_mean": ("f8", (d,)),
    }
    if meta["scaling"] == "quantile":
        Q = _shape(table, "scaling/knots", 2)[0]
        if not 1 <= Q <= KNOTS:
            fail(f"quantiles have between 1 and {KNOTS} knots, not {Q}.")
        expected |= {f"scaling/{n}": ("f8", (Q, d)) for n in NormalScores._fields}
    if "errors/scale" in table and meta["labels"] is None:
        K = _shape(table, "errors/scale", 1)[0]
        if not 1 <= K <= MOST_LAWS:
            fail(f"a law of errors has between 1 and {MOST_LAWS} parts, not {K}.")
        expected |= {f"errors/{n}": ("f8", (K,)) for n in ("scale", "share")}
        if "errors/reach" in table:
            expected["errors/reach"] = ("f8", (1,))
    if "features/lengths" in table:
        expected |= _strings(table, "features", D)
    if "extra" in table:
        expected["extra"] = ("u1", _shape(table, "extra", 1))
        if expected["extra"][1][0] > MAX_BYTES:
            fail(f"extra has {expected['extra'][1][0]} bytes; at most {MAX_BYTES} can be stored.")
    if meta["labels"] is not None:
        if T >= MOST_CLASSES:
            fail(f"it has {T + 1} classes; at most {MOST_CLASSES} can be stored.")
        expected["stick"] = ("i8", (T + 1,))
        if "tree" in table:
            expected["tree"] = ("i8", (T, 3))
        stored = LABELS[meta["labels"]]
        single = {"classes": (stored, (T + 1,))}
        expected |= single if stored else _strings(table, "classes", T + 1)
    elif T != 1:
        fail(f"a regressor has one set of weights, not {T}.")
    total = sum(meta["sweeps"])
    traces = [name for name in table if name.startswith("trace/")]
    if len(traces) > MOST_TRACES:
        fail(f"it has {len(traces)} names of traces; at most {MOST_TRACES} can be stored.")
    for name in {*traces, *(f"trace/{w}" for w in WATCHED)}:
        if not re.fullmatch(r"trace/[A-Za-z_]{1,40}", name) or name == "trace/warmup":
            fail(f"{name!r} is no name of a trace.")
        dtype, shape = table.get(name, ("f8", (total,)))
        # One number per sweep, or a few of a kind.
        few: tuple[int, ...] = shape[1:2] if name.removeprefix("trace/") not in WATCHED else ()
        if few > (MOST_OF_A_KIND,):
            fail(f"the array {name!r} has {few[0]} numbers of a sweep, more than {MOST_OF_A_KIND}.")
        expected[name] = (dtype if dtype != "u1" else "f8", (total, *few))
    if set(table) != set(expected):
        fail(f"missing or unknown arrays: {sorted(set(table) ^ set(expected))[:5]}.")
    for name, want in expected.items():
        if table[name] != want:
            fail(f"the array {name!r} is {table[name]}, but {want} is expected.")


def check_values(meta: Mapping[str, Any], arrays: Arrays) -> None:
    """The numbers themselves."""
    for name in ("draws/W", "draws/mu_n", "draws/root", "draws/mu", "draws/Sigma", "prior/mu0"):
        _all(name, arrays, lambda a: np.abs(a) <= LARGEST, f"finite and at most {LARGEST:g}")
    for name in ("draws/noise", "draws/lam", "prior/psi_mean"):
        _all(name, arrays, lambda a: (a > 1 / LARGEST**3) & (a <= LARGEST**3), "above zero")
    # A concentration is only reported; with a vague prior it can be as small as numbers are.
    _all("draws/alpha", arrays, lambda a: (a > 0) & (a <= LARGEST**3), "above zero")
    _all("draws/noise", arrays, lambda a: a <= LARGEST, f"at most {LARGEST:g}")
    # A classifier's law is normal given the weights: infinitely many degrees of freedom.
    limit = math.inf if meta["target"] is None else LARGEST
    _all("draws/dof", arrays, lambda a: (a >= SMALLEST_DOF) & (a <= limit), "degrees of freedom")
    _all("draws/sweep", arrays, lambda a: a >= 0, "at least zero")
    chains = len(meta["sweeps"])
    _all("draws/chain", arrays, lambda a: (a >= 0) & (a < chains), f"below {chains}")
    _check_scaling(arrays)
    _check_mixtures(arrays["draws/pi"], arrays["draws/Sigma"])
    if "errors/scale" in arrays:
        _check_errors(arrays)
    if "features/lengths" in arrays:
        unpack_strings(arrays["features/lengths"], arrays["features/bytes"])
    if meta["labels"] is not None:
        _check_labels(meta["labels"], arrays)


def _check_scaling(arrays: Arrays) -> None:
    if int(arrays["scaling/used"].sum()) != len(arrays["scaling/shift"]):
        fail("the number of inputs in use does not fit their scaling.")
    for name in ("scale", "spread"):
        words = f"at least {SMALLEST_SPREAD:g}"
        _all(f"scaling/{name}", arrays, lambda a: (a >= SMALLEST_SPREAD) & (a <= 1e300), words)
    for place, spread in (("shift", "scale"), ("centre", "spread")):
        bound = np.minimum(LARGEST * arrays[f"scaling/{spread}"], 1e300)
        if not (np.abs(arrays[f"scaling/{place}"]) <= bound).all():
            fail(f"the values of 'scaling/{place}' are not all finite and of use.")
    if "scaling/knots" in arrays:
        _all("scaling/knots", arrays, np.isfinite, "finite")
        _all("scaling/heights", arrays, lambda a: np.abs(a) <= LARGEST_SCORE, "normal scores")
        for name in ("scaling/knots", "scaling/heights"):
            if (arrays[name][1:] < arrays[name][:-1]).any():
                fail(f"the values of {name!r} do not increase.")


def _check_errors(arrays: Arrays) -> None:
    _all(
        "errors/scale",
        arrays,
        lambda a: (a >= 1 / LARGEST_RATIO) & (a <= LARGEST_RATIO),
        f"between {1 / LARGEST_RATIO:g} and {LARGEST_RATIO:g}",
    )
    if (np.diff(arrays["errors/scale"]) <= 0).any():
        fail("the values of 'errors/scale' do not increase.")
    _all("errors/share", arrays, lambda a: (a > 0) & (a <= 1), "above zero and at most one")
    if not abs(float(arrays["errors/share"].sum()) - 1.0) <= 1e-6:
        fail("the shares of a law of errors do not add up to one.")
    if "errors/reach" in arrays:
        _all("errors/reach", arrays, lambda a: (a >= 0) & (a < math.inf), "finite, at least zero")


def check_components(counts: NDArray[Any], total: int) -> None:
    """Components of each draw, before the arrays of all draws are cut by them."""
    if (counts < 1).any() or (counts > total).any() or counts.sum() != total:
        fail("the numbers of components do not fit the mixtures.")


def _check_mixtures(weights: Sequence[Any], covariances: Sequence[Any]) -> None:
    for pi in weights:
        if not ((pi >= 0) & (pi <= 1)).all():
            fail("the values of 'draws/pi' are not all between 0 and 1.")
        if not abs(float(pi.sum()) - 1.0) <= 1e-6:
            fail("the weights of a mixture do not add up to one.")
    for Sigma in covariances:
        for matrix in Sigma:
            if not _symmetric(matrix):
                fail("a covariance matrix is not symmetric.")
            try:
                cholesky(matrix)
            except NumericalError:
                fail("a covariance matrix is not positive definite.")


def _symmetric(matrix: NDArray[np.float64]) -> bool:
    largest = max(float(matrix.max()), -float(matrix.min()))
    rows = max(BLOCK // len(matrix), 1)
    return all(
        float(np.abs(matrix[i : i + rows] - matrix[:, i : i + rows].T).max()) <= 1e-8 * largest
        for i in range(0, len(matrix), rows)
    )


def _check_labels(dtype: str, arrays: Arrays) -> None:
    if dtype in ("str", "object"):
        words = unpack_strings(arrays["classes/lengths"], arrays["classes/bytes"])
        if len(words) * max(map(len, words)) > MOST_CHARACTERS:
            fail("the labels are too many for the length of the longest.")
        labels: Any = np.array(words, dtype=object)
    else:
        labels = arrays["classes"]
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            fail("a label is not finite.")
        with np.errstate(over="ignore", invalid="ignore"):
            narrow = labels.astype(dtype)
        if not np.array_equal(narrow, labels):
            fail(f"the labels do not fit the dtype {dtype}.")
    if not all(a < b for a, b in zip(labels[:-1].tolist(), labels[1:].tolist(), strict=True)):
        fail("the labels are not in increasing order.")
    if not np.array_equal(np.sort(arrays["stick"]), np.arange(len(labels))):
        fail("the stick is not an order of the labels.")
    if "tree" in arrays:
        ClassTree.of(arrays["tree"])


def _all(name: str, arrays: Arrays, test: Callable[..., Any], words: str) -> None:
    found = arrays[name]
    for part in found if isinstance(found, list) else (found,):
        flat = part.reshape(-1)
        for i in range(0, len(flat), BLOCK):
            if not np.all(test(flat[i : i + BLOCK])):  # NaN fails every comparison
                fail(f"the values of {name!r} are not all {words}.")


def _shape(table: Table, name: str, dimensions: int) -> tuple[int, ...]:
    if name not in table:
        fail(f"the array {name!r} is missing.")
    shape = table[name][1]
    if len(shape) != dimensions:
        fail(f"the array {name!r} has {len(shape)} dimensions instead of {dimensions}.")
    return shape


def _strings(table: Table, name: str, count: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    length = _shape(table, f"{name}/bytes", 1)[0]
    if count > MOST_NAMES:
        fail(f"it has {count} texts under {name!r}; at most {MOST_NAMES} can be stored.")
    if length > MOST_BYTES:
        fail(f"it has {length} bytes under {name!r}; at most {MOST_BYTES} can be stored.")
    return {f"{name}/lengths": ("i8", (count,)), f"{name}/bytes": ("u1", (length,))}


def _one_of(meta: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> None:
    if not isinstance(meta[name], str) or meta[name] not in choices:
        fail(f"{name} is {meta[name]!r:.60}, but should be one of {choices}.")


def _keys(name: str, value: Any, known: set[str], optional: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict) or not known - optional <= set(value) <= known:
        fail(f"{name} should hold {sorted(known)}.")
    return value


def _number(name: str, value: Any, above: float | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        fail(f"{name} should be a number.")
    if not abs(value) <= 1e300 or (above is not None and value <= above):
        fail(f"{name} is {value!r:.60}, which cannot be.")


def _check_plain(name: str, value: Any, depth: int) -> None:
    """Nothing but short texts, finite numbers, truth values and None, nested a little."""
    if isinstance(value, dict) and depth:
        for key, item in value.items():
            _check_plain(f"{name}/{key[:40]}", item, depth - 1)
    elif isinstance(value, list) and depth:
        for item in value:
            _check_plain(name, item, depth - 1)
    elif isinstance(value, float):
        if not math.isfinite(value):
            fail(f"{name} is not finite.")
    elif isinstance(value, int):
        if abs(value) >= 2**63:
            fail(f"{name} is out of range.")
    elif value is not None and not isinstance(value, str):
        fail(f"{name} is nested too deeply, or of the wrong type.")
    if name in ("parameters", "provenance") and not isinstance(value, dict):
        fail(f"{name} should be a table.")
