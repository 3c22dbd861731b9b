"""Speed as ratios: what is compared runs in turn, in one process and one run, medians are told.

    python benchmarks/bench.py [--only a,b,...] [--quick] [--against REVISION] [--out STEM]

a  a whole sweep against its matrix products alone; shares of features and accept step
b  a small problem: one sweep, and several chains side by side
c  against the paper's one-frequency-at-a-time algorithm with low-rank updates
d  cost against rows and against frequencies
e  peak memory of sweeps and of a whole fit
f  prediction of a million rows with a hundred draws: rows per second and peak memory
g  a classification sweep against its matrix products alone
h  a small sweep against that of another revision (only with --against)
i  a step along the gradient against its matrix products alone

Writes benchmarks/results/bench.json and bench.md; with --only or --quick the names say so.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from low_rank import LowRank, fastest_product, spread_places
from measure import (
    HERE,
    TREND,
    Problem,
    alternate,
    child,
    duration,
    exchanging,
    extended_gram,
    machine,
    make_data,
    make_problem,
    medians,
    slope,
    table,
)
from products import InBlocks, OfGradient, Products, of_classification, of_regression
from revisions import in_turn

from banklearn import BankRegressor
from banklearn.engines.memory import MemoryEngine
from banklearn.model.features import feature_rows
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.threads import available_cores, limited_to
from banklearn.sampler.accept import accept_in_turn
from banklearn.sampler.exchange import exchange
from banklearn.sampler.sweep import update_mixture
from banklearn.sampler.target import Target


@dataclass(frozen=True)
class Sizes:
    """What is measured; the defaults are the sizes of the goals."""

    repeats: int = 7
    M: int = 384
    d: int = 16
    N: int = 50_000
    small: int = 1_500
    small_sweeps: int = 5
    chain_sweeps: int = 30
    components: tuple[int, ...] = (1, 8, 32)
    low_rank_rows: tuple[int, ...] = (10_000, 50_000)
    low_rank_count: int = 24
    #: (rows, repeats)
    rows: tuple[tuple[int, int], ...] = (
        (5_000, 7), (16_000, 7), (50_000, 5), (160_000, 3), (500_000, 3),
    )  # fmt: skip
    frequencies: tuple[int, ...] = (24, 48, 96, 192, 384)
    frequency_rows: int = 10_000
    #: (what, rows, inputs, sweeps)
    memory: tuple[tuple[str, int, int, int], ...] = (
        ("sweep", 5_000, 16, 2),
        ("sweep", 50_000, 16, 2),
        ("sweep", 500_000, 16, 1),
        ("sweep", 500_000, 90, 1),
        ("fit", 500_000, 90, 1),
    )
    predict_rows: int = 1_000_000
    predict_draws: int = 100
    gradient_rows: tuple[int, ...] = (1_500, 14_000, 50_000)


QUICK = Sizes(
    repeats=2, M=8, d=3, N=600, small=200, small_sweeps=1, chain_sweeps=4,
    components=(1, 3),
    low_rank_rows=(300,), low_rank_count=4, rows=((200, 2), (400, 2), (800, 2)),
    frequencies=(4, 8), frequency_rows=300,
    memory=(("sweep", 400, 3, 1), ("fit", 400, 3, 1)), predict_rows=3_000, predict_draws=3,
    gradient_rows=(200, 500),
)  # fmt: skip


@dataclass
class Section:
    """What one section found."""

    title: str
    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)
    note: str = ""

    def markdown(self) -> str:
        parts = [f"## {self.title}", table(self.header, self.rows)]
        return "\n\n".join([*parts, self.note] if self.note else parts) + "\n"


def floor(products: InBlocks, seconds: dict[str, float]) -> tuple[str, float]:
    """The fastest way to compute the products, and its seconds."""
    name = min(products.ways(), key=seconds.__getitem__)
    return name, seconds[name]


def against_products(problem: Problem, products: Products, sizes: Sizes, title: str) -> Section:
    """A whole sweep, its products in every way, its features and its accept step, in turn."""
    X, y, h = problem.engine.X, problem.engine.y, problem.h
    block = products.block_rows
    W = problem.chain.state.W.copy()
    W_star, log_u = problem.next_proposals()
    current, proposed = np.empty((h + 2 * len(W), block)), np.empty((2 * len(W), block))
    ext = extended_gram(X, y, W, W_star)
    form = problem.model.likelihood.accept_form(ext)
    lam, scale = problem.chain.state.lam, 1.0 / np.sqrt(len(W))

    def features() -> None:
        for start in range(0, len(X), block):
            part = X[start : start + block]
            n = len(part)
            # The flat memory of a block, so that a shorter last block is contiguous too.
            feature_rows(part, W, TREND, current.ravel()[: len(current) * n].reshape(-1, n))
            out = proposed.ravel()[: len(proposed) * n].reshape(-1, n)
            feature_rows(part, W_star, "none", out, scale)

    def exchanges() -> None:
        own = problem.tuning
        problem.tuning = exchanging(own)
        problem.step()
        problem.tuning = own

    def mixed() -> None:
        own = problem.engine
        problem.engine = MemoryEngine(own.X, own.y, own.weight, arithmetic="mixed")
        problem.step()
        problem.engine = own

    tasks: dict[str, Callable[[], object]] = {
        "sweep": problem.step,
        "exchanging": exchanges,
        "mixed": mixed,
        "features": features,
        "accept": lambda: accept_in_turn(ext, lam, h, log_u, *form),
        "accept exchanging": lambda: exchange(ext, lam, h, *form, np.random.default_rng(0)),
        **products.ways(),
    }
    all_seconds = alternate(tasks, sizes.repeats)
    seconds = medians(all_seconds)
    way, base = floor(products, seconds)
    rounds = np.array(all_seconds["sweep"]) / np.array(all_seconds[way])
    other = seconds["sweep"] - base - seconds["features"] - seconds["accept"]
    regression = products.q > 0
    section = Section(title, ["part", "median", "against products", "goal"])
    section.rows = [
        [f"products alone ({way})", duration(base), "1", ""],
        ["whole sweep", duration(seconds["sweep"]), f"{seconds['sweep'] / base:.3f}",
         "at most 1.3" if regression else ""],
        ["whole sweep that exchanges", duration(seconds["exchanging"]),
         f"{seconds['exchanging'] / base:.3f}", "at most 1.3" if regression else ""],
        ["whole sweep in mixed arithmetic", duration(seconds["mixed"]),
         f"{seconds['mixed'] / base:.3f}", ""],
        ["features", duration(seconds["features"]), f"{seconds['features'] / base:.3f}",
         "at most 0.25" if regression else ""],
        ["accept step", duration(seconds["accept"]), f"{seconds['accept'] / base:.3f}",
         "at most 20 ms" if regression else ""],
        ["accept step that exchanges", duration(seconds["accept exchanging"]),
         f"{seconds['accept exchanging'] / base:.3f}", ""],
        ["all else (difference)", duration(other) if other > 0 else "-", f"{other / base:.3f}", ""],
    ]  # fmt: skip
    low, high = np.quantile(rounds, [0.25, 0.75])
    section.note = (
        f"N = {len(X)}, d = {X.shape[1]}, M = {len(W)}, medians of {sizes.repeats}; the ratio of "
        f"single rounds has quartiles {low:.3f} and {high:.3f}. Products: "
        f"{products.flops / base / 1e9:.1f} GFLOP/s."
    )
    if not regression:
        section.note += " The accept step is timed on the statistic of unweighted rows."
    section.numbers = {
        "seconds": all_seconds,
        "ratio": seconds["sweep"] / base,
        "exchanging_ratio": seconds["exchanging"] / base,
        "mixed_ratio": seconds["mixed"] / base,
        "features": seconds["features"] / base,
        "accept_seconds": seconds["accept"],
        "accept_exchanging_seconds": seconds["accept exchanging"],
        "products": way,
        "gflops": products.flops / base / 1e9,
    }
    return section


def section_a(sizes: Sizes) -> Section:
    X, y = make_data(sizes.N, sizes.d)
    problem = make_problem(X, y, sizes.M)
    products = of_regression(sizes.N, sizes.M, problem.h, problem.engine.block_rows)
    return against_products(problem, products, sizes, "A sweep against its products alone")


def section_g(sizes: Sizes) -> Section:
    X, y = make_data(sizes.N, sizes.d, classes=2)
    problem = make_problem(X, y, sizes.M, classes=2)
    products = of_classification(sizes.N, sizes.M, problem.h, problem.engine.block_rows)
    title = "A classification sweep (Polya-Gamma) against its products alone"
    return against_products(problem, products, sizes, title)


def section_b(sizes: Sizes) -> Section:
    X, y = make_data(sizes.small, sizes.d)
    problem = make_problem(X, y, sizes.M, settle=5)
    products = of_regression(sizes.small, sizes.M, problem.h, problem.engine.block_rows)

    def sweeps() -> None:
        for _ in range(sizes.small_sweeps):
            problem.step()

    seconds = medians(alternate({"sweeps": sweeps, **products.ways()}, sizes.repeats))
    one = seconds["sweeps"] / sizes.small_sweeps
    way, base = floor(products, seconds)

    def fit(chains: int) -> None:
        BankRegressor(
            sizes.M,
            n_chains=chains,
            n_warmup=0,
            n_draws=1,
            thin=sizes.chain_sweeps,
            trend="constant",
            input_scaling="none",
            spectral_scale=0.4,
            growing_warmup=False,
            random_state=0,
        ).fit(X, y)

    def on_one_core() -> None:
        with limited_to(1):
            fit(1)

    tasks = {"one core": on_one_core, "all cores": lambda: fit(1), "two chains": lambda: fit(2)}
    fits = medians(alternate(tasks, sizes.repeats))
    rate = {name: sizes.chain_sweeps / taken for name, taken in fits.items()}
    rate["two chains"] *= 2
    gain = {name: rate["two chains"] / rate[name] for name in ("one core", "all cores")}
    section = Section("A small problem", ["what", "median", "ratio", "goal"])
    section.rows = [
        ["one sweep", duration(one), "", ""],
        [f"products alone ({way})", duration(base), f"sweep / products {one / base:.2f}", ""],
        ["one chain on one core", f"{rate['one core']:.3g} sweeps/s", "1", ""],
        ["one chain on all cores", f"{rate['all cores']:.3g} sweeps/s",
         f"{rate['all cores'] / rate['one core']:.2f}", ""],
        ["two chains side by side", f"{rate['two chains']:.3g} sweeps/s",
         f"{gain['one core']:.2f} (against all cores {gain['all cores']:.2f})", "at least 1.7"],
    ]  # fmt: skip
    mixture = mixture_seconds(problem, sizes.components, sizes.repeats)
    for K, taken in mixture.items():
        name = f"update of the mixture at {K} components"
        section.rows.append([name, duration(taken), f"{taken / one:.3f} of a sweep", ""])
    section.note = (
        f"N = {sizes.small}, d = {sizes.d}, M = {sizes.M}, K = {problem.chain.state.K} in the "
        f"sweeps; {available_cores()} cores; chains as "
        f"`BankRegressor.fit` runs them, {sizes.chain_sweeps} sweeps each."
    )
    section.numbers = {
        "sweep_seconds": one, "products_seconds": base, "sweeps_per_second": rate,
        "two_chains": gain, "mixture_seconds": mixture,
    }  # fmt: skip
    return section


def mixture_seconds(
    problem: Problem, components: tuple[int, ...], repeats: int
) -> dict[int, float]:
    """Seconds of the updates that see only W, from a state with K well separated components."""
    state, rng = problem.chain.state, np.random.default_rng(0)
    M, d = state.W.shape
    tasks: dict[str, Callable[[], object]] = {}
    for K in components:
        mu, Z = 3.0 * rng.standard_normal((K, d)), np.arange(M) % K
        spread = np.broadcast_to(0.01 * np.eye(d), (K, d, d)).copy()
        W = mu[Z] + 0.1 * rng.standard_normal((M, d))
        start = state.with_(W=W, Z=Z, mu=mu, Sigma=spread)
        tasks[str(K)] = partial(update_mixture, start, problem.model.prior, problem.streams, 1)
    return {int(K): taken for K, taken in medians(alternate(tasks, repeats)).items()}


def section_c(sizes: Sizes) -> Section:
    header = ["rows", "our sweep", "low rank, whole sweep", "times faster", "goal", "decisions"]
    section = Section("Against the paper's algorithm with low-rank updates", header)
    for N in sizes.low_rank_rows:
        X, y = make_data(N, sizes.d)
        problem = make_problem(X, y, sizes.M)
        places = spread_places(sizes.M, sizes.low_rank_count)
        ours: list[float] = []
        theirs: list[float] = []
        equal = compared = taken = 0
        product = None
        for turn in range(1 + sizes.repeats):
            W_star, log_u = problem.next_proposals()
            state = problem.chain.state
            form = problem.model.likelihood.accept_form(problem.chain.gram)
            reference = LowRank(
                X, y, state.W, state.lam, TREND, *form, product=product or "loop", places=places
            )
            if product is None:
                pair = reference.Phi[problem.h : problem.h + 2]
                product = reference.product = fastest_product(reference.Phi, pair)
            begin = time.perf_counter()
            decisions = reference.sweep(W_star, log_u, sizes.low_rank_count)
            middle = time.perf_counter()
            problem.step()
            end = time.perf_counter()
            moved = (problem.chain.state.W != state.W).any(axis=1)[: sizes.low_rank_count]
            equal += int((decisions == moved).sum())
            compared, taken = compared + len(moved), taken + int(moved.sum())
            if turn:
                theirs.append((middle - begin) * sizes.M / sizes.low_rank_count)
                ours.append(end - middle)
        mine, plain = float(np.median(ours)), float(np.median(theirs))
        told = f"{equal} of {compared} equal, {taken} accepted"
        section.rows.append(
            [str(N), duration(mine), duration(plain), f"{plain / mine:.1f}", "at least 8", told]
        )
        section.numbers[str(N)] = {
            "ours": ours, "low_rank": theirs, "ratio": plain / mine, "equal": equal,
            "compared": compared, "accepted": taken, "product": product,
        }  # fmt: skip
    section.note = (
        f"d = {sizes.d}, M = {sizes.M}. Low rank: {sizes.low_rank_count} of {sizes.M} frequencies "
        f"are timed and the time is scaled by {sizes.M / sizes.low_rank_count:g}; its first factor "
        "and its updates of lam and the mixture are not counted, ours are. Both see the same "
        f"proposals and random numbers. Medians of {sizes.repeats}, in turn."
    )
    return section


def section_d(sizes: Sizes) -> Section:
    section = Section("Cost against rows and frequencies", ["N", "M", "sweep", "per row", "slope"])
    times: dict[str, list[float]] = {"rows": [], "frequencies": []}

    def measure(N: int, M: int, repeats: int, kind: str) -> None:
        problem = make_problem(*make_data(N, sizes.d), M, settle=0)
        taken = medians(alternate({"sweep": problem.step}, repeats))["sweep"]
        times[kind].append(taken)
        section.rows.append([str(N), str(M), duration(taken), f"{taken / N * 1e6:.3g} us", ""])

    for N, repeats in sizes.rows:
        measure(N, sizes.M, repeats, "rows")
    in_rows = slope([N for N, _ in sizes.rows], times["rows"])
    section.rows[-1][-1] = f"{in_rows:.3f} in N (goal 0.9 to 1.05)"
    for M in sizes.frequencies:
        measure(sizes.frequency_rows, M, sizes.repeats, "frequencies")
    in_frequencies = slope(list(sizes.frequencies), times["frequencies"])
    section.rows[-1][-1] = f"{in_frequencies:.3f} in M"
    section.note = f"d = {sizes.d}; slopes are least squares on log-log axes."
    section.numbers = {"seconds": times, "slope_N": in_rows, "slope_M": in_frequencies}
    return section


def section_e(sizes: Sizes) -> Section:
    header = ["what", "rows x inputs", "X", "peak beyond X", "of it program", "goal"]
    section = Section("Peak memory", header)
    found = []
    for what, N, d, sweeps in sizes.memory:
        result = child(
            "memory.py", what, "--rows", N, "--inputs", d, "--frequencies", sizes.M,
            "--sweeps", sweeps,
        )  # fmt: skip
        found.append(result)
        section.rows.append(
            [f"{what}, {sweeps} sweeps", f"{N} x {d}", f"{result['x_mib']:.0f} MiB",
             f"{result['beyond_x_mib']:.0f} MiB", f"{result['program_mib']:.0f} MiB",
             "under 1024 MiB, flat in N"]
        )  # fmt: skip
    section.note = (
        f"M = {sizes.M}; resident memory of a process of its own, less what it held when X and y "
        "were there. Program: imports and compiled code. A fit also scales X and merges equal rows."
    )
    section.numbers = {"runs": found}
    return section


def section_f(sizes: Sizes) -> Section:
    result = child(
        "memory.py", "predict", "--rows", sizes.predict_rows, "--inputs", sizes.d,
        "--frequencies", sizes.M, "--draws", sizes.predict_draws,
    )  # fmt: skip
    rate = sizes.predict_rows / result["seconds"]
    section = Section("Prediction", ["rows", "draws", "rows/s", "X", "peak beyond X", "goal"])
    section.rows = [
        [str(sizes.predict_rows), str(sizes.predict_draws), f"{rate:.0f}",
         f"{result['x_mib']:.0f} MiB", f"{result['beyond_x_mib']:.0f} MiB", "under 1024 MiB"]
    ]  # fmt: skip
    section.note = f"d = {sizes.d}, M = {sizes.M}; means, one call of `predict`, run once."
    section.numbers = {"run": result, "rows_per_second": rate}
    return section


def section_h(sizes: Sizes, against: str) -> Section:
    found = in_turn(
        against, sizes.small, sizes.d, sizes.M, sizes.small_sweeps, rounds=sizes.repeats
    )
    seconds = medians(found)
    ratio = seconds["before"] / seconds["now"]
    section = Section(f"A small sweep against that of {against}", ["what", "median", "ratio"])
    section.rows = [
        [f"sweep of {against}", duration(seconds["before"]), "1"],
        ["sweep now", duration(seconds["now"]), f"{ratio:.2f} times faster (goal: at least 5)"],
    ]
    section.note = f"N = {sizes.small}, d = {sizes.d}, M = {sizes.M}; two processes, in turn."
    section.numbers = {"seconds": found, "ratio": ratio, "against": against}
    return section


def section_i(sizes: Sizes) -> Section:
    header = ["rows", "forces", "products alone", "step", "against products", "features twice"]
    section = Section("A step along the gradient against its products alone", header)
    for N in sizes.gradient_rows:
        problem = make_problem(*make_data(N, sizes.d), sizes.M, settle=1)
        for forces in ("single", "double"):
            engine = problem.engine.rough() if forces == "single" else problem.engine
            products = OfGradient(
                N, sizes.M, problem.h, problem.engine.block_rows, forces == "single"
            )
            target = Target(
                engine, problem.model.likelihood, TREND, problem.model.prior, problem.chain.state,
                problem.model.likelihood.working(None, problem.streams, 0), JitterCount(),
            )  # fmt: skip
            along, W = target.along(engine), problem.chain.state.W

            def step(target: Target, W: np.ndarray = W) -> None:
                target.sloping(target.at(W.copy()))

            tasks: dict[str, Callable[[], object]] = {
                "step": partial(step, along), "twice": partial(step, target), **products.ways(),
            }  # fmt: skip
            found = alternate(tasks, sizes.repeats)
            seconds = medians(found)
            _, base = floor(products, seconds)
            twice = float(np.median(np.array(found["twice"]) / np.array(found["step"])))
            section.rows.append(
                [str(N), forces, duration(base), duration(seconds["step"]),
                 f"{seconds['step'] / base:.3f}", f"{twice:.3f} of a step"]
            )  # fmt: skip
            section.numbers[f"{N} {forces}"] = {
                "seconds": found, "ratio": seconds["step"] / base, "features_twice": twice,
                "gflops": products.flops / base / 1e9,
            }  # fmt: skip
    section.note = (
        f"d = {sizes.d}, M = {sizes.M}: the statistic, its factors, their inverse and the gradient "
        f"at new frequencies; medians of {sizes.repeats}, in turn. Features twice: a step that "
        "keeps none from the statistic to the gradient."
    )
    return section


SECTIONS: dict[str, Callable[[Sizes], Section]] = {
    "a": section_a, "b": section_b, "c": section_c, "d": section_d,
    "e": section_e, "f": section_f, "g": section_g, "i": section_i,
}  # fmt: skip


def main(arguments: list[str] | None = None) -> dict[str, Section]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="sections, for example a,b")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--against", default="", help="a revision whose small sweep is timed too")
    parser.add_argument("--out", default="", help="path of the results without its ending")
    given = parser.parse_args(arguments)
    sizes = QUICK if given.quick else Sizes()
    jobs = dict(SECTIONS)
    if given.against:
        jobs["h"] = lambda sizes: section_h(sizes, given.against)
    wanted = given.only.split(",") if given.only else list(jobs)
    if unknown := [name for name in wanted if name not in jobs]:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(jobs)}")

    about = machine()
    begin = time.perf_counter()
    found: dict[str, Section] = {}
    for name in wanted:
        found[name] = jobs[name](sizes)
        print(found[name].markdown(), flush=True)
    about["seconds"] = time.perf_counter() - begin
    stem = "bench" + ("-" + "".join(wanted) if given.only else "")
    stem += "-quick" if given.quick else ""
    write(Path(given.out or HERE / "results" / stem), about, sizes, found)
    return found


def write(stem: Path, about: dict[str, Any], sizes: Sizes, found: dict[str, Section]) -> None:
    """The numbers as JSON and the tables as Markdown."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "machine": about,
        "sizes": asdict(sizes),
        "sections": {name: {"title": s.title, **s.numbers} for name, s in found.items()},
    }
    stem.with_name(stem.name + ".json").write_text(json.dumps(content, indent=1) + "\n")
    head = (
        f"{about['cpu']}, {about['cores']} cores, {', '.join(about['blas'])}, float64; revision "
        f"{about['revision']}; {about['seconds']:.0f} s in all."
    )
    text = "\n".join(["# Speed\n", head + "\n", *(s.markdown() for s in found.values())])
    stem.with_name(stem.name + ".md").write_text(text)


if __name__ == "__main__":
    main()
