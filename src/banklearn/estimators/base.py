"""What regression and classification share: parameters, starting point, chains."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from banklearn.engines.choose import device_of, make_engine, to_memory
from banklearn.engines.chunked import ChunkedEngine
from banklearn.engines.mixed import Arithmetic
from banklearn.estimators import parameters as check
from banklearn.estimators.callbacks import CallbackSupportMixin, watched, with_callbacks
from banklearn.estimators.choosing import Chooses
from banklearn.estimators.data import validate_data
from banklearn.estimators.ending import stopped_by, warn_at_end, warn_of_rounding
from banklearn.estimators.explaining import Explains
from banklearn.estimators.files import save_model
from banklearn.estimators.layout import lay_out
from banklearn.estimators.moves import tuning_of
from banklearn.estimators.progress import Progress
from banklearn.estimators.resumption import Resumption
from banklearn.estimators.rounds import in_rounds
from banklearn.estimators.starting import part_of
from banklearn.estimators.traces import schedule_of, trace_of
from banklearn.likelihoods.base import Likelihood
from banklearn.limits import MOST_CHAINS, MOST_FREQUENCIES
from banklearn.model.features import TRENDS, Trend
from banklearn.model.priors import Prior
from banklearn.numerics.duplicates import merge_rows
from banklearn.numerics.moments import Moments
from banklearn.numerics.row_keys import RowKeys
from banklearn.numerics.streams import Streams
from banklearn.numerics.threads import limited_to, team
from banklearn.posterior import settling
from banklearn.posterior.draws import Draw
from banklearn.posterior.kernel import learned_kernel
from banklearn.posterior.provenance import provenance
from banklearn.posterior.scaling import KINDS, ScaledRows
from banklearn.sampler import sweep as collapsed
from banklearn.sampler.job import Job
from banklearn.sampler.run import Plan, Run, growing_stages, run_chains
from banklearn.sampler.start import pilot_rows, scaling_rows, start_rows, starting_state
from banklearn.sampler.sweep import Model

if TYPE_CHECKING:
    from banklearn.estimators.spreading import Spread

Array = NDArray[np.float64]
KeepFunction = Callable[[Any, Prior, int, int, np.random.Generator], Draw]

#: Sweeps whose proposals are candidates for every place: four of five.
EXCHANGE_SHARE = 0.8
#: Up to this size X is scaled once and kept so.
COPIED_BYTES = 2**26


class BankBase(Chooses, Explains, CallbackSupportMixin, BaseEstimator):
    """Parameters and fitting common to the estimators."""

    def __init__(
        self,
        n_frequencies: int = 384,
        *,
        n_chains: int = 4,
        n_warmup: int = 200,
        n_draws: int | Literal["auto"] = 50,
        thin: int = 3,
        max_time: float | None = None,
        trend: Trend | Literal["auto"] = "auto",
        input_scaling: Literal["auto", "none", "standard", "arcsinh", "quantile"] = "auto",
        spectral_scale: float | Literal["auto"] = "auto",
        scale_shape: float | None = 1.0,
        kappa0: float = 0.1,
        nu0: float | None = None,
        alpha_shape: float = 4.0,
        alpha_rate: float = 1.0,
        a0: float = 1.0,
        b0: float = 1e-6,
        error_law: Literal["learned", "normal"] = "learned",
        jump_probability: float = 0.5,
        switch_probability: float = 0.5,
        exchange_share: float = EXCHANGE_SHARE,
        interweave_every: int = 1,
        proposal: Literal["in-turn", "at-once"] = "in-turn",
        growing_warmup: bool = True,
        gradient_every: int | Literal["auto"] = "auto",
        gradient_length: int = 24,
        merge_duplicates: bool = True,
        arithmetic: Arithmetic = "double",
        device: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: float = 30.0,
        warm_start: bool = False,
    ) -> None:
        self.n_frequencies = n_frequencies
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.thin = thin
        self.max_time = max_time
        self.trend = trend
        self.input_scaling = input_scaling
        self.spectral_scale = spectral_scale
        self.scale_shape = scale_shape
        self.kappa0 = kappa0
        self.nu0 = nu0
        self.alpha_shape = alpha_shape
        self.alpha_rate = alpha_rate
        self.a0 = a0
        self.b0 = b0
        self.error_law = error_law
        self.jump_probability = jump_probability
        self.switch_probability = switch_probability
        self.exchange_share = exchange_share
        self.interweave_every = interweave_every
        self.proposal = proposal
        self.growing_warmup = growing_warmup
        self.gradient_every = gradient_every
        self.gradient_length = gradient_length
        self.merge_duplicates = merge_duplicates
        self.arithmetic = arithmetic
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.warm_start = warm_start

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From a pickle; what there was not when it was written takes its default."""
        super().__setstate__({"exchange_share": EXCHANGE_SHARE, "arithmetic": "double", **state})

    def _check_parameters(self) -> None:
        check.whole("n_frequencies", self.n_frequencies, 1, MOST_FREQUENCIES)
        check.whole("n_chains", self.n_chains, 1, MOST_CHAINS)
        for name, least in (
            ("n_warmup", 0),
            ("thin", 1),
            ("interweave_every", 0),
            ("gradient_length", 1),
            ("verbose", 0),
        ):
            check.whole(name, getattr(self, name), least)
        for name, least in (("n_draws", 1), ("gradient_every", 0)):
            check.whole_or_auto(name, getattr(self, name), least)
        for name in ("kappa0", "alpha_shape", "alpha_rate", "a0", "b0"):
            check.positive(name, getattr(self, name))
        for name in ("scale_shape", "nu0"):
            check.positive(name, getattr(self, name), none=True)
        check.positive_or_auto("spectral_scale", self.spectral_scale)
        check.seconds("max_time", self.max_time, none=True)
        check.seconds("checkpoint_every", self.checkpoint_every, zero=True)
        check.seed("random_state", self.random_state)
        for name in ("growing_warmup", "merge_duplicates", "warm_start"):
            given = getattr(self, name)
            if not isinstance(given, bool | np.bool_):
                raise TypeError(f"{name} must be True or False, not {check.shown(given)}.")
        if not isinstance(self.checkpoint, str | PathLike | None) or self.checkpoint == "":
            raise TypeError(
                f"checkpoint must be a folder or None, not {check.shown(self.checkpoint)}."
            )
        check.share("jump_probability", self.jump_probability)
        check.share("switch_probability", self.switch_probability)
        check.share("exchange_share", self.exchange_share)
        check.one_of("trend", self.trend, ("auto", *TRENDS))
        check.one_of("input_scaling", self.input_scaling, ("auto", *KINDS))
        if not isinstance(self.device, str):
            raise TypeError(
                f"device must be a string such as 'cpu' or 'cuda', not {check.shown(self.device)}."
            )
        check.one_of("error_law", self.error_law, ("learned", "normal"))
        check.one_of("proposal", self.proposal, ("in-turn", "at-once"))
        check.one_of("arithmetic", self.arithmetic, ("double", "mixed"))

    def _arrays(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Arrays in memory; a GPU array as input also says where to compute."""
        self._device = device_of(X) or self.device
        return to_memory(X), to_memory(y)

    def _rows(self, X: Any) -> ScaledRows:
        """Rows to predict, checked against those of the fit; scaled when they are asked for."""
        check_is_fitted(self)
        X = validate_data(self, to_memory(X), dtype=np.float64, reset=False)
        return ScaledRows(X, self.input_scaling_)

    def save(self, path: str | PathLike[str], extra: dict[str, Any] | None = None) -> None:
        """Write the fitted estimator to one file, which :func:`banklearn.load_model` reads.

        The file holds all draws, scalings, names and parameters, no training data and no code.
        It appears under its name only when it is whole. extra is plain data of your own (what
        JSON can hold) to keep in the same file; a loaded model has it as ``extra_``.
        """
        save_model(self, path, extra)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "draws_")

    def _forget(self) -> None:
        """Drop what an earlier fit learned, so that a failed fit leaves nothing half old."""
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            delattr(self, name)

    def _begin(self, resume: bool) -> None:
        """What every fit does first."""
        self._check_parameters()
        self._resumption = Resumption.of(self, resume)
        self._forget()
        self._begun = time.monotonic()

    def _fit_posterior(
        self,
        X: Array,
        y: Array,
        weight: Array | None,
        likelihood: Likelihood,
        keep: KeepFunction,
        kernel: Any = collapsed,
        standardise: Callable[[Array], Array] | None = None,
        client: Any = None,
    ) -> None:
        """Choose scaling and start, run the chains, keep the draws.

        y is in model units, or standardise brings it there. With a client of a Dask cluster the
        chains run there.
        """
        deadline = time.monotonic() + (self.max_time or 0.0)
        if self.merge_duplicates:
            X, y, weight = merge_rows(X, y, weight)
        seed = self._resumption.seed(self.random_state)
        streams = Streams(seed)
        # Keys are of values as they were given: the model's units round with the rows' order.
        keys = RowKeys.of(X, None if standardise is None else y)
        y = y if standardise is None else standardise(y)
        sample, first = scaling_rows(keys, streams), start_rows(keys, streams)
        target = likelihood.start_target(y, weight)[first]
        self._choose(
            Moments.of(X, weight),
            (X if len(sample) == len(X) else X[sample], part_of(weight, sample)),
            (X[first], target, part_of(weight, first)),
            np.searchsorted(first, pilot_rows(keys, first, streams)),
            streams,
        )
        # A sweep is so much work that scaling a block again each time is nothing beside it, but a
        # scaled copy of many rows is large. Other kernels and devices want all rows at once.
        by_blocks = X.nbytes > COPIED_BYTES and kernel is collapsed
        rows = ScaledRows(X, self.input_scaling_) if by_blocks else self.input_scaling_(X)
        device = "cpu" if client else self._device
        engine = make_engine(device, rows, y, weight, arithmetic=self.arithmetic)
        spread = self._spread(client, engine, keys) if client else None
        self._run(engine, self._model(likelihood), seed, keep, kernel, deadline, keys, spread)

    def _look_back(self, rows: RowKeys, X: Array, y: Array, weight: Array | None) -> None:
        """What is learned at the end, from the draws and some of the rows, in model units."""

    def _spread(self, client: Any, engine: Any, keys: RowKeys) -> Spread:
        if self._device not in ("auto", "cpu"):
            raise ValueError(
                f"device={self._device!r} is for a fit on this machine; chains on a Dask cluster "
                "run on CPUs. Leave device at 'auto', or client out."
            )
        from banklearn.estimators.spreading import Spread

        return Spread(client, engine, keys)

    def _model(self, likelihood: Likelihood) -> Model:
        d = int(self.input_scaling_.used.sum())
        self.prior_ = self._prior(d, self._start.scale)
        return Model(self.prior_, likelihood, self.trend_)

    @with_callbacks
    def _run(
        self,
        engine: Any,
        model: Model,
        seed: int,
        keep: KeepFunction,
        kernel: Any,
        deadline: float,
        rows: RowKeys,
        spread: Spread | None = None,
    ) -> None:
        layout = lay_out(engine, model, self.n_chains, self.n_frequencies, spread is not None)
        stages = growing_stages(engine.n_rows, self.n_warmup) if self.growing_warmup else ()
        looks = settling.looks_of(self.n_draws)
        plan = Plan(self.n_warmup, looks[-1], self.thin, None, stages)
        tuning = tuning_of(self, engine)
        start = self._start
        shelf = self._resumption.shelf(self, engine, seed)
        watched_value = "log evidence" if model.likelihood.fixed_weights else "log lik."
        with (
            Progress(plan, self.n_chains, self.verbose, watched_value) as progress,
            watched(self, self.n_chains, progress) as monitored,
        ):

            def run_one(chain: int, stop: threading.Event, plan: Plan) -> Run[Draw]:
                streams = Streams(seed, chain)
                state = starting_state(
                    self.n_frequencies,
                    model.prior.d,
                    start.scale,
                    model.likelihood.start_lam(start.lam),
                    model.prior.alpha_shape / model.prior.alpha_rate,
                    streams,
                )
                job = Job(model, state, plan, streams, keep, tuning, kernel)
                bookmark = None if shelf is None else shelf.chain(chain)
                if spread:
                    return spread.run(job, monitored(stop), stop, bookmark)
                own = layout.engine_of(engine)
                member = shared.member() if shared else nullcontext()
                with team(layout.team), layout.apart(own), member:
                    return job.run(own, rows, monitored(stop), stop, bookmark)

            shared = engine if isinstance(engine, ChunkedEngine) else None

            def run_round(draws: int) -> tuple[Sequence[Run[Draw]], bool]:
                left = layout.share(deadline - time.monotonic(), self.n_chains)
                now = replace(plan, max_time=left if self.max_time else None, pause=draws)
                if shared:
                    shared.expect(self.n_chains)
                with limited_to(layout.threads):
                    runs, interrupted = run_chains(
                        partial(run_one, plan=now),
                        self.n_chains,
                        layout.at_once,
                        layout.one_core_each,
                    )
                return runs, interrupted or monitored.interrupted

            def look(runs: Sequence[Run[Draw]], draws: int | None) -> settling.Settling | None:
                if shelf:
                    shelf.turn_page()
                return settling.look(runs, self.thin, self._probes, self.trend_, draws)

            runs, interrupted, found = in_rounds(run_round, looks, look, lambda: monitored.asked)
        interrupted = interrupted or monitored.interrupted  # at the very end
        # An interrupted chain that was still warming up has nothing to say if others have.
        sampled = [run for run in runs if len(run.trace) > run.warmup] or runs
        self.draws_: list[Draw] = [draw for run in sampled for draw in run.draws]
        self.trace_ = [trace_of(run) for run in runs]
        self.schedule_ = [schedule_of(run) for run in runs]
        self.n_sweeps_ = [len(run.trace) for run in runs]
        self.settling_ = None if found is None else found.plain()
        self.kernel_ = learned_kernel(self)
        self._look_back(rows, *self._sample)
        share = self._prior_share_known(self._sample[0])
        self._memory = shelf.memory if shelf and self.warm_start else None
        # The first may hold the chains of the fit before.
        del self._resumption, self._probes, self._sample
        seconds = time.monotonic() - self._begun
        device = str(getattr(engine, "device", None) or "cpu")
        end = stopped_by(runs, interrupted, self.n_draws == "auto", found)
        self.provenance_ = provenance(
            engine.n_rows, seconds, end, seed, device, self.settling_, self.schedule_, share
        )
        warn_at_end(self, runs, interrupted, found)
        warn_of_rounding(self, runs)
