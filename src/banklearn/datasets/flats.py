"""A made-up table of flats, with what real tables have: dates, text, gaps, a constant column."""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np

HEADER = ("sold", "district", "area", "floor", "heating", "currency", "price")
DISTRICTS = {"Harbour": 1.25, "Hill": 1.1, "Old Town": 1.4, "Park": 1.0, "Station": 0.8}
HEATING = ("gas", "heat pump", "district")


def write_flats(path: Path, seed: int = 0, rows: int = 400) -> None:
    """Write a CSV file.

    The price depends on the area (more than linearly), the district, and a yearly rhythm with a
    rising trend; heating has gaps, the currency is always the same, and one price is missing.
    """
    rng = np.random.default_rng(seed)
    names = list(DISTRICTS)
    start = date(2021, 1, 4)
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(HEADER)
        for row in range(rows):
            day = int(rng.integers(3 * 365))
            district = names[int(rng.integers(len(names)))]
            area = float(np.round(rng.gamma(9.0, 8.0) + 18.0, 1))
            rhythm = 1.0 + 0.1 * np.sin(2.0 * np.pi * day / 365.25) + 0.0002 * day
            price = (
                2.1
                * area**1.1
                * DISTRICTS[district]
                * rhythm
                * np.exp(0.06 * rng.standard_normal())
            )
            heating = "" if rng.random() < 0.08 else HEATING[int(rng.integers(3))]
            floor = "" if rng.random() < 0.05 else str(int(rng.integers(0, 7)))
            sold = (start + timedelta(days=day)).isoformat()
            worth = "" if row == 123 else f"{price:.1f}"
            out.writerow([sold, district, f"{area:.1f}", floor, heating, "EUR", worth])
