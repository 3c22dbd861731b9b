"""Spatial data: a field that varies faster from west to east than from south to north.

A field is drawn on a square of 100 km, with a length scale of 8 km from west to east and 25 km
from south to north, and measured at scattered stations with noise. An isotropic kernel has to
choose one length scale for both; the learned one finds out that the field varies about three times
as fast to the east. A dozen length scales across the square are few, so the values themselves are
rough. The map says where it is only a guess: stations are missing in one corner.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm, qmc

from banklearn import BankRegressor
from banklearn.baselines import RKSRegressor
from gallery import Gallery

#: From west to east and from south to north, in kilometres.
LENGTH_SCALES = (8.0, 25.0)
NOISE = 0.15


def draw_field(X: np.ndarray, seed: int = 0, waves: int = 1024) -> np.ndarray:
    """A draw of a process with an RBF kernel: cosines at quasi-random normal frequencies."""
    rng = np.random.default_rng(seed)
    # Unscrambled, without its first point, the origin: the same for every release of SciPy.
    uniform = qmc.Sobol(2, scramble=False).random(2 * waves)[waves:]
    W = norm.ppf(np.clip(uniform, 1e-6, 1 - 1e-6)) / np.array(LENGTH_SCALES)
    phase = rng.uniform(0.0, 2.0 * np.pi, waves)
    return np.sqrt(2.0 / waves) * np.cos(X @ W.T + phase).sum(axis=1)


def stations(count: int, rng: np.random.Generator) -> np.ndarray:
    """Places in the square, none of them in its north-eastern corner."""
    X = rng.uniform(0.0, 100.0, (2 * count, 2))
    return X[~((X[:, 0] > 70.0) & (X[:, 1] > 70.0))][:count]


def main(gallery: Gallery) -> BankRegressor:
    """Fit the stations, compare with an isotropic kernel, and draw the map."""
    rng = np.random.default_rng(1)
    X = stations(gallery.budget(500, 1200), rng)
    y = draw_field(X) + NOISE * rng.standard_normal(len(X))
    X_new = stations(400, rng)
    truth = draw_field(X_new)

    model = BankRegressor(
        gallery.budget(96, 192),
        n_chains=gallery.budget(1, 2),
        n_warmup=gallery.budget(80, 200),
        n_draws=gallery.budget(12, 40),
        input_scaling="standard",
        random_state=0,
    ).fit(X, y)
    rival = RKSRegressor(gallery.budget(96, 192), random_state=0).fit(X, y)

    explanation = model.explain(X, names=["east", "north"])
    for one, true in zip(explanation.inputs, LENGTH_SCALES, strict=True):
        value, low, high = one.length_scale
        found = f"{value:.1f} km ({low:.1f} to {high:.1f})"
        print(f"length scale to the {one.name}: {found}, drawn with {true:.0f}")
    for name, one in (("learned kernel", model), ("isotropic RBF kernel", rival)):
        error = np.sqrt(np.mean((one.predict(X_new) - truth) ** 2))
        print(f"{name}: off by {error:.3f} where the field has a deviation of {truth.std():.2f}")

    side = np.linspace(0.0, 100.0, gallery.budget(40, 120))
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    far = model.extrapolation(grid)
    corner = (grid[:, 0] > 80.0) & (grid[:, 1] > 80.0)
    print(f"left to the prior: {100 * far.prior_share[corner].mean():.0f} % in the empty corner,")
    print(f"{100 * far.prior_share[~corner].mean():.0f} % elsewhere")

    ax = gallery.axes("km to the east", "km to the north")
    shape = (len(side), len(side))
    drawn = ax.contourf(side, side, model.predict(grid).reshape(shape), 24)
    ax.contour(side, side, far.prior_share.reshape(shape), [0.25], colors="white")
    ax.plot(*X.T, ".", color="black", markersize=1)
    ax.figure.colorbar(drawn, label="predicted field; white line: a guess beyond")
    ax.set_aspect("equal")
    gallery.save(ax, "spatial-map")
    return model


if __name__ == "__main__":
    main(Gallery.from_arguments(__doc__))
