"""Fit rows that do not fit: memory held, and time per sweep beside the engine in memory.

    python benchmarks/out_of_core.py             # 20 000 000 x 20, M = 192, a quarter of an hour
    python benchmarks/out_of_core.py --rows 400000 --compare 200000                # a quick look

Writes a synthetic Parquet set, fits it in a process of its own whose peak of resident memory is
reported, and then, in another one, alternates sweeps of one chain between the memory engine and
the chunked engine on the first rows of the same files. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measure import Problem as InMemory
from measure import alternate, child, duration, environment, machine, make_problem, medians, table
from memory import peak
from sklearn.exceptions import ConvergenceWarning

from banklearn import BankRegressor
from banklearn.engines import MemoryEngine
from banklearn.estimators.blockwise import Preparation, SourceData, Standardised, summarise_numbers
from banklearn.planning import Problem, calibrate, plan
from banklearn.posterior.scaling import fit_scaling, target_scaling
from banklearn.sampler import sweep as kernel
from banklearn.sources import TableSource
from banklearn.sources.survey import Survey

FILE_ROWS = 1_000_000
GROUP_ROWS = 131_072
GIB = 1024.0


def write(folder: Path, rows: int, inputs: int) -> float:
    """Parquet files of a million rows; returns GiB of the values as float64."""
    rng = np.random.default_rng(0)
    waves = rng.standard_normal((12, inputs)) * 1.5 / np.sqrt(inputs)
    heights = rng.standard_normal(12) / np.sqrt(6.0)
    for number, start in enumerate(range(0, rows, FILE_ROWS)):
        path = folder / f"part-{number:05d}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng(number + 1)
        names = [f"x{j:02d}" for j in range(inputs)] + ["y"]
        schema = pa.schema([(name, pa.float64()) for name in names])
        partial = path.with_suffix(".part")
        with pq.ParquetWriter(partial, schema, compression="none") as writer:
            for first in range(start, min(start + FILE_ROWS, rows), GROUP_ROWS):
                n = min(GROUP_ROWS, start + FILE_ROWS - first, rows - first)
                X = rng.standard_normal((n, inputs))
                y = np.cos(X @ waves.T) @ heights + 0.3 * rng.standard_normal(n)
                writer.write_table(pa.table([*X.T, y], schema=schema))
        partial.rename(path)
    return rows * (inputs + 1) * 8 / 2.0**30


def fit(folder: Path, given: argparse.Namespace) -> dict[str, object]:
    """A whole fit, with its peak of resident memory."""
    model = BankRegressor(
        given.frequencies,
        n_chains=given.chains,
        n_warmup=given.warmup,
        n_draws=given.draws,
        thin=1,
        interweave_every=given.interweave,
        random_state=0,
        verbose=1,
    )
    begin = time.perf_counter()
    model.fit(folder, target="y")
    seconds = time.perf_counter() - begin
    return {
        "fit_seconds": seconds,
        "peak_gib": peak() / GIB,
        "noise": float(np.sqrt(model.draws_[-1].noise) * model.target_scaling_.scale),
    }


def in_memory(data: SourceData, M: int) -> tuple[InMemory, Preparation, Survey]:
    """The problem of all rows in memory, how rows are prepared for it, and what they are like."""
    found = data.survey(summarise_numbers, 0)
    X, y, _ = data.rows(np.arange(found.n_rows))
    scaling = fit_scaling(X[:100_000], None, "standard", found.inputs)
    prepare = Preparation(Standardised(target_scaling(found.target)), scaling=scaling)
    return make_problem(scaling(X), prepare.encode(y), M), prepare, found


def compare(folder: Path, given: argparse.Namespace) -> dict[str, object]:
    """Alternate whole sweeps of both engines on the same rows."""
    files = sorted(folder.glob("*.parquet"))[: -(-given.compare // FILE_ROWS)]
    data = SourceData(TableSource(files, "y"))
    problem, prepare, found = in_memory(data, given.frequencies)
    engines = {"memory": problem.engine, "chunked": data.engine(prepare, found)}
    assert isinstance(problem.engine, MemoryEngine)
    chains = dict.fromkeys(engines, problem.chain)

    processor: dict[str, list[float]] = {name: [] for name in engines}

    def sweep(name: str) -> None:
        begin = time.process_time()
        chains[name], _ = kernel.step(
            chains[name], engines[name], problem.model, problem.tuning, problem.streams, turn[name]
        )
        turn[name] += 1
        processor[name].append(time.process_time() - begin)

    turn = dict.fromkeys(engines, problem.sweep + 1)
    seconds = medians(
        alternate({name: lambda name=name: sweep(name) for name in engines}, given.repeats)
    )
    busy = medians(processor)  # on a busy machine, processor time is what can be compared
    same = np.array_equal(chains["memory"].state.W, chains["chunked"].state.W)
    size = Problem(found.n_rows, problem.model.prior.d, given.frequencies)
    return {
        "predicted_seconds_per_sweep": plan(size, calibrate(size.frequencies, size.inputs)).seconds,
        "compare_rows": found.n_rows,
        **{f"{name}_seconds_per_sweep": s for name, s in seconds.items()},
        "ratio": seconds["chunked"] / seconds["memory"],
        "processor_ratio": busy["chunked"] / busy["memory"],
        "same_frequencies": bool(same),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--inputs", type=int, default=20)
    parser.add_argument("--frequencies", type=int, default=192)
    parser.add_argument("--compare", type=int, default=2_000_000, help="rows for both engines")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--chains", type=int, default=1)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--interweave", type=int, default=0, help="0: one read per sweep")
    parser.add_argument("--folder", type=Path, help="keep the files here")
    parser.add_argument("--part", choices=("fit", "compare"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if given.part:
        work = {"fit": fit, "compare": compare}[given.part]
        print(json.dumps(work(given.folder, given)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        size = write(folder, max(given.rows, given.compare), given.inputs)
        options = ["--folder", folder]
        for name in (
            "frequencies",
            "compare",
            "repeats",
            "chains",
            "warmup",
            "draws",
            "interweave",
        ):
            options += [f"--{name}", getattr(given, name)]
        result = {"rows": given.rows, "inputs": given.inputs, "frequencies": given.frequencies}
        result |= {"data_gib": size, **run_visibly("fit", options)}
        result |= child("out_of_core.py", "--part", "compare", *options)
    print(
        table(
            [
                "rows",
                "data",
                "peak resident",
                "fit",
                "sweep per 1e6 rows, memory",
                "chunked",
                "predicted",
                "ratio",
                "of processor time",
            ],
            [
                [
                    f"{given.rows} x {given.inputs}",
                    f"{size:.2f} GiB",
                    f"{result['peak_gib']:.2f} GiB",
                    duration(result["fit_seconds"]),
                    *(
                        duration(result[f"{name}_seconds_per_sweep"] * 1e6 / result["compare_rows"])
                        for name in ("memory", "chunked", "predicted")
                    ),
                    f"{result['ratio']:.3f}",
                    f"{result['processor_ratio']:.3f}",
                ]
            ],
        )
    )
    print(json.dumps({**result, **machine()}))


def run_visibly(part: str, options: list[object]) -> dict[str, object]:
    """A child whose progress bar is seen; its last line is JSON."""
    import subprocess

    command = [sys.executable, __file__, "--part", part, *map(str, options)]
    answer = subprocess.Popen(command, env=environment(None), stdout=subprocess.PIPE, text=True)
    assert answer.stdout is not None
    last = ""
    for line in answer.stdout:
        if line.startswith("{"):
            last = line
        else:
            print(line, end="", flush=True)
    if answer.wait() != 0:
        sys.exit(f"The {part} failed.")
    return json.loads(last)


if __name__ == "__main__":
    main()
