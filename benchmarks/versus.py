"""Seconds to reach an error, end to end, beside other libraries.

    python benchmarks/versus.py [--sets noise,bike,waves] [--methods bank,svgp,trees,gp] [--quick]

Every method gets a ladder of effort (time limit, epochs, trees, rows) and leaves a curve of
(seconds, test MSE). Seconds are those of fitting, scaling and choice of hyper-parameters
included, prediction not. Each method's best error then is a target, and the table tells how long
each method took to first reach every target: equal accuracy, not equal settings. The best point of
a curve is picked by test error, for every method alike, so targets are a little optimistic.

bank   BankRegressor with its defaults, one fit per time limit
svgp   GPyTorch's sparse variational GP (RBF, one length scale per input), curve over epochs
trees  scikit-learn's HistGradientBoostingRegressor, one fit per number of trees
gp     scikit-learn's GaussianProcessRegressor on a subsample, one fit per size

Sets: the paper's noise and bike (BANKLEARN_DATA names their folder; fold 0, target divided by its
standard deviation) and waves, 32 000 synthetic rows with d = 8.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measure import HERE, duration, machine, make_data, read_set, table
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.preprocessing import StandardScaler

from banklearn import BankRegressor

#: (seconds, test MSE, what was run)
Point = tuple[float, float, str]


@dataclass(frozen=True)
class Effort:
    """The ladders."""

    limits: tuple[float, ...] = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
    epochs: int = 100
    inducing: int = 512
    svgp_seconds: float = 300.0
    trees: tuple[int, ...] = (50, 100, 200, 400, 800, 1600)
    gp_rows: tuple[int, ...] = (500, 1000, 2000, 4000)
    synthetic_rows: int = 32_000
    frequencies: int = 384


QUICK = Effort((0.5,), 2, 16, 5.0, (5, 10), (50, 100), 400, 8)


@dataclass(frozen=True)
class Split:
    """Training and test rows."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def error(self, predicted: np.ndarray) -> float:
        return float(np.mean((predicted - self.y_test) ** 2))


def split(name: str, effort: Effort) -> Split:
    """Fold 0 of five, target in units of its standard deviation."""
    X, y = make_data(effort.synthetic_rows, 8) if name == "waves" else read_set(name)
    y = y / y.std()
    order = np.random.default_rng(0).permutation(len(y))
    test = order[0::5]
    train = np.setdiff1d(order, test)
    return Split(X[train], y[train], X[test], y[test])


def bank(data: Split, effort: Effort) -> Iterator[Point]:
    for limit in effort.limits:
        model = BankRegressor(effort.frequencies, max_time=limit, random_state=0)
        begin = time.perf_counter()
        model.fit(data.X, data.y)
        seconds = time.perf_counter() - begin
        done = model.n_sweeps_
        yield seconds, data.error(model.predict(data.X_test)), f"{sum(done)} sweeps"
        if seconds < 0.8 * limit:
            return  # complete: a higher limit changes nothing


def trees(data: Split, effort: Effort) -> Iterator[Point]:
    for count in effort.trees:
        model = HistGradientBoostingRegressor(max_iter=count, early_stopping=False, random_state=0)
        begin = time.perf_counter()
        model.fit(data.X, data.y)
        seconds = time.perf_counter() - begin
        yield seconds, data.error(model.predict(data.X_test)), f"{count} trees"


def gp(data: Split, effort: Effort) -> Iterator[Point]:
    rng = np.random.default_rng(0)
    for rows in effort.gp_rows:
        if rows > len(data.y):
            return
        chosen = rng.choice(len(data.y), rows, replace=False)
        kernel = ConstantKernel() * RBF(np.ones(data.X.shape[1])) + WhiteKernel(0.1)
        model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
        begin = time.perf_counter()
        scaler = StandardScaler().fit(data.X[chosen])
        model.fit(scaler.transform(data.X[chosen]), data.y[chosen])
        seconds = time.perf_counter() - begin
        yield seconds, data.error(model.predict(scaler.transform(data.X_test))), f"{rows} rows"


def svgp(data: Split, effort: Effort) -> Iterator[Point]:
    import gpytorch
    import torch

    torch.manual_seed(0)
    begin = time.perf_counter()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    scaler = StandardScaler().fit(data.X)
    mean, std = data.y.mean(), data.y.std()

    def tensor(A: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(A, dtype=torch.float32, device=device)

    X, y = tensor(scaler.transform(data.X)), tensor((data.y - mean) / std)

    class Sparse(gpytorch.models.ApproximateGP):
        def __init__(self, inducing: torch.Tensor) -> None:
            law = gpytorch.variational.CholeskyVariationalDistribution(len(inducing))
            strategy = gpytorch.variational.VariationalStrategy(
                self, inducing, law, learn_inducing_locations=True
            )
            super().__init__(strategy)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.RBFKernel(ard_num_dims=inducing.shape[1])
            )

        def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    chosen = torch.randperm(len(X), device=device)[: effort.inducing]
    model = Sparse(X[chosen].clone()).to(device)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(device)
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(X))
    optimiser = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.01)
    spent = time.perf_counter() - begin
    X_test = tensor(scaler.transform(data.X_test))
    for epoch in range(1, effort.epochs + 1):
        begin = time.perf_counter()
        model.train()
        likelihood.train()
        for batch in torch.randperm(len(X), device=device).split(1024):
            optimiser.zero_grad()
            loss = -objective(model(X[batch]), y[batch])
            loss.backward()
            optimiser.step()
        if device == "cuda":
            torch.cuda.synchronize()
        spent += time.perf_counter() - begin
        model.eval()
        with torch.no_grad():
            parts = [model(part).mean.cpu().numpy() for part in X_test.split(4096)]
        predicted = mean + std * np.concatenate(parts).astype(float)
        yield spent, data.error(predicted), f"{epoch} epochs, {device}"
        if spent > effort.svgp_seconds:
            return


METHODS: dict[str, Callable[[Split, Effort], Iterator[Point]]] = {
    "bank": bank, "svgp": svgp, "trees": trees, "gp": gp,
}  # fmt: skip


def missing(method: str) -> str | None:
    """Why a method cannot run here, if so."""
    if method == "svgp":
        absent = [m for m in ("torch", "gpytorch") if importlib.util.find_spec(m) is None]
        if absent:
            names = " and ".join(absent)
            return f"svgp is left out: {names} not installed (pip install torch gpytorch)."
    return None


def first_below(curve: list[Point], target: float) -> Point | None:
    """The cheapest point of a curve that reaches a target."""
    reached = [point for point in curve if point[1] <= target]
    return min(reached) if reached else None


def report(name: str, curves: dict[str, list[Point]]) -> str:
    """Targets in the rows (each method's best error), methods in the columns."""
    best = {method: min(curve, key=lambda p: p[1]) for method, curve in curves.items() if curve}
    rows = []
    for method, (_, target, _) in sorted(best.items(), key=lambda item: -item[1][1]):
        cells = []
        for other in curves:
            point = first_below(curves[other], target * (1 + 1e-12))
            cells.append(f"{duration(point[0])} ({point[2]})" if point else "not reached")
        rows.append([f"{target:.4g} (best of {method})", *cells])
    return f"## {name}\n\n{table(['test MSE', *curves], rows)}\n"


def main(arguments: list[str] | None = None) -> dict[str, dict[str, list[Point]]]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default="noise,bike,waves")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--quick", action="store_true", help="tiny ladders: does it run at all?")
    parser.add_argument("--out", default=str(HERE / "results" / "versus"))
    given = parser.parse_args(arguments)
    effort = QUICK if given.quick else Effort()
    found: dict[str, dict[str, list[Point]]] = {}
    about, texts, left_out = machine(), [], set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name in given.sets.split(","):
            data = split(name, effort)
            found[name] = {}
            for method in given.methods.split(","):
                if reason := missing(method):
                    left_out.add(reason)
                    continue
                curve = found[name][method] = []
                for point in METHODS[method](data, effort):
                    curve.append(point)
                    print(f"{name} {method} {point[0]:.2f} s MSE {point[1]:.5g} {point[2]}")
            texts.append(report(name, found[name]))
            print(texts[-1], flush=True)
    for reason in sorted(left_out):
        print(reason)
    stem = Path(given.out)
    stem.parent.mkdir(parents=True, exist_ok=True)
    stem.with_name(stem.name + ".json").write_text(
        json.dumps({"machine": about, "curves": found}, indent=1) + "\n"
    )
    head = [f"# Seconds to reach an error\n\n{about['cpu']}, {about['cores']} cores.", *left_out]
    stem.with_name(stem.name + ".md").write_text("\n\n".join([*head, *texts]))
    return found


if __name__ == "__main__":
    main()
