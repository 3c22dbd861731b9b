"""What "auto" makes of inputs that are crowded, heavy-tailed, or neither."""

import numpy as np
import pytest

from banklearn import BankRegressor
from banklearn.estimators.starting import prefer
from banklearn.sampler.start import StartingPoint

N = 400


def chosen(x, f, seed=0):
    """The kind of scaling that is chosen for y = f + noise."""
    rng = np.random.default_rng(seed + 100)
    y = f + 0.1 * rng.standard_normal(len(f))
    few = BankRegressor(32, n_warmup=1, n_draws=1, n_chains=1, random_state=seed)
    return few.fit(x.reshape(len(f), -1), y).input_scaling_.kind


@pytest.mark.parametrize("start", range(3))
@pytest.mark.parametrize("law", ["normal", "uniform", "grid"])
def test_ordinary_inputs_are_standardised(law, start):
    rng = np.random.default_rng(start)
    x = {
        "normal": lambda: rng.standard_normal(N),
        "uniform": lambda: rng.uniform(-2, 2, N),
        "grid": lambda: np.linspace(-2, 2, N),
    }[law]()
    assert chosen(x, np.sin(5 * x), start) == "standard"


@pytest.mark.parametrize("start", range(3))
def test_inputs_that_crowd_are_brought_to_normal_scores(start):
    rng = np.random.default_rng(start)
    # Five narrow clusters far from each other: distances say little, ranks say all.
    z = rng.uniform(0, 5, N)
    x = 1e6 * np.floor(z) + z % 1
    assert chosen(x, np.sin(1.5 * z), start) == "quantile"


@pytest.mark.parametrize("start", range(3))
def test_heavy_tails_are_transformed(start):
    z = np.random.default_rng(start).standard_normal(N)
    assert chosen(np.sinh(3 * z), np.sin(3 * z), start) in ("arcsinh", "quantile")


@pytest.mark.parametrize(
    ("standard", "arcsinh", "quantile", "expected"),
    [
        (0.0, 9.0, 9.0, "standard"),
        (0.0, 11.0, 9.0, "arcsinh"),  # near each other, but quantiles have not earned it
        (0.0, 50.0, 30.0, "quantile"),
        (0.0, 50.0, 20.0, "arcsinh"),
        (0.0, 11.0, -90.0, "arcsinh"),
        (-30.0, -90.0, -10.0, "quantile"),
    ],
)
def test_near_ties_are_settled_by_what_a_transform_costs(standard, arcsinh, quantile, expected):
    evidences = {"standard": standard, "arcsinh": arcsinh, "quantile": quantile}
    best = {k: (k, "linear", StartingPoint(1.0, 1.0, e)) for k, e in evidences.items()}
    assert prefer(best, rows=1000)[0] == expected
    assert prefer({"arcsinh": best["arcsinh"]}, rows=1000)[0] == "arcsinh"
