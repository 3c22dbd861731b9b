"""What a kernel says, in the units of the data: periods, length scales, relevance of inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from banklearn.model.features import Trend
from banklearn.model.kernel import mixture_spectral_density
from banklearn.posterior.draws import Draw
from banklearn.posterior.functions import draw_weights, evenly, function_at
from banklearn.posterior.kernel import LearnedKernel
from banklearn.posterior.lengths import Estimate, function_length, half_lag, kernel_lengths
from banklearn.posterior.oscillations import Line, density_peaks, spectral_lines
from banklearn.posterior.relevance import any_order, relevance
from banklearn.posterior.scaling import InputScaling

Array = NDArray[np.float64]

#: Draws that are looked at, and slices that periods are looked for in.
DRAWS, SLICES = 24, 8
#: Places at which a draw's function is looked at along an input, all slices together.
MOST_PLACES = 1 << 15
#: The share of the target's variance that a function makes is looked for in so many rows.
MOST_ROWS = 1 << 13
#: With many inputs, periods are looked for along the most relevant ones.
MOST_INPUTS = 12
#: Along an input with no more values than this, a function is not looked at between them.
FEWEST_VALUES = 4
#: Nor is it in a range this narrow, in units of the training rows: rounding is all it would show.
NARROW = 1e-6
#: A peak of the density this near to a line of the function, relative to it, is the same period.
SAME = 0.25


class Oscillation(NamedTuple):
    """A period in the units of the input, and its share.

    of "function": a line in the spectrum of the learned function, with its share of the
    function's variance. of "kernel": a peak of the spectral density, with its share of the mass.
    """

    period: Estimate
    share: float
    of: str


@dataclass(frozen=True)
class InputExplanation:
    """What was learned about one input.

    length_scale is that of the RBF kernel which bends as much at zero, with oscillations left
    out; length_scale_of says whether the learned function shows it ("function": the data span at
    least 20 of them) or the kernel tells ("kernel"), see :mod:`.lengths`. half_lag is the distance
    at which the kernel falls to one half. relevance is the share of the function's variance that
    goes when this input alone is shuffled (total Sobol index); interactions count for each input
    in them.
    """

    name: str
    varies: bool
    length_scale: Estimate | None = None
    length_scale_of: str = ""
    half_lag: Estimate | None = None
    relevance: Estimate | None = None
    oscillations: tuple[Oscillation, ...] = ()


@dataclass(frozen=True)
class KernelExplanation:
    """Periods, length scales and relevance of every input, with credible intervals.

    Lengths are in the units of the data. For inputs that were transformed, lengths of the kernel
    hold near the median of the input (`local` is then True); periods and lengths of the function
    hold everywhere. explained is the share of the target's variance that the function makes, the
    rest being noise; None where the target has classes.
    """

    inputs: tuple[InputExplanation, ...]
    coverage: float
    local: bool
    explained: Estimate | None = None

    def __getitem__(self, name: str) -> InputExplanation:
        for one in self.inputs:
            if one.name == name:
                return one
        raise KeyError(
            f"no input {name!r}; the inputs are {', '.join(i.name for i in self.inputs)}"
        )

    def __iter__(self) -> Iterator[InputExplanation]:
        return iter(self.inputs)

    def __len__(self) -> int:
        return len(self.inputs)

    def __contains__(self, name: object) -> bool:
        return any(one.name == name for one in self.inputs)

    def by_relevance(self) -> list[InputExplanation]:
        """The inputs that vary, the most relevant first."""
        known = [one for one in self.inputs if one.relevance is not None]
        return sorted(known, key=lambda one: -(one.relevance.value if one.relevance else 0.0))

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists."""
        out = asdict(self)
        out["explained"] = None if self.explained is None else list(self.explained)
        out["inputs"] = [
            {
                "name": one.name,
                "varies": one.varies,
                "length_scale_of": one.length_scale_of,
                **{
                    key: None if (e := getattr(one, key)) is None else list(e)
                    for key in ("length_scale", "half_lag", "relevance")
                },
                "oscillations": [
                    {"period": list(o.period), "share": o.share, "of": o.of}
                    for o in one.oscillations
                ],
            }
            for one in self.inputs
        ]
        return out

    def in_words(self) -> list[str]:
        """The explanation, one sentence each."""
        from banklearn.posterior.words import kernel_in_words

        return kernel_in_words(self)

    def __str__(self) -> str:
        return "\n".join(self.in_words())


def explain_kernel(
    kernel: LearnedKernel,
    trend: Trend,
    X: Array,
    names: Sequence[str],
    coverage: float = 0.9,
    has_noise: bool = False,
) -> KernelExplanation:
    """Explain the posterior over kernels and functions at rows X (n, d) in the user's units.

    has_noise: the target is the function and noise, so that one has a share of the other.
    """
    scaling, draws = kernel.scaling, evenly(kernel.draws, DRAWS)
    rng = np.random.default_rng(0)
    weights = [draw_weights(draw, rng) for draw in draws]
    order = any_order(X)
    slices = X[order[np.linspace(0, len(X) - 1, SLICES).astype(int)]]
    shares = relevance(draws, weights, scaling, trend, X, coverage)
    used = np.flatnonzero(scaling.used)
    candidates = set(used[np.argsort([-one.value for one in shares], kind="stable")][:MOST_INPUTS])
    tail = 0.5 * (1.0 - coverage)
    z = float(ndtri(1.0 - tail))

    def estimate(values: Array) -> Estimate:
        return Estimate(*map(float, np.quantile(values, [0.5, tail, 1.0 - tail])))

    inputs = []
    for column, name in enumerate(names):
        if not scaling.used[column]:
            inputs.append(InputExplanation(name, varies=False))
            continue
        i = int(scaling.used[:column].sum())
        unit = float(scaling.unit[i])
        x = X[:, column]
        lines: list[tuple[Line, str]] = []
        shown = None
        wide = len(np.unique(x)) > FEWEST_VALUES and float(np.ptp(x)) > NARROW * unit
        if column in candidates and wide:
            f = along(draws, weights, scaling, trend, X, slices, column)
            lines = find_lines(draws, f, scaling, x, i)
            if f is not None and all(of == "function" for _, of in lines):
                shown = function_length(f, float(np.ptp(x)), [line for line, _ in lines], z)
        told = kernel_lengths([draw.W[:, i] / unit for draw in kernel.draws], lines, x)
        half = np.array([half_lag(draw, i) for draw in kernel.draws]) * unit
        inputs.append(
            InputExplanation(
                name,
                varies=True,
                length_scale=shown or estimate(told),
                length_scale_of="function" if shown else "kernel",
                half_lag=estimate(half) if np.isfinite(half).all() else None,
                relevance=shares[i],
                oscillations=tuple(
                    Oscillation(Estimate(*line.period(z)), line.share, of) for line, of in lines
                ),
            )
        )
    explained = None
    if has_noise:
        rows = scaling(X[np.random.default_rng(0).permutation(order)[:MOST_ROWS]])
        pairs = zip(draws, weights, strict=True)
        made = np.array([function_at(*pair, rows, trend).var() for pair in pairs])
        explained = estimate(made / (made + [draw.noise for draw in draws]))
    return KernelExplanation(tuple(inputs), coverage, not scaling.linear, explained)


def along(
    draws: Sequence[Draw],
    weights: Sequence[Array],
    scaling: InputScaling,
    trend: Trend,
    X: Array,
    slices: Array,
    column: int,
) -> Array | None:
    """Each draw's function on an even grid over the range of one input, (S, slices * tasks, n).

    The other inputs are those of each slice. There are eight places, at least four, for a cycle
    of the fastest frequency; None where that is too many, since oscillations faster than the
    places would be seen as slow ones.
    """
    low, high = float(X[:, column].min()), float(X[:, column].max())
    fastest = _fastest(draws, scaling, int(scaling.used[:column].sum()))
    slices = slices[:1] if X.shape[1] == 1 else slices
    cycles = fastest * (high - low) / (2.0 * np.pi)
    most = MOST_PLACES // len(slices)
    if 4.0 * cycles > most:
        return None
    n = int(np.clip(2 ** np.ceil(np.log2(8.0 * cycles + 1)), 256, most))
    grid = np.repeat(slices, n, axis=0)
    grid[:, column] = np.tile(np.linspace(low, high, n), len(slices))
    Xs = scaling(grid)
    return np.stack(
        [
            function_at(draw, beta, Xs, trend).reshape(-1, n)
            for draw, beta in zip(draws, weights, strict=True)
        ]
    )


def _fastest(draws: Sequence[Draw], scaling: InputScaling, i: int) -> float:
    """What 99 % of the frequencies along input i do not exceed, per unit of the input."""
    unit = float(scaling.unit[i])
    return max(float(np.quantile(np.abs(draw.W[:, i]), 0.99)) for draw in draws) / unit


def find_lines(
    draws: Sequence[Draw], f: Array | None, scaling: InputScaling, x: Array, i: int
) -> list[tuple[Line, str]]:
    """Oscillations along input i with values x: of the functions f of :func:`along`, if any, and
    of the kernel where it has others."""
    length = float(np.ptp(x))
    found = [] if f is None else [(line, "function") for line in spectral_lines(f, length)]
    if scaling.linear:
        unit = float(scaling.unit[i])
        omega = np.linspace(0.0, 1.2 * _fastest(draws, scaling, i), 512)
        density = np.stack([_density(draw, i, omega * unit) for draw in draws])
        for line in density_peaks(omega, density, length):
            near = [abs(np.median(line.frequency) / np.median(o.frequency) - 1) for o, _ in found]
            if min(near, default=1.0) > SAME:
                found.append((line, "kernel"))
    return found


def _density(draw: Draw, i: int, omega: Array) -> Array:
    part = slice(i, i + 1)
    return mixture_spectral_density(
        omega[:, None], draw.pi, draw.mu[:, part], draw.Sigma[:, part, part]
    )
