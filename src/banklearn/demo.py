"""Three small examples in about a minute: ``python -m banklearn.demo --out demo-output``.

1. The synthetic problem of the paper (section 4.1) with enough data to learn the kernel: how far
   is the learned kernel from the true one, and how far is the best RBF kernel?
2. A made-up robot arm, where a kernel of one width does badly: predictions with intervals, beside
   such a kernel.
3. A real table that comes with scikit-learn, in which there is little for a kernel to learn.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from banklearn.baselines import RKSRegressor
from banklearn.datasets.arm import make_arm
from banklearn.datasets.synthetic import MU, PI, SIGMA, synthetic_kernel
from banklearn.estimators.regressor import BankRegressor
from banklearn.model.features import fourier_features
from banklearn.model.kernel import mixture_spectral_density
from banklearn.numerics.threads import limited_to
from banklearn.posterior.kernel import Mixture
from banklearn.report import render, summarise
from banklearn.report.words import number, percent
from banklearn.viz import (
    KernelDisplay,
    PredictionIntervalDisplay,
    SpectralDensityDisplay,
    TraceDisplay,
)

Array = NDArray[np.float64]

#: Lags at which kernels are compared.
LAGS = np.linspace(0.0, 8.0, 161)


#: The spectral density of section 4.1.
TRUTH = Mixture(PI, MU, SIGMA)


def synthetic_spectral_density(omega: Array) -> Array:
    """The mean of rho(omega) and rho(-omega)."""
    return mixture_spectral_density(omega[:, None], *TRUTH)


def make_synthetic(
    rows: int, input_std: float, noise_std: float, seed: int, n_frequencies: int = 250
) -> tuple[Array, Array]:
    """Section 4.1: X ~ N(0, input_std^2), Y ~ N(phi(X)'beta, noise_std^2), beta ~ N(0, I)."""
    rng = np.random.default_rng(seed)
    X = input_std * rng.standard_normal((rows, 1))
    component = rng.integers(2, size=n_frequencies)
    W = TRUTH.mu[component] + 0.5 * rng.standard_normal((n_frequencies, 1))
    beta = rng.standard_normal(2 * n_frequencies)
    return X, fourier_features(X, W) @ beta + noise_std * rng.standard_normal(rows)


@dataclass(frozen=True)
class Size:
    """How much data and how many sweeps; max_time bounds each fit on a slow machine."""

    rows: int
    n_frequencies: int
    n_warmup: int
    n_draws: int
    max_time: float


FULL = Size(rows=4000, n_frequencies=128, n_warmup=150, n_draws=40, max_time=45.0)
QUICK = Size(rows=600, n_frequencies=24, n_warmup=20, n_draws=8, max_time=20.0)
#: Positions of the robot arm, of a full demo and a quick one.
ARM_ROWS, FEW_ARM_ROWS = 2500, 300


@dataclass(frozen=True)
class KernelLearning:
    """The fitted model, the length scale of the best RBF kernel, and both kernels' errors."""

    model: BankRegressor
    rbf_length_scale: float
    learned_error: float
    rbf_error: float


def rbf_kernel(lags: Array, length_scale: float) -> Array:
    """exp(-t^2 / (2 l^2))."""
    return np.asarray(np.exp(-0.5 * (lags / length_scale) ** 2))


def root_mean_square(difference: Array) -> float:
    """Square root of the mean square."""
    return float(np.sqrt(np.mean(difference**2)))


def best_rbf_length_scale(X: Array, y: Array, seed: int) -> float:
    """Length scale of the RBF kernel with the highest evidence, in the units of X."""
    rks = RKSRegressor(250, scaling="standard", select="evidence", random_state=seed)
    with limited_to(1):  # small products: threads would only wait for each other on a busy machine
        rks.fit(X, y)
    return float(rks.scale_ * rks.scaler_.scale[0])


def learn_kernel(
    X: Array, y: Array, seed: int, size: Size, n_frequencies: int | None = None, verbose: int = 0
) -> KernelLearning:
    """Fit the synthetic data and compare kernels with the truth, by root mean square error."""
    model = fit(X, y, seed, size, n_frequencies, verbose, input_scaling="standard")
    length_scale = best_rbf_length_scale(X, y, seed)
    truth = synthetic_kernel(LAGS)
    return KernelLearning(
        model,
        length_scale,
        root_mean_square(model.kernel_.at_lags(LAGS).mean - truth),
        root_mean_square(rbf_kernel(LAGS, length_scale) - truth),
    )


def fit(
    X: Any,
    y: Any,
    seed: int,
    size: Size,
    n_frequencies: int | None = None,
    verbose: int = 0,
    **options: Any,
) -> BankRegressor:
    """A fit of the demo's size; should time run out, it says so by itself."""
    model = BankRegressor(
        n_frequencies or size.n_frequencies,
        n_chains=2,  # so that they can be compared, in a minute
        n_warmup=size.n_warmup,
        n_draws=size.n_draws,
        max_time=size.max_time,
        random_state=seed,
        verbose=verbose,
        **options,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("always", ConvergenceWarning)
        return model.fit(X, y)


def synthetic_part(out: Path, size: Size, seed: int, console: Console) -> list[Path]:
    """The paper's synthetic problem: learned kernel against the truth and the best RBF."""
    console.rule("1. Learning a kernel")
    console.print(
        f"{size.rows} points of a function whose kernel is known: smooth variation times an "
        "oscillation. What is learned, and what can the best RBF kernel say?"
    )
    X, y = make_synthetic(size.rows, input_std=20.0, noise_std=0.3, seed=seed)
    result = learn_kernel(X, y, seed, size, verbose=1)
    table = Table(
        "kernel", "root mean square error", caption="distance to the true kernel, lags 0 to 8"
    )
    table.add_row("best RBF by evidence", number(result.rbf_error))
    table.add_row("learned (posterior mean)", number(result.learned_error))
    console.print(table)
    ratio = result.learned_error / result.rbf_error
    console.print(f"The learned kernel's error is {percent(ratio)} of the RBF kernel's.")
    figures = {
        "synthetic-kernel.png": KernelDisplay.from_estimator(
            result.model,
            lags=LAGS,
            true_kernel=synthetic_kernel,
            rbf_length_scale=result.rbf_length_scale,
        ),
        "synthetic-spectrum.png": SpectralDensityDisplay.from_estimator(
            result.model,
            frequencies=np.linspace(0.0, 5.0, 301),
            true_density=synthetic_spectral_density,
        ),
        "synthetic-traces.png": TraceDisplay.from_estimator(result.model),
    }
    return save(figures, out)


@dataclass(frozen=True)
class Example:
    """A table to predict from: its name in files, what is said before and in the report."""

    name: str
    words: str
    title: str
    X: Array
    y: Array
    names: Sequence[str]
    target: str


def arm_example(rows: int, seed: int) -> Example:
    """Joint angles of a robot arm, and how far its hand is from a point."""
    arm = make_arm(rows, noise=0.02, random_state=seed)
    return Example(
        "arm",
        f"{rows} positions of a made-up robot arm with eight joints; the target is how far its "
        "hand is from a point. Most of it depends on a few sums of neighbouring angles, directions "
        "that a kernel of one width does not favour.",
        "Robot arm: kernel learning report",
        arm.X,
        arm.y,
        [f"angle {i + 1}" for i in range(arm.X.shape[1])],
        "distance",
    )


def diabetes_example() -> Example:
    """A real table: few rows, much noise."""
    table = load_diabetes()
    return Example(
        "diabetes",
        f"{len(table.data)} patients with diabetes, ten measurements each; the target is how far "
        "the disease has progressed a year later. Few rows, much noise and hardly anything that "
        "is not linear: a fixed kernel is not easily beaten here.",
        "Diabetes progression: kernel learning report",
        table.data,
        table.target,
        table.feature_names,
        "progression",
    )


def table_part(example: Example, out: Path, size: Size, seed: int, console: Console) -> list[Path]:
    """Scores of rows kept out beside a fixed kernel, a plot and the report."""
    console.print(f"{example.words} A quarter of the rows is kept out of the fit.")
    X_train, X_test, y_train, y_test = train_test_split(
        example.X, example.y, test_size=0.25, random_state=seed
    )
    model = fit(X_train, y_train, seed, size, verbose=1)
    with limited_to(1):
        rival = RKSRegressor(size.n_frequencies, random_state=seed).fit(X_train, y_train)
    summary = summarise(
        model,
        X_test,
        y_test,
        rival,
        names=example.names,
        title=example.title,
        target=example.target,
    )
    table = Table("", "mean squared error", "in the 95 % interval", "mean log density")
    for name, scores in summary["scores"].items():
        table.add_row(
            name,
            number(scores["mse"]),
            percent(scores["coverage"]),
            f"{scores['log_density']:.3f}",
        )
    console.print(table)
    own, fixed = (scores["mse"] for scores in summary["scores"].values())
    console.print(
        f"The learned kernel's error is {percent(own / fixed)} of that of a fixed kernel with as "
        "many frequencies."
    )
    display = PredictionIntervalDisplay(**summary["predictions"], coverage=summary["interval"])
    paths = save({f"{example.name}-predictions.png": display.plot()}, out)
    report = out / f"{example.name}-report.html"
    report.write_text(render(summary), encoding="utf-8")
    return [*paths, report]


def save(displays: dict[str, Any], out: Path) -> list[Path]:
    """Write the figures of some displays, and close them."""
    from matplotlib import pyplot

    paths = []
    for name, display in displays.items():
        display.figure_.savefig(out / name, dpi=150)
        pyplot.close(display.figure_)
        paths.append(out / name)
    return paths


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all parts, write the files and say where they are."""
    parser = argparse.ArgumentParser(prog="python -m banklearn.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="folder to write to")
    parser.add_argument("--seed", type=int, default=0, help="seed of data and fits")
    parser.add_argument("--quick", action="store_true", help="too small to learn much: a trial")
    options = parser.parse_args(arguments)
    import matplotlib

    matplotlib.use("Agg")  # only files are written, so no display is needed
    size = QUICK if options.quick else FULL
    console = Console()
    start = time.monotonic()
    options.out.mkdir(parents=True, exist_ok=True)
    paths = synthetic_part(options.out, size, options.seed, console)
    console.rule("2. Predicting with intervals")
    arm = arm_example(FEW_ARM_ROWS if options.quick else ARM_ROWS, options.seed)
    paths += table_part(arm, options.out, size, options.seed, console)
    console.rule("3. Where there is little to learn")
    paths += table_part(diabetes_example(), options.out, size, options.seed, console)
    console.rule(f"Done in {time.monotonic() - start:.0f} s")
    console.print(
        "These fits are short: where a report says that chains have not met, the defaults, which "
        "run longer, bring them nearer."
    )
    for path in paths:
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
