"""What a fit decides before its chains begin: input scaling, trend, spectral scale, prior."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from banklearn.estimators.moves import moves_of
from banklearn.estimators.parameters import shown
from banklearn.estimators.resumption import Resumption
from banklearn.estimators.starting import Choice, choose, chosen_before, leaders, part_of
from banklearn.limits import SPARE_FREEDOM
from banklearn.model.features import Trend
from banklearn.model.priors import Prior
from banklearn.numerics.moments import Moments
from banklearn.numerics.streams import Purpose, Streams
from banklearn.numerics.threads import limited_to
from banklearn.posterior.scaling import InputScaling
from banklearn.posterior.settling import Probes
from banklearn.sampler import pilots
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
    exchange_share: float
    _begun: float
    _resumption: Resumption
    _start: StartingPoint
    _sample: tuple[Array, Array, Array | None]

    #: Mean and deviation of log lam a priori.
    _lam_law = (0.0, 5.0)

    def _prior(self, d: int, scale: float, lam_law: tuple[float, float] | None = None) -> Prior:
        """The prior for d varying inputs when frequencies start at a spectral scale."""
        mean, sd = lam_law or self._lam_law
        return Prior(
            mu0=np.zeros(d),
            kappa0=float(self.kappa0),
            nu0=d + 2.0 if self.nu0 is None else float(self.nu0),
            psi_mean=np.full(d, scale**2),
            psi_shape=None if self.scale_shape is None else float(self.scale_shape),
            alpha_shape=float(self.alpha_shape),
            alpha_rate=float(self.alpha_rate),
            lam_log_mean=mean,
            lam_log_sd=sd,
            a0=float(self.a0),
            b0=float(self.b0),
        )

    def _choose(
        self,
        moments: Moments,
        sample: tuple[Array, Array | None],
        start: tuple[Array, Array, Array | None],
        few: NDArray[np.intp],
        streams: Streams,
    ) -> None:
        """Input scaling, trend and spectral scale; see :func:`.starting.choose`.

        few are the places, among the rows of start, of those that pilots look at. The fixed kernel
        of highest evidence is kept as starting_point_; chains start at _start.
        """
        varying = max(int((moments.high > moments.low).sum()), 1)
        if self.nu0 is not None and self.nu0 < varying - 1 + SPARE_FREEDOM:
            raise ValueError(
                f"nu0 must exceed {varying - 1} by at least {SPARE_FREEDOM:g} for {varying} "
                f"varying inputs, but is {shown(self.nu0)}."
            )
        self.input_scaling_: InputScaling
        self.trend_: Trend
        self.starting_point_: StartingPoint
        stored = self._resumption.start()
        if stored is not None:
            choice, self._start = chosen_before(stored, moments, sample)
        else:
            choices = self._contenders(moments, sample, start, streams)
            choice, self._start = self._after_pilots(choices, start, few, streams)
        self.input_scaling_, self.trend_, self.starting_point_ = choice
        rng = streams.at(Purpose.START, block=5)
        self._sample = (self.input_scaling_(start[0]), *start[1:])
        self._probes = Probes.among(self._sample[0], self._start.scale, rng)

    def _contenders(
        self,
        moments: Moments,
        sample: tuple[Array, Array | None],
        start: tuple[Array, Array, Array | None],
        streams: Streams,
    ) -> list[Choice]:
        """Choices that the parameters allow, and fixed kernels do not tell apart."""
        return choose(
            moments,
            sample,
            start,
            kinds=("standard", "arcsinh", "quantile")
            if self.input_scaling == "auto"
            else (self.input_scaling,),
            trends=("constant", "linear") if self.trend == "auto" else (self.trend,),
            spectral_scale=None if self.spectral_scale == "auto" else float(self.spectral_scale),
            M=self.n_frequencies,
            a0=float(self.a0),
            b0=float(self.b0),
            streams=streams,
        )

    def _after_pilots(
        self,
        choices: list[Choice],
        start: tuple[Array, Array, Array | None],
        few: NDArray[np.intp],
        streams: Streams,
    ) -> tuple[Choice, StartingPoint]:
        """The choice from which short chains get highest, at the scale at which they do.

        Each choice sends one pilot before any sends a second; if time ends that, or no pilot is
        sent, evidence of fixed kernels has the last word. Of several transforms the one whose first
        pilot got highest goes on; it and inputs without a transform are compared where they climb
        to.
        """
        sweeps = pilots.pilot_sweeps(self.n_warmup)
        if self.spectral_scale != "auto" or not sweeps:
            return choices[0], choices[0][2]
        X, y, weight = start
        end = None if self.max_time is None else self._begun + PILOT_SHARE * self.max_time

        def sent_with(scaling: InputScaling, trend: Trend) -> pilots.Pilots:
            Xs = scaling(X[few])
            return pilots.Pilots(
                Xs,
                y[few],
                part_of(weight, few),
                trend,
                self.n_frequencies,
                partial(self._prior, Xs.shape[1], lam_law=Chooses._lam_law),
                moves_of(self),
                sweeps,
                streams,
                lambda: end is not None and time.monotonic() > end,
            )

        with limited_to(1):  # small problems, and the same bits on any number of cores
            sent = [sent_with(scaling, trend) for scaling, trend, _ in choices]
            first = [
                pilots_of.send(point.scale)
                for pilots_of, (_, _, point) in zip(sent, choices, strict=True)
            ]
            arrived = [pilot for pilot in first if pilot is not None]
            if len(arrived) < len(first):
                return choices[0], choices[0][2]
            leading = leaders([s.kind for s, _, _ in choices], [p.soon for p in arrived])
            climbed = [sent[i].climb(arrived[i]) for i in leading]
            best = int(np.argmax(pilots.last_look(climbed)))
            return choices[leading[best]], climbed[best].start
