"""Draw the README's two pictures of the synthetic problem again, into docs/images.

    python benchmarks/figures.py [--out docs/images]

learned-kernel.png: 4000 points, X ~ N(0, 20^2), noise 0.3: enough to learn the kernel.
paper-size.png: the paper's own size, 1000 points, X ~ N(0, 4^2), noise 1, 250 frequencies: too
little to tell the kernel from an RBF, which the band says.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

from banklearn import demo
from banklearn.viz import KernelDisplay

FIGURES = {
    "learned-kernel.png": (
        "4000 points over a wide range, noise 0.3",
        {"rows": 4000, "input_std": 20.0, "noise_std": 0.3},
        demo.FULL,
    ),
    "paper-size.png": (
        "1000 points over a narrow range, noise 1 (the paper's size)",
        {"rows": 1000, "input_std": 4.0, "noise_std": 1.0},
        demo.Size(rows=1000, n_frequencies=250, n_warmup=300, n_draws=100, max_time=600.0),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, (title, data, size) in FIGURES.items():
        X, y = demo.make_synthetic(**data, seed=options.seed)
        result = demo.learn_kernel(X, y, options.seed, size, verbose=1)
        display = KernelDisplay.from_estimator(
            result.model,
            lags=demo.LAGS,
            true_kernel=demo.synthetic_kernel,
            rbf_length_scale=result.rbf_length_scale,
        )
        display.ax_.set_title(title, fontsize="medium")
        display.ax_.set_ylim(-0.3, 1.05)
        display.figure_.savefig(options.out / name, dpi=130)
        pyplot.close(display.figure_)
        truth = demo.synthetic_kernel(demo.LAGS)
        inside = ((display.lower <= truth) & (truth <= display.upper)).mean()
        print(
            f"{name}: root mean square error {result.learned_error:.3f}, best RBF "
            f"{result.rbf_error:.3f}; the band holds the true kernel at {inside:.0%} of the lags"
        )


if __name__ == "__main__":
    main()
