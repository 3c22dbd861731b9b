"""Inputs that try to break an estimator, and what must hold whatever they are.

Every example ends in one of two ways: a result that is finite, in range and the same for every
container that holds the same numbers; or an error raised by this package or by scikit-learn's
validation, in words. Warnings are errors, except those that this package words itself.
"""

import atexit
import json
import os
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from words import is_in_words

#: `make test` takes a few; `make campaign` sets 10 000.
EXAMPLES = int(os.environ.get("BANKLEARN_EXAMPLES", "40"))
CAMPAIGN = settings(max_examples=EXAMPLES)

#: How many examples were answered and refused, and how many of those answered put their classes in
#: a tree that is no stick; a campaign names a file for it.
OUTCOMES: Counter[str] = Counter()
if "BANKLEARN_OUTCOMES" in os.environ:
    atexit.register(lambda: Path(os.environ["BANKLEARN_OUTCOMES"]).write_text(json.dumps(OUTCOMES)))

#: The largest number there is.
LARGEST = float(np.finfo(np.float64).max)

#: Warnings that the package gives itself, each with a way out.
EXPLAINED = ("y does not vary, so", "sample_weight adds up to")


class Table(pd.DataFrame):
    """A DataFrame with a behaviour of its own, as geopandas and others have."""

    @property
    def _constructor(self) -> Any:
        return Table


def _memmap(X: np.ndarray) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, X)
        return np.load(path, mmap_mode="r")


def _strided(X: np.ndarray) -> np.ndarray:
    wide = np.full((2 * len(X), 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def _frame(X: np.ndarray, kind: Any = pd.DataFrame, **options: Any) -> Any:
    return kind(X, columns=[f"x{i}" for i in range(X.shape[1])], **options)


#: The same numbers in other containers.
CONTAINERS = {
    "rows first": np.ascontiguousarray,
    "columns first": np.asfortranarray,
    "every second row": _strided,
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read only": _read_only,
    "memory-mapped": _memmap,
    "lists": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "long double": lambda X: X.astype(np.longdouble),
    "other byte order": lambda X: X.astype(">f8"),
    "frame": _frame,
    "subclass of a frame": lambda X: _frame(X, Table),
    "frame of objects": lambda X: _frame(X, dtype=object),
    "nullable frame": lambda X: _frame(X).astype("Float64"),
}


def _vector_memmap(y: np.ndarray) -> Any:
    return y.tolist() if y.dtype == object else _memmap(y)


def _every_third(y: np.ndarray) -> np.ndarray:
    return np.repeat(y, 3)[::3]


#: The same targets and weights in other containers.
VECTORS = {
    "array": np.ascontiguousarray,
    "list": lambda y: y.tolist(),
    "series": pd.Series,
    "memory-mapped": _vector_memmap,
    "every third": _every_third,
    "backwards": lambda y: y[::-1].copy()[::-1],
    "read only": _read_only,
    "other byte order": lambda y: y.astype(y.dtype.newbyteorder()),
}

#: Narrower numbers; the values are rounded to them first.
NARROW = ("float32", "float16", "int64", "int8", "uint8", "bool")

COLUMNS = (
    "normal",
    "constant",
    "zero",
    "copy",
    "binary",
    "integers",
    "heavy",
    "nearly constant",
    "one outlier",
    "all scales",
)


def _column(kind: str, exponent: int, n: int, first: np.ndarray, rng: Any) -> np.ndarray:
    z = rng.standard_normal(n)
    size = 10.0**exponent
    return finite(lambda: _values(kind, size, n, first, z, rng))


def finite(make: Any) -> np.ndarray:
    """The numbers that make gives; what overflows is the largest number."""
    with np.errstate(over="ignore"):
        return np.clip(make(), -LARGEST, LARGEST)


def _values(
    kind: str, size: float, n: int, first: np.ndarray, z: np.ndarray, rng: Any
) -> np.ndarray:
    return {
        "normal": size * z,
        "constant": np.full(n, size),
        "zero": np.zeros(n),
        "copy": first.copy(),
        "binary": size * (z > 0),
        "integers": np.round(3 * z),
        "heavy": size * np.sign(z) * 10.0 ** np.clip(-np.abs(3 * z), -8, 0),
        "nearly constant": size * (1.0 + 1e-13 * z),
        "one outlier": np.where(np.arange(n) == 0, size, z),
        "all scales": np.sign(z) * 10.0 ** np.clip(100 * rng.standard_normal(n), -308, 308),
    }[kind]


@dataclass
class Example:
    """Data, options and rows to predict at."""

    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray
    weight: np.ndarray | None
    container: str
    narrow: str | None
    options: dict[str, Any] = field(default_factory=dict)
    vector: str = "array"

    def held(self) -> "Example":
        """The same example with target and weights in its container for vectors."""
        hold = VECTORS[self.vector]
        weight = None if self.weight is None else hold(self.weight)
        return replace(self, y=hold(self.y), weight=weight)

    def numbers(self) -> np.ndarray:
        """X as every container holds it."""
        return self.X if self.narrow is None else rounded(self.X, self.narrow)

    def contained(self, X: np.ndarray) -> Any:
        """X in this example's container."""
        if self.narrow is not None:
            return X.astype(self.narrow)
        return CONTAINERS[self.container](X)


def rounded(X: np.ndarray, dtype: str) -> np.ndarray:
    """X as numbers that dtype holds, in float64."""
    if dtype == "bool":
        return (X > 0).astype(float)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(np.int32 if dtype == "int64" else dtype)
        return np.clip(np.round(X), info.min, info.max)
    info = np.finfo(dtype)
    return np.clip(X, float(info.min), float(info.max)).astype(dtype).astype(float)


ends = st.sampled_from([-308, -300, 300, 306, 307, 308])
exponents = st.one_of(st.integers(-3, 3), st.integers(-3, 3), st.integers(-308, 308), ends)


@st.composite
def tables(draw: Any, rows: int, rng: Any) -> np.ndarray:
    """X, usually column by column, sometimes any finite numbers at all."""
    d = draw(st.integers(1, 4))
    if draw(st.integers(0, 4)) == 0:
        most = draw(st.sampled_from([1e300, 1e307, LARGEST]))
        numbers = st.floats(-most, most, allow_subnormal=True)
        return draw(hnp.arrays(np.float64, (rows, d), elements=numbers))
    columns: list[np.ndarray] = []
    for _ in range(d):
        first = columns[0] if columns else rng.standard_normal(rows)
        kind, exponent = draw(st.sampled_from(COLUMNS)), draw(exponents)
        columns.append(_column(kind, exponent, rows, first, rng))
    return np.column_stack(columns)


@st.composite
def weights(draw: Any, rows: int, rng: Any) -> np.ndarray | None:
    kinds = ["none", "none", "ones", "mild", "some zero", "uneven", "extreme", "tiny", "largest"]
    kind = draw(st.sampled_from(kinds))
    if kind == "none":
        return None
    return {
        "ones": np.ones(rows),
        "mild": rng.uniform(0.1, 5.0, rows),
        "some zero": (rng.random(rows) < 0.6).astype(float),
        "uneven": 10.0 ** rng.uniform(-6, 6, rows),
        "extreme": 10.0 ** rng.uniform(-30, 30, rows),
        "tiny": np.full(rows, 1e-300),
        "largest": np.where(rng.random(rows) < 0.5, LARGEST, 1.0),
    }[kind]


@st.composite
def common_options(draw: Any) -> dict[str, Any]:
    """Settings of both estimators: ordinary ones, and the ends of their ranges."""
    options = {
        "n_frequencies": draw(st.integers(1, 4)),
        "n_chains": 1,
        "n_warmup": draw(st.integers(0, 2)),
        "n_draws": draw(st.integers(1, 2)),
        "thin": 1,
        "trend": draw(st.sampled_from(["constant", "linear", "none"])),
        "input_scaling": draw(st.sampled_from(["standard", "arcsinh", "quantile", "none"])),
        "spectral_scale": draw(st.sampled_from([1.0, 1e-3, 1e3, "auto"])),
        "random_state": draw(st.integers(0, 3)),
    }
    rare = {
        "scale_shape": st.sampled_from([None, 1e-2, 1e2]),
        "kappa0": st.sampled_from([1e-6, 1e6]),
        "nu0": st.sampled_from([4.0, 1e4]),
        "alpha_shape": st.sampled_from([1e-3, 1e3]),
        "jump_probability": st.sampled_from([0.0, 1.0]),
        "n_chains": st.just(2),
    }
    name = draw(st.sampled_from(["nothing", "nothing", *rare]))
    if name in rare:
        options[name] = draw(rare[name])
    return options


@st.composite
def examples(draw: Any) -> Example:
    rows = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = draw(tables(rows, rng))
    narrow = draw(st.sampled_from([None, None, None, *NARROW]))
    container = draw(st.sampled_from(list(CONTAINERS)))
    size = 10.0 ** draw(exponents)
    far = finite(lambda: size * rng.standard_normal((2, X.shape[1])))
    kind, exponent = draw(st.sampled_from(COLUMNS)), draw(exponents)
    y = _column(kind, exponent, rows, X[:, 0], rng)
    vector = draw(st.sampled_from(list(VECTORS)))
    weight, options = draw(weights(rows, rng)), draw(common_options())
    return Example(X, y, far, weight, container, narrow, options, vector)


def attempt(make: Any) -> Any:
    """The result, or None after an error in words; anything else is a failure of the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for words in EXPLAINED:
            warnings.filterwarnings("ignore", message=f".*{words}", category=UserWarning)
        try:
            return make()
        except (ValueError, TypeError, ArithmeticError) as error:
            if not is_in_words(error):
                raise
            return None
