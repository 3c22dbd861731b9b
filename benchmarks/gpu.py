"""One GPU: a sweep, its parts and a gradient, against the card's own matrix rate and the CPU.

    python benchmarks/gpu.py [--rows 515345] [--inputs 90] [--large] [--options] [--out STEM.json]
    python benchmarks/gpu.py --chains [--out gpu-chains.json]
    python benchmarks/gpu.py --trajectories [--out gpu-trajectories.json]

--large adds 5 000 000 x 20; --options times the extended statistic in every way in which it can be
computed (kernel of the cosines, target with the features or apart, row blocks of the symmetric
product, rows per block), in turn, and says how far each result is from the plain one. --chains
times something else: four chains of a fit, side by side as they run and one after another. Their
sweeps are those with which warm-up begins: all walks of components, no gradient moves.
--trajectories times gradient moves with few rows: steps that are recorded and repeated, told one by
one, and with sums, factors and prior in memory, in turn.

Times are medians after warm-up, with the device synchronised around each region.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from array_api_compat import torch as xp
from measure import seconds_of_chains

from banklearn import BankClassifier, BankRegressor
from banklearn.engines import torch_ops
from banklearn.engines.device import DEVICE_ROWS, DeviceEngine
from banklearn.engines.fused import _dsyrk, cos_sin_kernel
from banklearn.engines.memory import MemoryEngine
from banklearn.estimators import layout
from banklearn.gram import Gram, GramSum, ProposalSum
from banklearn.likelihoods.gaussian import Gaussian
from banklearn.likelihoods.logistic import Logistic
from banklearn.model.priors import Prior
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.numerics.threads import available_cores, limited_to
from banklearn.sampler import gradient, sweep
from banklearn.sampler.accept import accept_in_turn
from banklearn.sampler.start import starting_state
from banklearn.sampler.target import Target

STREAMS = Streams(1)
#: Without a GPU small sizes still show that everything runs.
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SHARE = "share of the card's matrix rate"


def synchronise() -> None:
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


def median_ms(action: Callable[[], Any], repeats: int = 5) -> float:
    action()
    times = []
    for _ in range(repeats):
        synchronise()
        begin = time.perf_counter()
        action()
        synchronise()
        times.append(time.perf_counter() - begin)
    return 1e3 * float(np.median(times))


class MatrixRate:
    """TFLOP/s of a large float64 product of random matrices.

    A warm card is slower than a cold one: what is compared with its rate is measured in turn.
    """

    def __init__(self) -> None:
        self.n = 8192 if DEVICE.type == "cuda" else 512
        A, B = (torch.randn(self.n, self.n, dtype=torch.float64, device=DEVICE) for _ in range(2))
        self.product = lambda: A @ B

    def __call__(self, repeats: int = 5) -> float:
        return 2 * self.n**3 / median_ms(self.product, repeats) / 1e9


def rounds_beside(
    rate: MatrixRate, actions: dict[str, Callable[[], Any]], repeats: int
) -> tuple[list[float], dict[str, list[float]]]:
    """The card's rate, and milliseconds of every action, in as many rounds."""
    rates: list[float] = []
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repeats):
        rates.append(rate(1))
        for name, action in actions.items():
            times[name].append(median_ms(action, 1))
    return rates, times


def share_of_rate(N: int, M: int, milliseconds: list[float], rates: list[float]) -> float:
    """Of the extended statistic, round by round: 8 N M^2 for Phi*'Phi, 4 N M^2 for Phi*'Phi*."""
    shares = 12 * N * M**2 / np.array(milliseconds) / 1e9 / np.array(rates)
    return float(np.median(shares))


def make_data(N: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, d))
    y = np.sin(2 * X[:, 0]) + 0.5 * np.cos(X[:, 1] * X[:, 0]) + 0.1 * rng.standard_normal(N)
    return X, y / y.std()


def nearby(W: np.ndarray) -> np.ndarray:
    """Proposals, always the same."""
    return W + 0.1 * np.random.default_rng(1).standard_normal(W.shape)


def chain_for(engine: Any, d: int, M: int, likelihood: Any) -> tuple[Any, Any]:
    prior = Prior(np.zeros(d), 1.0, d + 2.0, np.full(d, 1.0 / d))
    model = sweep.Model(prior, likelihood, "constant")
    state = starting_state(M, d, float(1 / np.sqrt(d)), 0.1, 1.0, STREAMS)
    return sweep.init(engine, model, state, STREAMS), model


def times_at(N: int, d: int, M: int, rate: MatrixRate) -> dict[str, Any]:
    X, y = make_data(N, d)
    engine = DeviceEngine(X, y, xp=xp, device=DEVICE)
    likelihood = Gaussian(1.0, 1e-6)
    chain, model = chain_for(engine, d, M, likelihood)
    tuning = sweep.Tuning()
    state = chain.state
    W_star = nearby(state.W)
    working = likelihood.working(None, STREAMS, 1)
    statistic = ProposalSum(chain.gram, state.W, W_star, "constant", working)
    ext = engine.sum(statistic)
    h, log_u = 1, np.log(np.random.default_rng(2).random(M))
    form = likelihood.accept_form(ext)
    target = Target(engine, likelihood, "constant", model.prior, state, working, JitterCount())
    here = target.known(state.W, chain.gram, chain.solved)
    holder = [chain, 0]

    def one_sweep() -> None:
        holder[1] += 1
        holder[0], _ = sweep.step(holder[0], engine, model, tuning, STREAMS, holder[1])

    def raw_features() -> None:
        for block in engine.blocks():
            engine.ops.features(block.X, state.W, "constant", 0.05, "Phi")
            engine.ops.features(block.X, W_star, "none", 0.05, "Phi*")

    rates, times = rounds_beside(rate, {"gram": lambda: engine.sum(statistic)}, 15)
    gram_ms = float(np.median(times["gram"]))
    out = {
        "N": N, "d": d, "M": M,
        "extended Gram ms": gram_ms,
        "features alone ms": median_ms(raw_features),
        "accept step ms": median_ms(lambda: accept_in_turn(ext, state.lam, h, log_u, *form)),
        "mixture updates ms": median_ms(
            lambda: sweep.update_mixture(state, model.prior, STREAMS, 3)
        ),
        "whole sweep ms": median_ms(one_sweep, 7),
        "gradient evaluation ms": median_ms(lambda: target.sloping(target.at(state.W))),
        "gradient pass alone ms": median_ms(lambda: target.sloping(here)),
    }  # fmt: skip
    out["accept step ms, in memory from this size"] = accept_sizes(
        lambda: accept_in_turn(ext, state.lam, h, log_u, *form)
    )
    out["extended Gram TFLOP/s"] = 12 * N * M**2 / gram_ms / 1e9
    out["float64 TFLOP/s in turn with it"] = float(np.median(rates))
    out[SHARE] = share_of_rate(N, M, times["gram"], rates)
    return out


def accept_sizes(accept: Callable[[], Any]) -> dict[int, float]:
    """The accept step with matrices up to several sizes decided in memory."""
    before, found = torch_ops.ON_HOST, {}
    for size in (96, 192, 384, 768):
        torch_ops.ON_HOST = size
        found[size] = median_ms(accept)
    torch_ops.ON_HOST = before
    return found


#: Ways to compute, as attributes of the operations; "rows" is the engine's.
PLAIN: dict[str, Any] = {
    "cos_sin": (), "joined": False, "square_parts": 4, "rows": DEVICE_ROWS, "lanes": 1,
}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "triton": {"cos_sin": ("triton",)},
    "nvrtc": {"cos_sin": ("nvrtc",)},
    "joined": {"joined": True},
    "square in 6": {"square_parts": 6},
    "cuBLAS syrk": {"square_parts": 0},
    "triton, joined": {"cos_sin": ("triton",), "joined": True},
}  # fmt: skip
for _lanes in (1, 2):
    for _parts in (3, 4, 6):
        OPTIONS[f"nvrtc, joined, square in {_parts}, {_lanes} lanes"] = {
            "cos_sin": ("nvrtc",), "joined": True, "square_parts": _parts, "lanes": _lanes,
        }  # fmt: skip
for _times in (0.5, 2):
    OPTIONS[f"nvrtc, joined, 2 lanes, rows x {_times}"] = {
        "cos_sin": ("nvrtc",), "joined": True, "lanes": 2, "rows": int(_times * DEVICE_ROWS),
    }  # fmt: skip


def options_at(N: int, d: int, M: int, rate: MatrixRate, repeats: int = 11) -> list[dict[str, Any]]:
    """The extended statistic in every way, in turn."""
    X, y = make_data(N, d)
    engine = DeviceEngine(X, y, xp=xp, device=DEVICE)
    likelihood = Gaussian(1.0, 1e-6)
    chain, _ = chain_for(engine, d, M, likelihood)
    W = chain.state.W
    W_star = nearby(W)
    working = likelihood.working(None, STREAMS, 1)
    statistic = ProposalSum(chain.gram, W, W_star, "constant", working)

    def choose(changes: dict[str, Any]) -> None:
        how = PLAIN | changes
        engine.block_rows, engine.n_lanes = how["rows"], how["lanes"]
        for name in ("cos_sin", "joined", "square_parts"):
            setattr(engine.ops, name, how[name])

    def features() -> None:
        for block in engine.blocks():
            engine.ops.features(block.X, W, "constant", 0.05, "Phi")
            engine.ops.features(block.X, W_star, "none", 0.05, "Phi*")

    def together(gram: Gram) -> np.ndarray:
        return np.concatenate([gram.in_memory()[0], gram.r])

    choose({})
    plain = together(engine.sum(statistic))
    found: list[dict[str, Any]] = []
    ways: dict[str, Callable[[], Any]] = {}

    def way(changes: dict[str, Any]) -> Callable[[], Any]:
        def chosen_sum() -> Any:
            choose(changes)
            return engine.sum(statistic)

        return chosen_sum

    for name, changes in OPTIONS.items():
        choose(changes)
        record: dict[str, Any] = {"option": name}
        kernels = changes.get("cos_sin", ())
        absent = [name for name in kernels if cos_sin_kernel(name, engine.X.device) is None]
        if absent:
            record["absent"] = f"{absent[0]} does not work here"
        elif changes.get("square_parts") == 0 and _dsyrk() is None:
            record["absent"] = "no cuBLAS library was found"
        else:
            found_here = together(engine.sum(statistic))
            record["difference"] = relative_difference(found_here, plain)
            record["features ms"] = median_ms(features, 3)
            ways[name] = way(changes)
        found.append(record)
    rates, times = rounds_beside(rate, ways, repeats)
    for record in found:
        if record["option"] in times:
            taken = times[record["option"]]
            record["extended Gram ms"] = float(np.median(taken))
            record[SHARE] = share_of_rate(N, M, taken, rates)
    for r in sorted(found, key=lambda r: r.get("extended Gram ms", np.inf)):
        told = r.get("absent") or (
            f"{r['extended Gram ms']:7.2f} ms {r[SHARE]:6.1%}  features "
            f"{r['features ms']:5.2f} ms  difference {r['difference']:.1e}"
        )
        print(f"{r['option']:52s} {told}", flush=True)
    return found


def relative_difference(A: np.ndarray, B: np.ndarray) -> float:
    """The largest over rows of the largest difference, relative to the row's largest number."""
    size = np.abs(B).max(axis=-1)
    return float((np.abs(A - B).max(axis=-1) / np.where(size > 0, size, 1.0)).max())


def agreement(N: int = 270_000, d: int = 10, M: int = 96) -> dict[str, float]:
    """Largest relative difference of statistics and gradient between GPU and CPU.

    So many rows that kernels, lanes and everything else work as they do with more.
    """
    out = {}
    for name, likelihood in (("regression", Gaussian(1.0, 1e-6)), ("classification", Logistic(2))):
        X, y = make_data(N, d)
        y = y if name == "regression" else (y > 0).astype(float)
        found: dict[str, list[np.ndarray]] = {}
        for engine in (
            MemoryEngine(X, y),
            DeviceEngine(X, y, xp=xp, device=DEVICE),
        ):
            chain, model = chain_for(engine, d, M, likelihood)
            W = chain.state.W
            working = likelihood.working(chain.beta, STREAMS, 1)
            gram = engine.sum(GramSum(W, "constant", working, 1))
            target = Target(
                engine, likelihood, "constant", model.prior, chain.state, working, JitterCount()
            )
            W_star = nearby(W)
            ext = sweep.extended(engine, model, chain, W_star, working)
            seen = {"gram": gram.in_memory()[0], "r": gram.r}
            seen |= {"extended gram": ext.in_memory()[0], "extended r": ext.r}
            seen["gradient"] = target.sloping(target.at(W)).slope.ravel()[None]
            for i in range(1, 4):
                chain, _ = sweep.step(chain, engine, model, sweep.Tuning(), STREAMS, i)
            for label, values in (seen | {"W after 3 sweeps": chain.state.W}).items():
                found.setdefault(label, []).append(values)
        for label, (a, b) in found.items():
            out[f"{name} {label}"] = relative_difference(b, a)
    return out


#: (task, rows, inputs) of fits whose chains are timed.
FITS = (
    ("regression", 1_500, 5),
    ("regression", 14_000, 12),
    ("classification", 12_000, 14),
    ("regression", 60_000, 16),
)


def chains_at(task: str, N: int, d: int, M: int, sweeps: int, repeats: int) -> dict[str, Any]:
    """Sweeps a second of four chains, side by side and one after another, in turn."""
    X, y = make_data(N, d)
    kind = BankRegressor if task == "regression" else BankClassifier
    y = y if task == "regression" else (y > 0).astype(int)
    model = kind(
        M, n_chains=4, n_warmup=0, n_draws=1, thin=sweeps, spectral_scale=1.0, trend="constant",
        input_scaling="none", growing_warmup=False, random_state=0,
        device=str(DEVICE) if DEVICE.type == "cuda" else "cpu:0",
    )  # fmt: skip
    rates: dict[str, list[float]] = {"side by side": [], "one after another": []}
    phases, draws = layout.DEVICE_PHASES, {}
    try:
        for turn in range(1 + repeats):
            for name, most in (("side by side", phases), ("one after another", 0)):
                layout.DEVICE_PHASES = most
                with seconds_of_chains() as seconds, warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(X, y)
                draws[name] = [draw.W for draw in model.draws_]
                if turn:
                    rates[name].append(4 * sweeps / seconds[-1])
    finally:
        layout.DEVICE_PHASES = phases
    medians = {name: float(np.median(values)) for name, values in rates.items()}
    return {
        "task": task, "N": N, "d": d, "M": M, "cores": available_cores(),
        "sweeps a second": medians,
        "times as many": medians["side by side"] / medians["one after another"],
        "single rounds": rates,
        "same frequencies": all(map(np.array_equal, *draws.values())),
    }  # fmt: skip


def inverses_at(P: int, repeats: int = 15) -> dict[str, Any]:
    """Milliseconds of the inverse of a factor, by halves and by a solver, in turn; recorded."""
    ops = DeviceEngine(np.zeros((3, 1)), np.zeros(3), xp=xp, device=DEVICE).ops
    A = np.random.default_rng(0).standard_normal((2 * P, P))
    L = ops.factor(xp.asarray(A.T @ A / P, device=DEVICE), 1e-3)
    times: dict[str, list[float]] = {"by halves": [], "by a solver": []}
    ways: dict[str, Callable[[], Any]] = {}

    def inverse(halves: bool, L: Any) -> tuple[Any]:
        ops.halves = halves
        return (ops.inverse_factor(L),)

    for name in times:
        function = partial(inverse, name == "by halves")
        function(L)  # what is loaded at first use is not recorded
        ways[name] = partial(ops.repeated(function), L)
        ways[name]()
    for _ in range(repeats):
        for name, action in ways.items():
            times[name].append(median_ms(action, 1))
    return {
        "columns": P,
        "milliseconds": {name: float(np.median(values)) for name, values in times.items()},
        "single rounds": times,
    }


#: Rows and inputs of trajectories that are timed.
PATHS = ((1_500, 5), (14_000, 12), (60_000, 16))


def trajectories_at(N: int, d: int, M: int, steps: int = 24, repeats: int = 7) -> dict[str, Any]:
    """Milliseconds of a gradient move, its decision included, in three ways; and of a sweep."""
    X, y = make_data(N, d)
    engine, likelihood = DeviceEngine(X, y, xp=xp, device=DEVICE), Gaussian(1.0, 1e-6)
    chain, model = chain_for(engine, d, M, likelihood)
    for i in range(1, 4):
        chain, _ = sweep.step(chain, engine, model, sweep.Tuning(), STREAMS, i)
    working = likelihood.working(None, STREAMS, 1)
    parts = (engine, likelihood, "constant", model.prior, chain.state, working, JitterCount())
    aloft, memory = Target(*parts), Target(*parts)
    memory.along = lambda engine: memory  # type: ignore[method-assign]
    # Steps so short that every path arrives and is accepted: their time does not depend on it.
    tuning, can = gradient.GradientTuning(1e-4, steps), engine.ops.repeats
    ends: dict[str, np.ndarray] = {}

    def move(name: str, target: Target, repeats: bool) -> None:
        engine.ops.repeats = repeats
        rng = np.random.default_rng(0)
        made = gradient.update(chain.state, chain.gram, chain.solved, target, tuning, rng)
        if made is None or made.place.W is chain.state.W:
            raise RuntimeError(f"{N} rows, {name}: the path did not arrive.")
        ends[name] = made.place.W

    ways: dict[str, Callable[[], Any]] = {
        "recorded": lambda: move("recorded", aloft, can),
        "step by step": lambda: move("step by step", aloft, False),
        "through memory": lambda: move("through memory", memory, False),
        "a sweep": lambda: sweep.step(chain, engine, model, sweep.Tuning(), STREAMS, 4),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, action in ways.items():
            times[name].append(median_ms(action, 1))
    engine.ops.repeats = can
    way = np.abs(ends["through memory"] - chain.state.W).max()
    return {
        "N": N, "d": d, "M": M, "steps": steps,
        "milliseconds": {name: float(np.median(values)) for name, values in times.items()},
        "single rounds": times,
        "largest difference from memory, by the way": {
            name: float(np.abs(W - ends["through memory"]).max() / way) for name, W in ends.items()
        },
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chains", action="store_true", help="four chains of a fit, nothing else")
    parser.add_argument("--trajectories", action="store_true", help="gradient moves, nothing else")
    parser.add_argument("--sweeps", type=int, default=60, help="of each of these chains")
    parser.add_argument("--rows", type=int, default=515_345)
    parser.add_argument("--inputs", type=int, default=90)
    parser.add_argument("--frequencies", type=int, default=384)
    parser.add_argument("--large", action="store_true", help="also 5 000 000 x 20")
    parser.add_argument("--options", action="store_true", help="every way to compute, in turn")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    stem = "gpu-chains" if arguments.chains else "gpu"
    stem = "gpu-trajectories" if arguments.trajectories else stem
    out = arguments.out or Path(__file__).parent / "results" / f"{stem}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    if arguments.chains:
        found = []
        for task, N, d in FITS:
            size = (min(N, arguments.rows), d, arguments.frequencies)
            found.append(chains_at(task, *size, arguments.sweeps, 3))
            print(json.dumps(found[-1]), flush=True)
        out.write_text(json.dumps(found, indent=1) + "\n")
        return
    limits = limited_to(min(4, available_cores()))  # as a fit on a device does
    limits.__enter__()
    if arguments.trajectories:
        found = []
        for N, d in PATHS:
            found.append(trajectories_at(min(N, arguments.rows), d, arguments.frequencies))
            print(json.dumps(found[-1]), flush=True)
        found.append(inverses_at(2 * arguments.frequencies + 1))
        print(json.dumps(found[-1]), flush=True)
        out.write_text(json.dumps(found, indent=1) + "\n")
        return
    rate = MatrixRate()
    sizes = [(min(32_000, arguments.rows), 16), (arguments.rows, arguments.inputs)]
    if arguments.large:
        sizes.append((5_000_000, 20))
    report: dict[str, Any] = {
        "card": torch.cuda.get_device_name() if DEVICE.type == "cuda" else "none (CPU)",
        "float64 TFLOP/s": rate(),
        "agreement with the CPU": agreement(min(270_000, arguments.rows)),
        "runs": [],
    }
    for N, d in sizes:
        report["runs"].append(times_at(N, d, arguments.frequencies, rate))
        print(json.dumps(report["runs"][-1]), flush=True)
    if arguments.options:
        report["options"] = options_at(
            arguments.rows, arguments.inputs, arguments.frequencies, rate
        )
    if DEVICE.type == "cuda":
        report["peak device memory GiB"] = torch.cuda.max_memory_allocated() / 2**30
    out.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
