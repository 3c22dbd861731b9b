"""Four chains on many cores: one core for each, teams of threads, or one chain after another.

    python benchmarks/teams.py [--chains 4] [--sizes 1500,14000,50000] [--gradients] [--out STEM.md]

What is timed are the chains of a fit: sweeps with exchanges as the default makes them, without
walks of components; with --gradients every sweep also has a trajectory of 24 steps. The layouts
take turns; medians of --repeats rounds after one that does not count. Teams are what a fit has
where there are at least two cores for a chain.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from measure import HERE, TREND, machine, make_data, seconds_of_chains

from banklearn import BankRegressor
from banklearn.estimators import base
from banklearn.estimators.layout import Layout
from banklearn.experiments.tables import markdown
from banklearn.numerics.threads import available_cores

#: Operations of the sweeps of a chain that are timed together, about.
WORK = 5e10


def layouts(chains: int) -> dict[str, Layout]:
    """By name, what is compared."""
    cores = available_cores()
    at_once = min(chains, cores)
    found = {"one core for each chain": Layout(at_once, True)}
    if (most := cores // at_once) > 1:
        sizes = sorted({2, most})
        found |= {f"teams of {n}": Layout(at_once, True, team=n) for n in sizes}
    return {**found, "one after another on all cores": Layout(1, True)}


@contextmanager
def laid_out(layout: Layout) -> Iterator[None]:
    """Fits have this layout."""
    lay_out = base.lay_out
    base.lay_out = lambda *_: layout
    try:
        yield
    finally:
        base.lay_out = lay_out


def sweeps_a_second(options: argparse.Namespace, N: int) -> dict[str, float]:
    """Of all chains together, by layout: medians of rounds in which each has its turn."""
    M, length = options.frequencies, 24
    sweeps = max(round(WORK / (12 * N * M**2)), 1)
    if options.gradients:
        sweeps = max(sweeps // length, 1)
    X, y = make_data(N, 16)
    model = BankRegressor(
        M, n_chains=options.chains, n_warmup=0, n_draws=1, thin=sweeps, spectral_scale=1.0,
        trend=TREND, input_scaling="none", growing_warmup=False, interweave_every=0,
        gradient_every=int(options.gradients), gradient_length=length, random_state=0, device="cpu",
    )  # fmt: skip
    rates: dict[str, list[float]] = {name: [] for name in layouts(options.chains)}
    for turn in range(1 + options.repeats):
        for name, layout in layouts(options.chains).items():
            with (
                laid_out(layout),
                seconds_of_chains() as seconds,
                warnings.catch_warnings(),
            ):
                warnings.simplefilter("ignore")  # so few sweeps settle nothing
                model.fit(X, y)
            if turn:
                rates[name].append(options.chains * sweeps / seconds[-1])
    return {name: float(np.median(values)) for name, values in rates.items()}


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--sizes", default="1500,14000,50000", help="numbers of rows")
    parser.add_argument("--frequencies", type=int, default=384)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "teams.md")
    options = parser.parse_args(arguments)
    lines = []
    for N in map(int, options.sizes.split(",")):
        rates = sweeps_a_second(options, N)
        one = next(iter(rates.values()))
        lines.append([f"{N}", *(f"{rate:.3g} ({rate / one:.2f})" for rate in rates.values())])
        print(lines[-1], flush=True)
    what = "sweeps with a trajectory" if options.gradients else "sweeps"
    text = markdown(["rows", *layouts(options.chains)], lines)
    text += (
        f"\n\n{options.chains} chains, M = {options.frequencies}, d = 16, {available_cores()} "
        f"cores ({machine()['cpu']}): {what} a second of all chains together, and how many times "
        "those of one core for each chain.\n"
    )
    options.out.write_text(text)
    return text


if __name__ == "__main__":
    print(main())
