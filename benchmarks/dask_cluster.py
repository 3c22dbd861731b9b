"""Sweeps on a Dask cluster of two processes beside the memory engine on the same two cores.

    python benchmarks/dask_cluster.py                     # 2 000 000 x 20, M = 192
    python benchmarks/dask_cluster.py --rows 200000 --frequencies 64

Whole sweeps of one chain alternate between the two engines; the workers idle while the memory
engine works. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measure import alternate, duration, machine, medians, table
from out_of_core import in_memory, write

from banklearn.estimators.blockwise import SourceData, summarise_numbers
from banklearn.estimators.on_dask import DaskData
from banklearn.planning import Problem, calibrate, plan
from banklearn.sampler import sweep as kernel
from banklearn.sources import TableSource


def compare(folder: Path, given: argparse.Namespace, client: Any) -> dict[str, Any]:
    """Alternate whole sweeps on the same rows."""
    import dask.dataframe as dd

    local = SourceData(TableSource(folder, "y"))
    problem, prepare, found = in_memory(local, given.frequencies)
    remote = DaskData.collect(dd.read_parquet(folder), None, None, "y", client)
    remote.survey(summarise_numbers, 0)
    engines: dict[str, Any] = {"memory": problem.engine, "dask": remote.engine(prepare, found)}
    chains = dict.fromkeys(engines, problem.chain)
    turn = dict.fromkeys(engines, problem.sweep + 1)

    def sweep(name: str) -> None:
        chains[name], _ = kernel.step(
            chains[name], engines[name], problem.model, problem.tuning, problem.streams, turn[name]
        )
        turn[name] += 1

    seconds = medians(
        alternate({name: lambda name=name: sweep(name) for name in engines}, given.repeats)
    )
    size = Problem(found.n_rows, problem.model.prior.d, given.frequencies)
    rates = calibrate(size.frequencies, size.inputs)
    return {
        "predicted_seconds_per_sweep": plan(size, rates, given.workers).seconds,
        **{f"{name}_seconds_per_sweep": s for name, s in seconds.items()},
        "ratio": seconds["dask"] / seconds["memory"],
        "same_frequencies": bool(np.array_equal(chains["memory"].state.W, chains["dask"].state.W)),
        "pieces": len(engines["dask"].pieces),
    }


def main() -> None:
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--inputs", type=int, default=20)
    parser.add_argument("--frequencies", type=int, default=192)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            processes=True,
            n_workers=given.workers,
            threads_per_worker=1,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        write(Path(folder), given.rows, given.inputs)
        result = {**vars(given), **compare(Path(folder), given, client)}
    print(
        table(
            ["rows", "M", "memory, a sweep", "Dask, a sweep", "predicted", "ratio"],
            [
                [
                    f"{given.rows} x {given.inputs}",
                    str(given.frequencies),
                    duration(result["memory_seconds_per_sweep"]),
                    duration(result["dask_seconds_per_sweep"]),
                    duration(result["predicted_seconds_per_sweep"]),
                    f"{result['ratio']:.3f}",
                ]
            ],
        )
    )
    print(json.dumps({**result, **machine()}))


if __name__ == "__main__":
    main()
