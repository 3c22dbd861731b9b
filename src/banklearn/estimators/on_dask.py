"""Rows of a Dask array or dataframe, which stay on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banklearn.engines.dask import (
    PATIENCE,
    ClusterError,
    DaskEngine,
    cut_evenly,
    result,
    wait_for_workers,
)
from banklearn.engines.mixed import Arithmetic
from banklearn.engines.pieces import Piece
from banklearn.estimators.blockwise import Preparation
from banklearn.estimators.data import refuse_twins
from banklearn.estimators.progress import Reading
from banklearn.numerics.moments import Moments
from banklearn.sources.base import RawBlock, SourceError
from banklearn.sources.survey import (
    SummariseTarget,
    Survey,
    check_block,
    join_rows,
    survey_rows,
    with_weight,
)
from banklearn.sources.values import as_numbers, as_target

Array = NDArray[np.float64]


class DaskData:
    """Blocks (X, y, weight) as futures, one for each partition that has rows."""

    def __init__(
        self,
        client: Any,
        blocks: Sequence[Any],
        names: Sequence[str] | None,
        threads: int,
        patience: float,
    ) -> None:
        self.client, self.blocks, self.names = client, list(blocks), names
        self.threads, self.patience = threads, patience
        self.sizes: list[int] = []

    @classmethod
    def collect(
        cls,
        X: Any,
        y: Any,
        weight: Any,
        target: str | None,
        client: Any,
        patience: float = PATIENCE,
    ) -> DaskData:
        """Start to load the partitions on the workers."""
        client = client or default_client()
        wait_for_workers(client, patience)
        threads = sum(client.nthreads().values())
        from dask import delayed

        if (
            target is not None
            and hasattr(X, "columns")
            and (weight is None or isinstance(weight, str))
        ):
            # Out of one table: of columns taken apart, Dask may read several files as one.
            inputs, _, _, names = columns(X, y, weight, target)
            taken = [*inputs.columns, target, *([] if weight is None else [weight])]
            cut = delayed(table_block)
            parts = X[taken].to_delayed()
            tasks = [cut(i, part, len(inputs.columns)) for i, part in enumerate(parts)]
        else:
            X, y, weight, names = columns(X, y, weight, target)
            lists = [partitions(values, X) for values in (X, y, weight) if values is not None]
            if len({len(found) for found in lists}) > 1:
                raise SourceError(
                    f"X, y and weights come in {[len(found) for found in lists]} partitions, which "
                    "do not fit each other. Pass the whole table, and the names of the columns as "
                    "target and sample_weight; or repartition them alike."
                )
            block = delayed(raw_block)
            tasks = [block(i, *values) for i, values in enumerate(zip(*lists, strict=True))]
        return cls(client, client.compute(tasks), names, threads, patience)

    def survey(self, summarise: SummariseTarget, verbose: int) -> Survey:
        """Check and sum up every partition where it lies."""
        blocks, total = [], None
        parts = self.client.map(
            survey_partition,
            self.blocks,
            first=self.blocks[0],
            names=self.names,
            summarise=summarise,
            pure=False,
        )
        with Reading(lambda: None, verbose) as seen:
            for block, part in zip(self.blocks, parts, strict=True):
                found: Survey | None = result(self.client, part, self.patience)
                if found is not None:
                    blocks.append(block)
                    self.sizes.append(found.n_rows)
                    total = found if total is None else total + found
                    seen(total.n_rows)
        if total is None:
            raise SourceError("The data hold no row with a weight above zero.")
        self.blocks = blocks
        return total

    def rows(self, rows: NDArray[np.intp]) -> tuple[Array, Any, Array | None]:
        """Bring some rows here."""
        cuts = np.searchsorted(rows, np.cumsum([0, *self.sizes]))
        starts = np.cumsum([0, *self.sizes])
        here = [rows[cuts[i] : cuts[i + 1]] - starts[i] for i in range(len(self.blocks))]
        parts = self.client.map(_rows, self.blocks, here, pure=False)
        return join_rows([result(self.client, part, self.patience) for part in parts])

    def moments(self, prepare: Preparation) -> Moments:
        """Of every partition where it lies, then of all."""
        parts = self.client.map(_moments, self.blocks, prepare=prepare, pure=False)
        return reduce(add, [result(self.client, part, self.patience) for part in parts])

    def engine(self, prepare: Preparation, found: Survey, arithmetic: Arithmetic) -> DaskEngine:
        """Prepare the rows where they lie, then cut them at whole blocks."""
        assert prepare.scaling is not None
        n_inputs = int(prepare.scaling.used.sum())
        prepared = self.client.map(_prepared, self.blocks, prepare=prepare, pure=False)
        pieces, lengths = cut_evenly(self.client, prepared, self.sizes, n_inputs, self.threads)
        self.blocks = []  # the cluster may forget the rows as they were read
        settings = (n_inputs, self.threads, self.patience, arithmetic)
        return DaskEngine(self.client, pieces, lengths, *settings)


def default_client() -> Any:
    """The client that is active, or a sentence."""
    from distributed import default_client as active

    try:
        return active()
    except ValueError as error:
        raise ClusterError(
            "Dask arrays and dataframes are fitted on a cluster, but there is no client. Start one "
            "with dask.distributed.Client(), or pass client=."
        ) from error


def columns(X: Any, y: Any, weight: Any, target: str | None) -> tuple[Any, Any, Any, Any]:
    """Inputs, target and weights as collections of their own, and the names of the inputs."""
    if not hasattr(X, "columns"):
        if target is not None or isinstance(weight, str):
            raise SourceError("A Dask array has no column names: pass y and weights as arrays.")
        if X.ndim != 2:
            raise SourceError(f"X must have two dimensions, but has {X.ndim}.")
        names = None
    else:
        refuse_twins(X)
        known = list(X.columns)
        for name in (target, weight):
            if isinstance(name, str) and name not in known:
                raise SourceError(
                    f"There is no column {name!r}; the columns are {', '.join(map(str, known))}."
                )
        table = X
        if target is not None:
            if y is not None:
                raise SourceError("Pass either y or the name of its column as target, not both.")
            y = table[target]
        dropped = [target] if target is not None else []
        if isinstance(weight, str):
            dropped.append(weight)
            weight = table[weight]
        X = table[[name for name in known if name not in dropped]]
        for name, kind in X.dtypes.items():
            if getattr(kind, "kind", "O") not in "biuf":
                raise SourceError(
                    f"Column {name!r} holds {kind}, but numbers are needed. Encode it first."
                )
        names = list(X.columns) if all(isinstance(name, str) for name in X.columns) else None
    if y is None:
        raise SourceError("fit needs y: a Dask array or series, or the name of a column as target.")
    return X, y, weight, names


def partitions(values: Any, X: Any) -> list[Any]:
    """The partitions as delayed objects, cut as those of X where both are arrays."""
    if hasattr(values, "chunks"):
        if values.ndim == 2:
            values = values.rechunk({1: -1})
        same = hasattr(X, "chunks") and not np.isnan(X.chunks[0]).any()
        if values is not X and same and values.chunks[0] != X.chunks[0]:
            if values.shape[0] != X.shape[0]:
                raise SourceError(f"y has {values.shape[0]} rows, but X has {X.shape[0]}.")
            values = values.rechunk({0: X.chunks[0]})
        return list(values.to_delayed().ravel())
    if hasattr(values, "to_delayed"):
        return list(values.to_delayed())
    raise SourceError(
        f"y and weights must be Dask collections like X, but one is a {type(values).__name__}. "
        "Turn it into one with dask.array.from_array."
    )


def table_block(number: int, table: Any, inputs: int) -> RawBlock:
    """One partition of a table on its worker: inputs, then the target, then weights if any."""
    weight = table.iloc[:, inputs + 1] if table.shape[1] > inputs + 1 else None
    return raw_block(number, table.iloc[:, :inputs], table.iloc[:, inputs], weight)


def raw_block(number: int, X: Any, y: Any, weight: Any = None) -> RawBlock:
    """One partition on its worker."""
    w = None if weight is None else as_numbers(weight, f"The weight of block {number}")
    X = np.ascontiguousarray(as_numbers(X, f"X of block {number}"))
    return RawBlock(X, as_target(y, f"y of block {number}"), w, number)


def survey_partition(
    block: RawBlock, first: RawBlock, names: Any, summarise: SummariseTarget
) -> Survey | None:
    """Check a partition and sum it up; None where no row has any weight."""
    if len(block.X) == 0:
        return None
    check_block(block, first, names, summarise)
    kept = with_weight(block)
    return survey_rows(kept.X, kept.y, kept.weight, summarise) if len(kept.X) else None


def _rows(block: RawBlock, rows: NDArray[np.intp]) -> tuple[Array, Any, Array | None]:
    kept = with_weight(block)
    return kept.X[rows], kept.y[rows], None if kept.weight is None else kept.weight[rows]


def _moments(block: RawBlock, prepare: Preparation) -> Moments:
    kept = with_weight(block)
    return Moments.of(kept.X, prepare.weight(kept.y, kept.weight))


def _prepared(block: RawBlock, prepare: Preparation) -> Piece:
    kept = with_weight(block)
    return prepare(kept.X, kept.y, kept.weight)
