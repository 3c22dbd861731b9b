"""Data that come in blocks: what a fit asks of them, and what it makes of every block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.base import Engine
from banklearn.engines.choose import of_dask
from banklearn.engines.chunked import ChunkedEngine
from banklearn.engines.mixed import Arithmetic
from banklearn.engines.pieces import Piece
from banklearn.estimators import parameters as check
from banklearn.estimators.data import numeric_target, refuse_continuous, refuse_unsorted_labels
from banklearn.estimators.progress import Reading
from banklearn.likelihoods.base import Likelihood
from banklearn.numerics.moments import Moments
from banklearn.posterior.scaling import InputScaling, TargetScaling
from banklearn.sources.base import Source
from banklearn.sources.recognise import as_source
from banklearn.sources.survey import (
    SummariseTarget,
    Survey,
    survey,
    take_rows,
    weighed_moments,
    with_weight,
)

Array = NDArray[np.float64]
Encode = Callable[[Any], Array]


class BlockData(Protocol):
    """Rows that are elsewhere: on disk or on a cluster."""

    @property
    def names(self) -> Any:
        """Names of the inputs, or None."""
        ...

    def survey(self, summarise: SummariseTarget, verbose: int) -> Survey:
        """The first pass."""
        ...

    def rows(self, rows: NDArray[np.intp]) -> tuple[Array, Any, Array | None]:
        """X, y and weights at sorted positions."""
        ...

    def moments(self, prepare: Preparation) -> Moments:
        """Moments of the inputs where weights of classes count."""
        ...

    def engine(self, prepare: Preparation, found: Survey, arithmetic: Arithmetic) -> Engine:
        """An engine over prepared rows."""
        ...


@dataclass(frozen=True)
class Preparation:
    """From rows as they were read to rows of the model.

    factor (by class) multiplies weights; levels and mass say how often each class occurs.
    """

    encode: Encode
    factor: Array | None = None
    levels: Array | None = None
    mass: Array | None = None
    scaling: InputScaling | None = None

    def target(self, y: Any, weight: Array | None) -> tuple[Array, Array | None]:
        """The target in model units, and weights with those of the classes."""
        y = self.encode(y)
        if self.factor is not None:
            factor = self.factor[y.astype(np.intp)]
            weight = factor if weight is None else weight * factor
        return y, weight

    def weight(self, y: Any, weight: Array | None) -> Array | None:
        """Weights with those of the classes."""
        return self.target(y, weight)[1]

    def start_target(self, likelihood: Likelihood, y: Array) -> Array:
        """As if all rows were there: rows of a sample count nothing beside the classes' mass."""
        if self.levels is None or self.mass is None:
            return likelihood.start_target(y, None)
        weight = np.concatenate([np.zeros(len(y)), self.mass])
        return likelihood.start_target(np.concatenate([y, self.levels]), weight)[: len(y)]

    def __call__(self, X: Array, y: Any, weight: Array | None) -> Piece:
        """All of it."""
        assert self.scaling is not None
        return Piece(self.scaling(X), *self.target(y, weight))


def summarise_numbers(y: Any, weight: Array | None) -> Moments:
    """A target of regression in one block."""
    return Moments.of(numeric_target(y)[:, None], weight)


@dataclass(frozen=True)
class Standardised:
    """Encode a target of regression."""

    scaling: TargetScaling

    def __call__(self, y: Any) -> Array:
        """(y - shift) / scale."""
        return (np.asarray(y, dtype=np.float64) - self.scaling.shift) / self.scaling.scale


@dataclass(frozen=True)
class Classes:
    """Labels in order, and the weight of the rows that have them."""

    labels: NDArray[Any]
    mass: Array

    def __add__(self, other: Classes) -> Classes:
        for one, another in ((self.labels, other.labels), (other.labels, self.labels)):
            if isinstance(one[0], str) and not isinstance(another[0], str):
                raise ValueError(
                    f"y mixes text and other labels: {str(one[0])!r} in some blocks, "
                    f"{another[0]!s} in others. Make them all text, or all numbers."
                )
        both = np.concatenate([self.labels, other.labels])
        labels, codes = np.unique(both, return_inverse=True)
        mass = np.bincount(codes, np.concatenate([self.mass, other.mass]))
        return Classes(labels, mass.astype(np.float64))


def summarise_labels(y: Any, weight: Array | None) -> Classes:
    """A target of classification in one block."""
    y = np.asarray(y)
    refuse_unsorted_labels(y)  # first: a missing value of pandas cannot be compared
    if y.dtype == object and any(value != value for value in y):
        raise ValueError("y has missing values. Remove those rows or give them a class.")
    refuse_continuous(y)
    labels, codes = np.unique(y, return_inverse=True)
    return Classes(labels, np.bincount(codes, weight, len(labels)).astype(np.float64))


@dataclass(frozen=True)
class Positions:
    """Encode labels as positions in the order of the tree."""

    classes: NDArray[Any]
    position: NDArray[np.intp]

    def __call__(self, y: Any) -> Array:
        """Labels to 0..C-1."""
        return self.position[np.searchsorted(self.classes, y)].astype(np.float64)


class SourceData:
    """Rows on disk."""

    def __init__(self, source: Source) -> None:
        self.source = source

    @property
    def names(self) -> Any:
        """Names of the inputs, or None."""
        return self.source.names

    def survey(self, summarise: SummariseTarget, verbose: int) -> Survey:
        """Read everything once, with a progress bar."""
        with Reading(lambda: self.source.n_rows, verbose) as seen:
            return survey(self.source, summarise, seen)

    def rows(self, rows: NDArray[np.intp]) -> tuple[Array, Any, Array | None]:
        """One read, up to the last of the rows."""
        return take_rows(self.source, rows)

    def moments(self, prepare: Preparation) -> Moments:
        """One more read."""
        return weighed_moments(self.source, prepare.weight)

    def engine(self, prepare: Preparation, found: Survey, arithmetic: Arithmetic) -> ChunkedEngine:
        """Blocks are prepared in the thread that reads them."""

        def read() -> Iterator[Piece]:
            for raw in self.source.blocks():
                block = with_weight(raw)
                yield prepare(block.X, block.y, block.weight)

        assert prepare.scaling is not None
        weighted = found.weighted or prepare.factor is not None
        n_inputs = int(prepare.scaling.used.sum())
        return ChunkedEngine(read, found.n_rows, n_inputs, weighted, arithmetic)


def block_data(X: Any, y: Any, weight: Any, target: str | None, client: Any) -> BlockData | None:
    """Rows on disk or on a cluster; None for everything that is in memory."""
    if client is not None and not hasattr(client, "submit"):
        raise TypeError(f"client must be a dask.distributed.Client, but is {check.shown(client)}.")
    if of_dask(X):
        from banklearn.estimators.on_dask import DaskData

        return DaskData.collect(X, y, weight, target, client)
    source = as_source(X, y, weight, target)
    if source is None:
        return None
    if client is not None:
        raise TypeError(
            "client is for Dask arrays and dataframes, and for arrays in memory; X is a "
            f"{type(X).__name__}. Leave client out, or pass X as a Dask collection."
        )
    return SourceData(source)
