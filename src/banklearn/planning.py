"""What a fit will cost: flops, bytes read, bytes sent, memory and seconds per sweep.

A sweep of regression with M proposals computes, per row, the phases of current and proposed
frequencies (4 M d flops), their cosines and sines (4 M of them), the product of proposed with
current features (2 (2M)^2 flops, multiply and add) and that of the proposed ones with themselves
(half a square, (2M)^2 flops): 12 M^2 in all. Polya-Gamma weights change with every sweep, so that
a classifier forms half a square of all 4M features, 16 M^2, for every class but one. It then
passes over the rows a second time, to rescale its weights: phases, cosines and sines of the current
frequencies (2 M d flops, 2 M of them) and the latent functions. What remains is independent of the
rows: the accept step and the factors, about 40 M^3 flops.

:func:`calibrate` measures the rates that turn counts into seconds, with the code that a fit runs.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from banklearn.model.kept_features import ROOM

Clock = Callable[[], float]

#: Seconds that a calibration takes, about.
CALIBRATION = 10.0
#: Rows of the sample for scaling, and of the largest subsample of the warm-up.
SAMPLE_ROWS, STAGE_ROWS = 100_000, 640_000
#: Bytes of Python with its libraries and compiled code.
PROGRAM = 3.5e8


@dataclass(frozen=True)
class Problem:
    """The size of a fit; classes is 0 for regression."""

    rows: int
    inputs: int
    frequencies: int
    classes: int = 0
    chains: int = 1
    linear_trend: bool = False

    def __post_init__(self) -> None:
        for name in ("rows", "inputs", "frequencies", "chains"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, but is {getattr(self, name)}.")
        if self.classes < 0 or self.classes == 1:
            raise ValueError(f"classes must be 0 (regression) or at least 2, not {self.classes}.")

    @property
    def tasks(self) -> int:
        """Sets of weights."""
        return max(self.classes - 1, 1)

    @property
    def passes(self) -> int:
        """Sums over the rows in a sweep: a classifier has one for its rescaling."""
        return 2 if self.classes else 1


@dataclass(frozen=True)
class Rates:
    """What one core does per second when all are busy, and what disk and network carry.

    overhead is the time of a task beyond its work: sending, scheduling, collecting. The network
    is not measured: a gigabyte per second is a 10 Gbit/s link.
    """

    flops: float = 3.0e10
    trig: float = 1.5e8
    polya_gamma: float = 4.0e6
    small_flops: float = 5.0e9
    read_bytes: float = 4.0e8
    network_bytes: float = 1.0e9
    overhead: float = 0.002
    cores: int = 1


@dataclass(frozen=True)
class Cost:
    """One sweep of all chains."""

    flops: float
    trig: float
    polya_gamma: float
    small_flops: float
    bytes_read: float
    bytes_sent: float
    memory_here: float
    memory_per_worker: float
    seconds_rows: float
    seconds_read: float
    seconds_network: float
    seconds_rest: float
    seconds: float


def counts(problem: Problem) -> dict[str, float]:
    """Work of one sweep of one chain."""
    N, d, M, T = problem.rows, problem.inputs, problem.frequencies, problem.tasks
    h = 1 + (d if problem.linear_trend else 0)
    P, S = h + 2 * M, 2 * M
    if problem.classes:
        product = T * (P + S) ** 2 + 2 * M * d + 2 * T * P
        sums = 8.0 * T * ((P + S) ** 2 + P + S)
    else:
        product = 2 * P * S + S**2
        sums = 8.0 * (P * S + S**2 + S)
    return {
        "flops": float(N) * (4 * M * d + product),
        "trig": float(N) * (6 if problem.classes else 4) * M,
        "polya_gamma": float(N) * T if problem.classes else 0.0,
        "small_flops": 40.0 * T * M**3,
        "sums": sums,
        "proposals": 8.0 * (2 * M * d + T * P),
    }


def plan(problem: Problem, rates: Rates, workers: int = 0, threads_per_worker: int = 1) -> Cost:
    """Predict a sweep of all chains: on this machine (workers = 0), or on a Dask cluster.

    Here a pass reads the rows from disk once for all chains, while the rows before are computed,
    on rates.cores cores. On a cluster the rows stay in the workers' memory.
    """
    if workers < 0 or threads_per_worker < 1:
        raise ValueError(
            f"workers must be at least 0 and threads_per_worker at least 1, not {workers} and "
            f"{threads_per_worker}."
        )
    one = counts(problem)
    c = problem.chains
    data = 8.0 * problem.rows * (problem.inputs + 1)
    cores = workers * threads_per_worker or rates.cores
    # One chain draws its Polya-Gamma weights on one core; on a cluster every piece draws its own.
    drawing = cores if workers else min(c, cores)
    rows = c * (
        (one["flops"] / rates.flops + one["trig"] / rates.trig) / cores
        + one["polya_gamma"] / rates.polya_gamma / drawing
    )
    rest = c * one["small_flops"] / rates.small_flops
    if workers:
        from banklearn.engines.dask import FAN_IN, PIECES_PER_THREAD, rows_of_a_piece

        pieces = -(-problem.rows // rows_of_a_piece(problem.rows, problem.inputs, cores))
        depth = max(1, int(np.ceil(np.log(max(pieces, 2)) / np.log(FAN_IN))))
        # A node of the tree takes FAN_IN sums in, one after another; levels follow each other.
        sent = c * (one["sums"] * pieces + one["proposals"] * workers)
        network = c * (
            depth * FAN_IN * one["sums"] / rates.network_bytes
            + one["proposals"] * workers / rates.network_bytes
            + rates.overhead * problem.passes * (pieces + depth)
        )
        read = 0.0
        here = 4.0 * c * one["sums"]
        there = data / workers * 1.1 + one["sums"] * (PIECES_PER_THREAD + 2) * threads_per_worker
        seconds = rows + rest + network
    else:
        sent = network = there = 0.0
        read = problem.passes * data / rates.read_bytes
        # The program, the sample that scaling looks at, pieces read ahead, and each chain's
        # largest subsample of the warm-up, sums, work space and features kept for gradients.
        sample, part = min(problem.rows, SAMPLE_ROWS), min(problem.rows // 2, STAGE_ROWS)
        here = PROGRAM + 8.0 * problem.inputs * 6 * sample + 12 * (8 << 20)
        here += c * (8.0 * problem.inputs * part + 4.0 * one["sums"])
        here += c * 8.0 * 4096 * 6 * problem.frequencies
        here += c * min(ROOM, 8.0 * problem.rows * problem.frequencies)
        # Reading takes part of a core, and hides behind the sums unless it is slower.
        seconds = max(rows + read / cores, read) + rest
    return Cost(
        flops=c * one["flops"],
        trig=c * one["trig"],
        polya_gamma=c * one["polya_gamma"],
        small_flops=c * one["small_flops"],
        bytes_read=0.0 if workers else problem.passes * data,
        bytes_sent=sent,
        memory_here=here,
        memory_per_worker=there,
        seconds_rows=rows,
        seconds_read=read,
        seconds_network=network,
        seconds_rest=rest,
        seconds=seconds,
    )


def per_second(work: Callable[[], float], seconds: float, clock: Clock) -> float:
    """The best rate of several runs; `work` returns how much it did."""
    work()
    best, end = 0.0, clock() + seconds
    while True:
        begin = clock()
        done = work()
        now = clock()
        best = max(best, done / (now - begin))
        if now > end:
            return best


def calibrate(
    frequencies: int = 192,
    inputs: int = 20,
    seconds: float = CALIBRATION,
    clock: Clock = time.perf_counter,
) -> Rates:
    """Measure this machine, all cores at work, with the code that a fit runs."""
    from banklearn.gram import BLOCK_ROWS
    from banklearn.numerics.blas import add_square, add_times_transposed
    from banklearn.numerics.polya_gamma import draw_polya_gamma
    from banklearn.numerics.threads import available_cores
    from banklearn.numerics.trig import cos_sin_rows

    rng = np.random.default_rng(0)
    n, P = BLOCK_ROWS, 2 * frequencies
    U = rng.standard_normal((frequencies, n))
    Phi, star = np.empty((P, n)), np.empty((P, n))
    cross, square = np.zeros((P, P)), np.zeros((P, P))
    ones, tilt = np.ones(n), rng.standard_normal(n)
    share = seconds / 5

    def products() -> float:
        add_times_transposed(cross, star, Phi)
        add_square(square, star)
        return 3.0 * P * P * n

    def waves() -> float:
        cos_sin_rows(U, Phi, 1.0)
        return 2.0 * U.size

    def weights() -> float:
        draw_polya_gamma(ones, tilt, rng)
        return float(n)

    cores = available_cores()
    trig = per_second(waves, share, clock) / cores
    cos_sin_rows(U + 1.0, star, 1.0)
    return Rates(
        flops=per_second(products, share, clock) / cores,
        trig=trig,
        polya_gamma=per_second(weights, share, clock),
        small_flops=per_second(lambda: _accept(frequencies, rng), share, clock),
        read_bytes=_reading(inputs, share, clock),
        cores=cores,
    )


def _accept(M: int, rng: np.random.Generator) -> float:
    """The part of a sweep that does not see rows: accept step and a few factors."""
    from banklearn.engines.host import HostOps
    from banklearn.gram import Gram
    from banklearn.numerics.linalg import JitterCount
    from banklearn.sampler.accept import accept_in_turn

    Q = 1 + 4 * M
    A = rng.standard_normal((Q, 2))
    G = (A @ A.T + 10.0 * np.eye(Q))[None]
    gram = Gram(G, rng.standard_normal((1, Q)), np.array([1e3]), np.array([1e3]), HostOps())
    accept_in_turn(gram, 1.0, 1, np.log(rng.random(M)), 500.0, 1e3)
    now = gram.select(np.arange(1 + 2 * M))
    for _ in range(3):
        now.ridge(0, 1.0, JitterCount())
    return 40.0 * M**3


def _reading(inputs: int, seconds: float, clock: Clock) -> float:
    """Bytes of float64 per second from a Parquet file, as a fit reads it, file cache warm."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from banklearn.sources.tables import TableSource

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        columns = {f"x{j}": rng.standard_normal(100_000) for j in range(inputs)}
        pq.write_table(pa.table({**columns, "y": rng.standard_normal(100_000)}), path)
        source = TableSource(path, "y")

        def read() -> float:
            return float(sum(b.X.nbytes + b.y.nbytes for b in source.blocks()))

        return per_second(read, seconds, clock)


def describe(problem: Problem, rates: Rates, cost: Cost, workers: int) -> dict[str, Any]:
    """Everything as plain values, for JSON or a table."""
    return {
        "problem": asdict(problem),
        "workers": workers,
        "rates": asdict(rates),
        "sweep": asdict(cost),
    }
