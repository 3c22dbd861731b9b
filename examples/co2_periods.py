"""A time series with several periods: carbon dioxide over Mauna Loa.

Weekly measurements from 1958 to 2001 come with statsmodels. The concentration rises, and
oscillates with the seasons. Nobody tells the model about years: the kernel finds the period and
its second harmonic, and the forecast of the last five years continues both.

Trend and scaling of the one input are plain, so that the kernel tells of time in years. The
spectral scale is what has to be set. An oscillation that repeats forty times within
the data lies far from the smooth spectra that the automatic choice looks at, so the prior is told
to expect frequencies that high.
"""

from __future__ import annotations

import numpy as np
from statsmodels.datasets import co2

from banklearn import BankRegressor
from gallery import Gallery


def main(gallery: Gallery) -> BankRegressor:
    """Fit all but the last five years, explain the kernel, and forecast."""
    series = co2.load_pandas().data["co2"].dropna().iloc[:: 6 if gallery.quick else 2]
    days = series.index.to_numpy().astype("datetime64[D]").astype(float)
    years, ppm = 1970.0 + days / 365.2425, series.to_numpy()
    X, past = years[:, None], years < 1997.0

    model = BankRegressor(
        gallery.budget(96, 192),
        n_chains=gallery.budget(1, 2),
        n_warmup=gallery.budget(60, 200),
        n_draws=gallery.budget(12, 40),
        spectral_scale=60.0,
        trend="linear",
        input_scaling="standard",
        random_state=0,
    )
    model.fit(X[past], ppm[past])

    explanation = model.explain(X[past], names=["years"])
    print(explanation)

    mean, std = model.predict(X, return_std=True)
    lower, upper = model.predict_interval(X, 0.9)
    future = ~past
    error = np.sqrt(np.mean((mean - ppm)[future] ** 2))
    held = np.mean((lower <= ppm)[future] & (ppm <= upper)[future])
    print(f"Forecast of the last five years: off by {error:.2f} ppm (root mean square).")
    print(
        f"The 90 % interval holds {100 * held:.0f} % of them. The deviation of the predictive law"
    )
    print(f"is {std[future].mean():.1f} ppm there, against {std[past].mean():.1f} within the data.")

    ax = gallery.axes("years", "carbon dioxide (ppm)")
    late = years > 1990
    ax.fill_between(years[late], lower[late], upper[late], alpha=0.25, label="90 % interval")
    ax.plot(years[late], ppm[late], ".", markersize=3, color="black", label="measured")
    ax.plot(years[late], mean[late], linewidth=1, label="predicted")
    ax.axvline(1997.0, color="gray", linestyle=":")
    ax.legend(frameon=False)
    gallery.save(ax, "co2-forecast")
    return model


if __name__ == "__main__":
    main(Gallery.from_arguments(__doc__))
