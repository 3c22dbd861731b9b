"""What `bank plan` predicts beside what sweeps take: seconds of a sweep from Parquet files.

    python benchmarks/cost_model.py                      # about two minutes on two quiet cores
    python benchmarks/cost_model.py --calibration 2 --rows 20000 --repeats 3    # a quick look

For each size: the ten-second calibration of the command, its prediction for one chain, and the
median of whole sweeps of the chunked engine on files of that size. On a busy machine,
--processor-time with one thread on one core leaves out what others take. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measure import duration, machine, make_data, make_problem, table

from banklearn.engines.chunked import ChunkedEngine
from banklearn.engines.pieces import Piece
from banklearn.planning import CALIBRATION, Clock, Problem, calibrate, plan
from banklearn.sampler import sweep as kernel
from banklearn.sources import TableSource

#: Share of the rows, inputs, frequencies, classes.
SIZES = ((1.0, 20, 192, 0), (1.0, 20, 64, 0), (1.0, 5, 64, 0), (0.25, 20, 384, 0), (0.5, 20, 64, 2))


def from_files(folder: Path, X: np.ndarray, y: np.ndarray) -> ChunkedEngine:
    """The same rows, read from Parquet files for every sum."""
    columns = {f"x{j:02d}": X[:, j] for j in range(X.shape[1])} | {"y": y}
    pq.write_table(pa.table(columns), folder / "rows.parquet", compression="none")
    source = TableSource(folder, "y")
    return ChunkedEngine(
        lambda: (Piece(b.X, b.y, None) for b in source.blocks()), len(X), X.shape[1], False
    )


def measured(size: Problem, repeats: int, clock: Clock) -> float:
    """Median seconds of a sweep."""
    X, y = make_data(size.rows, size.inputs, size.classes)
    problem = make_problem(X, y, size.frequencies, size.classes)
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        engine = from_files(Path(folder), X, y)
        chain = problem.chain
        for number in range(problem.sweep + 1, problem.sweep + repeats + 1):
            begin = clock()
            chain, _ = kernel.step(
                chain, engine, problem.model, problem.tuning, problem.streams, number
            )
            seconds.append(clock() - begin)
    return float(np.median(seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--calibration", type=float, default=CALIBRATION, help="seconds")
    parser.add_argument("--processor-time", action="store_true")
    given = parser.parse_args()
    clock = time.process_time if given.processor_time else time.perf_counter
    found: list[dict[str, Any]] = []
    for share, inputs, frequencies, classes in SIZES:
        size = Problem(int(share * given.rows), inputs, frequencies, classes)
        predicted = plan(size, calibrate(frequencies, inputs, given.calibration, clock)).seconds
        seconds = measured(size, given.repeats, clock)
        found.append({**vars(size), "predicted": predicted, "measured": seconds})
    print(
        table(
            ["rows", "inputs", "M", "classes", "predicted", "measured", "measured / predicted"],
            [
                [
                    *(str(one[name]) for name in ("rows", "inputs", "frequencies")),
                    str(one["classes"] or "regression"),
                    duration(one["predicted"]),
                    duration(one["measured"]),
                    f"{one['measured'] / one['predicted']:.2f}",
                ]
                for one in found
            ],
        )
    )
    print(json.dumps({"sizes": found, **machine()}))


if __name__ == "__main__":
    main()
