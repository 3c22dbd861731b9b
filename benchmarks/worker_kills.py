"""Kill a Dask worker in the middle of a fit, again and again: every fit must end the same.

    python benchmarks/worker_kills.py                 # 20 kills
    python benchmarks/worker_kills.py --kills 2 --rows 20000

Regression and classification in turn. Each fit is disturbed once, by SIGKILL to a random worker at
a random moment of an undisturbed fit's duration; the nanny starts a new worker. The draws must
have the same bits as those of the undisturbed fit. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import signal
import sys
import threading
import time
from typing import Any

import numpy as np
from measure import machine, make_data

from banklearn import BankClassifier, BankRegressor


def fit(kind: str, given: argparse.Namespace, data: tuple[Any, Any]) -> Any:
    """One fit on the cluster."""
    estimator = BankRegressor if kind == "regression" else BankClassifier
    model = estimator(
        given.frequencies,
        n_chains=2,
        n_warmup=6,
        n_draws=given.draws,
        thin=1,
        trend="constant",
        input_scaling="standard",
        spectral_scale=0.4,
        interweave_every=4,
        random_state=1,
    )
    return model.fit(*data)


def same(one: Any, two: Any) -> bool:
    """Whether all draws have the same bits."""
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for a, b in zip(one.draws_, two.draws_, strict=True)
        for name in ("W", "mu_n", "lam", "alpha")
    )


def disturbed(kind: str, given: argparse.Namespace, data: Any, client: Any, after: float) -> Any:
    """A fit during which one worker is killed."""
    rng = np.random.default_rng()
    killed: list[int] = []

    def kill() -> None:
        workers = client.run(os.getpid)
        time.sleep(after)
        pid = workers[rng.choice(sorted(workers))]
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    model = fit(kind, given, data)
    early = not killed
    thread.join()
    return model, early


def main() -> None:
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--inputs", type=int, default=5)
    parser.add_argument("--frequencies", type=int, default=16)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--limit", type=float, default=math.inf, help="seconds; begin none after")
    given = parser.parse_args()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    result: dict[str, Any] = {**vars(given), "same": 0, "different": 0, "ended_before": 0}
    rng = np.random.default_rng(0)
    with (
        # On a busy machine a new worker may need longer than the cluster's 15 seconds to come up.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}),
        LocalCluster(
            processes=True,
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        X, y = make_data(given.rows, given.inputs)
        chunks = (given.rows // 7 + 1, given.inputs)
        rows = da.from_array(X, chunks=chunks)
        sets = {
            "regression": (rows, da.from_array(y, chunks=chunks[:1])),
            "classification": (rows, da.from_array((y > 0).astype(int), chunks=chunks[:1])),
        }
        reference, seconds = {}, {}
        for kind, data in sets.items():
            fit(kind, given, data)  # compiles on the workers
            begin = time.monotonic()
            reference[kind] = fit(kind, given, data)
            seconds[kind] = time.monotonic() - begin
        done, begun = 0, time.monotonic()
        while done < given.kills and time.monotonic() - begun < given.limit:
            kind = ("regression", "classification")[done % 2]
            after = float(rng.uniform(0.1, 0.8)) * seconds[kind]
            client.wait_for_workers(2)
            model, early = disturbed(kind, given, sets[kind], client, after)
            if early:
                result["ended_before"] += 1
                continue
            done += 1
            equal = same(reference[kind], model)
            result["same" if equal else "different"] += 1
            print(f"{done}/{given.kills} {kind}: {'same' if equal else 'DIFFERENT'}", flush=True)
        result["seconds"] = time.monotonic() - begun
    print(json.dumps({**result, **machine()}))
    sys.exit(0 if result["different"] == 0 and done == given.kills else 1)


if __name__ == "__main__":
    main()
