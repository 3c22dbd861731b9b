"""Section 4.1 of the paper: is the band honest, and is the kernel learned where it can be?

Paper's size (N = 1000, X ~ N(0, 4^2), noise 1): how often the 90 % band holds the true kernel.
Larger (N = 4000, X ~ N(0, 20^2), noise 0.3): root mean square error of the posterior mean kernel
over that of the RBF kernel with the highest evidence, and both evidences. M = 250 throughout.

    python benchmarks/synthetic.py [--jobs 2] [--out benchmarks/results/synthetic.json]
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from banklearn import BankRegressor
from banklearn.demo import make_synthetic, synthetic_kernel
from banklearn.engines.memory import MemoryEngine
from banklearn.gram import GramSum
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.numerics.streams import Streams
from banklearn.numerics.threads import limited_to
from banklearn.sampler.start import best_lam

M = 250
LAGS = np.linspace(0.0, 8.0, 161)
PAPER = {"rows": 1000, "input_std": 4.0, "noise_std": 1.0}
#: Where the data say little, chains wander: a band needs more of them.
CHAINS = {"paper": 4, "large": 2}
LARGE = {"rows": 4000, "input_std": 20.0, "noise_std": 0.3}


def best_rbf(X: np.ndarray, y: np.ndarray, trend: str) -> tuple[float, float]:
    """(frequency scale, log evidence) of the best RBF kernel, on the data as the fit sees them."""
    Xs, ys = (X - X.mean()) / X.std(), (y - y.mean()) / y.std()
    engine = MemoryEngine(Xs, ys)
    likelihood = Gaussian(1.0, 1e-6)
    working = likelihood.working(None, Streams(0), 0)
    xi = np.random.default_rng(0).standard_normal((M, 1))
    best = (1.0, -np.inf)
    for scale in 2.0 ** np.arange(-2.0, 7.01, 0.25):
        gram = engine.sum(GramSum(scale * xi, trend, working, 1))
        _, evidence = best_lam(gram.G[0], gram.r[0], float(gram.tt[0]), float(gram.n[0]), 1.0, 1e-6)
        if evidence > best[1]:
            best = (float(scale), evidence)
    return best


def one(job: tuple[str, int]) -> dict[str, Any]:
    name, seed = job
    with limited_to(1):
        X, y = make_synthetic(**(PAPER if name == "paper" else LARGE), seed=seed)
        model = BankRegressor(
            M, input_scaling="standard", n_chains=CHAINS[name], device="cpu", random_state=seed
        ).fit(X, y)
        truth = synthetic_kernel(LAGS)
        mean, low, high = model.kernel_.at_lags(LAGS, coverage=0.9)
        scale, evidence = best_rbf(X, y, model.trend_)
        rbf = np.exp(-0.5 * (scale * LAGS / X.std()) ** 2)
        sampled = np.concatenate([t["log_evidence"][t["warmup"] :] for t in model.trace_])
        rmse, rbf_rmse = (float(np.sqrt(np.mean((k - truth) ** 2))) for k in (mean, rbf))
    return {
        "size": name,
        "seed": seed,
        "band holds": float(np.mean((truth >= low - 1e-12) & (truth <= high + 1e-12))),
        "kernel rmse": rmse,
        "rbf rmse": rbf_rmse,
        "ratio": rmse / rbf_rmse,
        "log evidence": float(sampled.mean()),
        "rbf log evidence": evidence,
    }


def table(results: list[dict[str, Any]], summary: dict[str, Any]) -> str:
    """The runs as Markdown."""
    fields = ("band holds", "kernel rmse", "rbf rmse", "ratio", "log evidence", "rbf log evidence")
    lines = [
        "| size | seed | " + " | ".join(fields) + " |",
        "|---|---" + "|---" * len(fields) + "|",
    ]
    for r in results:
        cells = " | ".join(f"{r[f]:.4g}" for f in fields)
        lines.append(f"| {r['size']} | {r['seed']} | {cells} |")
    lines += ["", *(f"- {name}: {value:.3g}" for name, value in summary.items())]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", default=str(Path(__file__).parent / "results" / "synthetic.json"))
    parser.add_argument("--only", choices=("paper", "large"), help="keep the other size's results")
    arguments = parser.parse_args()
    out = Path(arguments.out)
    jobs = [("large", seed) for seed in range(5)] + [("paper", seed) for seed in range(10)]
    results: list[dict[str, Any]] = []
    if arguments.only:
        jobs = [job for job in jobs if job[0] == arguments.only]
        known = json.loads(out.read_text())["runs"] if out.exists() else []
        results = [r for r in known if r["size"] != arguments.only]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for result in pool.map(one, jobs):
            results.append(result)
            print(json.dumps(result), flush=True)
    large = [r for r in results if r["size"] == "large"]
    paper = [r for r in results if r["size"] == "paper"]
    summary = {
        "paper size: share of lags inside the 90 % band": float(
            np.mean([r["band holds"] for r in paper])
        ),
        "larger: mean ratio of kernel errors": float(np.mean([r["ratio"] for r in large])),
        "larger: data sets with more evidence than the RBF": sum(
            r["log evidence"] > r["rbf log evidence"] for r in large
        ),
    }
    print(json.dumps(summary, indent=1))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"summary": summary, "runs": results}, indent=1) + "\n")
    out.with_suffix(".md").write_text(table(results, summary))


if __name__ == "__main__":
    main()
