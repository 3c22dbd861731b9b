"""Peak memory of one computation, measured in a process of its own.

    python benchmarks/memory.py sweep --rows 50000 --inputs 16 --frequencies 384 --sweeps 2
    python benchmarks/memory.py fit --rows 50000 --inputs 16 --frequencies 384 --sweeps 2
    python benchmarks/memory.py set --name skin --sweeps 4
    python benchmarks/memory.py predict --rows 1000000 --inputs 16 --frequencies 384 --draws 100

Prints one line of JSON. `beyond_x` is the peak less what was resident when X and y were there and
the package was imported; `program` is the part of it that importing and compiling the numerical
code takes, whatever the data; times are those of the computation alone.
"""

from __future__ import annotations

import argparse
import copy
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from measure import make_data, make_problem
from sklearn.exceptions import ConvergenceWarning

from banklearn import BankClassifier, BankRegressor
from banklearn.datasets import folds, load

MIB = 2.0**20


def resident() -> float:
    """MiB that the process holds now."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize() / MIB
    return peak()


def peak() -> float:
    """MiB that the process held at most.

    Linux keeps the peak of this program image in VmHWM. ru_maxrss, the fallback, may start at the
    size of the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024.0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / MIB if sys.platform == "darwin" else most / 1024.0


def reset_peak() -> None:
    """Let the peak start again from what is resident, where the system allows it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def regressor(frequencies: int, sweeps: int) -> BankRegressor:
    """One chain, nothing to choose from, no warm-up: as many sweeps as asked for."""
    return BankRegressor(
        frequencies,
        n_chains=1,
        n_warmup=0,
        n_draws=1,
        thin=sweeps,
        trend="constant",
        spectral_scale=0.5,
        growing_warmup=False,
        random_state=0,
    )


def small_fit() -> BankRegressor:
    """Import and compile all that a fit and a prediction need."""
    X, y = make_data(200, 2)
    model = regressor(4, 2).fit(X, y)
    model.predict(X)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("sweep", "fit", "predict", "set"))
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--name", default="skin", help="a data set; its first training fold")
    parser.add_argument("--inputs", type=int, default=16)
    parser.add_argument("--frequencies", type=int, default=384)
    parser.add_argument("--sweeps", type=int, default=2)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--train", type=int, default=2000, help="rows behind a prediction")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)

    if given.what == "set":
        found = load(given.name)
        train = folds(len(found.y))[0][0]
        X, y, task = found.X[train].copy(), found.y[train].copy(), found.task
        given.rows, given.inputs = X.shape
        del found, train
    else:
        X, y = make_data(given.rows, given.inputs)
    data = resident()
    small_fit()
    program = resident() - data
    if given.what == "predict":
        model = regressor(given.frequencies, given.sweeps).fit(X[: given.train], y[: given.train])
        model.draws_ = [copy.deepcopy(model.draws_[0]) for _ in range(given.draws)]
    reset_peak()
    before = peak()

    def sweep() -> None:
        problem = make_problem(X, y, given.frequencies, settle=0)
        for _ in range(given.sweeps):
            problem.step()

    work: dict[str, Callable[[], object]] = {
        "sweep": sweep,
        "set": lambda: whole(task).fit(X, y),
        "fit": lambda: regressor(given.frequencies, given.sweeps).fit(X, y),
        "predict": lambda: model.predict(X),
    }

    def whole(task: str) -> BankRegressor | BankClassifier:
        """Everything at its default but the number of sweeps: both chains, all choices."""
        kind = BankClassifier if task == "classification" else BankRegressor
        short = {"n_warmup": given.sweeps, "n_draws": given.sweeps, "thin": 1}
        return kind(given.frequencies, **short, random_state=0)

    begin = time.perf_counter()
    work[given.what]()
    seconds = time.perf_counter() - begin
    result = {
        **vars(given),
        "x_mib": X.nbytes / MIB,
        "program_mib": program,
        "peak_mib": peak(),
        "beyond_x_mib": peak() - data,
        "before_mib": before - data,
        "seconds": seconds,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
