"""What a fit decides before its chains begin: input scaling, trend, spectral scale, prior."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from banklearn.estimators.resumption import Resumption
from banklearn.estimators.starting import Choice, choose, chosen_before, part_of
from banklearn.model.features import Trend
from banklearn.model.priors import Prior
from banklearn.numerics.moments import Moments
from banklearn.numerics.row_keys import RowKeys
from banklearn.numerics.streams import Purpose, Streams
from banklearn.numerics.threads import limited_to
from banklearn.posterior.scaling import InputScaling
from banklearn.posterior.settling import Probes
from banklearn.sampler import pilots
from banklearn.sampler.frequencies import Moves
from banklearn.sampler.start import StartingPoint

Array = NDArray[np.float64]

#: Share of max_time after which no more pilots are sent.
PILOT_SHARE = 0.2


class Chooses:
    """The part of an estimator that looks at a sample of rows before anything is sampled."""

    n_frequencies: int
    n_warmup: int
    max_time: float | None
    trend: Trend | Literal["auto"]
    input_scaling: Any
    spectral_scale: float | Literal["auto"]
    scale_shape: float | None
    kappa0: float
    nu0: float | None
    alpha_shape: float
    alpha_rate: float
    a0: float
    b0: float
    jump_probability: float
    switch_probability: float
    _begun: float
    _resumption: Resumption

    #: Mean and deviation of log lam a priori.
    _lam_law = (0.0, 5.0)

    def _prior(self, d: int, scale: float) -> Prior:
        """The prior for d varying inputs when frequencies start at a spectral scale."""
        return Prior(
            mu0=np.zeros(d),
            kappa0=self.kappa0,
            nu0=d + 2.0 if self.nu0 is None else self.nu0,
            psi_mean=np.full(d, scale**2),
            psi_shape=self.scale_shape,
            alpha_shape=self.alpha_shape,
            alpha_rate=self.alpha_rate,
            lam_log_mean=self._lam_law[0],
            lam_log_sd=self._lam_law[1],
            a0=self.a0,
            b0=self.b0,
        )

    def _choose(
        self,
        moments: Moments,
        sample: tuple[Array, Array | None],
        start: tuple[Array, Array, Array | None],
        streams: Streams,
    ) -> None:
        """Input scaling, trend and spectral scale; see :func:`.starting.choose`."""
        varying = max(int((moments.high > moments.low).sum()), 1)
        if self.nu0 is not None and self.nu0 <= varying - 1:
            raise ValueError(
                f"nu0 must exceed {varying - 1} for {varying} varying inputs, but is {self.nu0}."
            )
        self.input_scaling_: InputScaling
        self.trend_: Trend
        self.starting_point_: StartingPoint
        stored = self._resumption.start()
        if stored is not None:
            choice = chosen_before(stored, moments, sample)
        else:
            choice = self._choose_afresh(moments, sample, start, streams)
        self.input_scaling_, self.trend_, self.starting_point_ = choice
        rng = streams.at(Purpose.START, block=5)
        self._probes = Probes.among(self.input_scaling_(start[0]), choice[2].scale, rng)

    def _choose_afresh(
        self,
        moments: Moments,
        sample: tuple[Array, Array | None],
        start: tuple[Array, Array, Array | None],
        streams: Streams,
    ) -> Choice:
        choices = choose(
            moments,
            sample,
            start,
            kinds=("standard", "arcsinh", "quantile")
            if self.input_scaling == "auto"
            else (self.input_scaling,),
            trends=("constant", "linear") if self.trend == "auto" else (self.trend,),
            spectral_scale=None if self.spectral_scale == "auto" else float(self.spectral_scale),
            M=self.n_frequencies,
            a0=self.a0,
            b0=self.b0,
            streams=streams,
        )
        sweeps = pilots.pilot_sweeps(self.n_warmup)
        if self.spectral_scale != "auto" or not sweeps:
            return choices[0]
        return self._after_pilots(choices, start, sweeps, streams)

    def _after_pilots(
        self,
        choices: list[Choice],
        start: tuple[Array, Array, Array | None],
        sweeps: int,
        streams: Streams,
    ) -> Choice:
        """The choice, at the spectral scale, from which short chains climb highest."""
        X, y, weight = start
        rows = RowKeys.of(X, None).choose(pilots.ROWS, streams.at(Purpose.START, block=4))
        end = None if self.max_time is None else self._begun + PILOT_SHARE * self.max_time
        found = []
        for scaling, trend, point in choices:
            Xs = scaling(X[rows])
            sent = pilots.Pilots(
                Xs,
                y[rows],
                part_of(weight, rows),
                trend,
                self.n_frequencies,
                partial(self._prior, Xs.shape[1]),
                Moves(jump=self.jump_probability, switch=self.switch_probability),
                sweeps,
                streams,
                lambda: end is not None and time.monotonic() > end,
            )
            with limited_to(1):  # small problems, and the same bits on any number of cores
                height, faster = sent.climb(point)
            found.append((height, (scaling, trend, faster)))
        return max(found, key=lambda pair: pair[0])[1]
