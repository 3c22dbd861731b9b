"""How an estimator is fitted to rows that come in blocks: only samples of them are held here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from banklearn.estimators.blockwise import BlockData, Preparation
from banklearn.estimators.data import refuse_too_many_rows
from banklearn.estimators.starting import part_of
from banklearn.likelihoods.base import Likelihood
from banklearn.numerics.streams import Streams
from banklearn.sampler import sweep as collapsed
from banklearn.sampler.start import pilot_rows, scaling_rows, start_rows
from banklearn.sources.survey import SummariseTarget, Survey

if TYPE_CHECKING:
    from banklearn.estimators.base import BankBase, KeepFunction


def first_pass(estimator: BankBase, data: BlockData, summarise: SummariseTarget) -> Survey:
    """Check everything and sum it up; tells the estimator what inputs there are."""
    if estimator.device not in ("auto", "cpu"):
        raise ValueError(
            f"device={estimator.device!r} is for arrays in memory; rows that come in blocks are "
            "summed on the CPU. Leave device at 'auto'."
        )
    found = data.survey(summarise, estimator.verbose)
    refuse_too_many_rows("The weight of all rows", np.array([found.inputs.mass]))
    estimator.n_features_in_ = len(found.inputs.mean)
    if data.names is not None:
        estimator.feature_names_in_ = np.array(data.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_  # of an earlier fit
    return found


def fit_blocks(
    estimator: BankBase,
    data: BlockData,
    found: Survey,
    prepare: Preparation,
    likelihood: Likelihood,
    keep: KeepFunction,
) -> None:
    """Choose scaling and start on samples, run the chains, keep the draws."""
    deadline = estimator._begun + (estimator.max_time or 0.0)
    seed = estimator._resumption.seed(estimator.random_state)
    streams = Streams(seed)
    sample, first = scaling_rows(found.keys, streams), start_rows(found.keys, streams)
    few = np.searchsorted(first, pilot_rows(found.keys, first, streams))
    rows = np.union1d(sample, first)
    X, labels, weight = data.rows(rows)
    y, weight = prepare.target(labels, weight)
    sample, first = np.searchsorted(rows, sample), np.searchsorted(rows, first)
    target = prepare.start_target(likelihood, y)[first]
    estimator._choose(
        # Balance is known only after the first pass; weights of classes take another one.
        found.inputs if prepare.factor is None else data.moments(prepare),
        (X[sample], part_of(weight, sample)),
        (X[first], target, part_of(weight, first)),
        few,
        streams,
    )
    del X
    prepare = replace(prepare, scaling=estimator.input_scaling_)
    engine = data.engine(prepare, found, estimator.arithmetic)
    estimator._run(
        engine, estimator._model(likelihood), seed, keep, collapsed, deadline, found.keys
    )
