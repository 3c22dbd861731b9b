"""Would it pay to screen proposals on a subsample of rows first? A study.

    python benchmarks/delayed_acceptance.py [--set bike | --rows 100000] [--frequencies 384]

Two-stage Metropolis-Hastings (Christen and Fox, 2005). A proposal for W_j leaves its prior
invariant, so with D the difference of log evidence on all rows and D~ that of a surrogate,

    stage 1: survive with probability a1 = min(1, exp(D~)),
    stage 2: accept  with probability a2 = min(1, exp(D - D~)),

and the chain has the same law as with min(1, exp(D)) alone, but accepts less: a1 a2 <= a.
Only survivors need their columns over all rows. The surrogate is the evidence of n rows whose
statistic is multiplied by s: s = 1 is the posterior of the subsample, s = N/n estimates the full
one (and is noisy), s = sqrt(N/n) lies between.

All probabilities are averaged over the states of an ordinary chain, which has the law that every
two-stage chain would have. Exactness asks more than the formulas: frequency j's screen must see
the decisions of 0..j-1, but columns for one pass must be known before any decision. So columns
are computed for those who survive at the sweep's start, and the few who survive only later
("late") need a pass of their own.

Predicted speed-up: accepted proposals per cost, against one stage. Costs are flops of products
per row: 8 M^2 + 4 M^2 for all, 8 M s + 4 s^2 for s survivors, 8 M per late one times LATE, since
a single frequency runs at memory speed; the subsample costs n/N of a full sweep. Features and the
accept step are left out, which flatters the screen: it needs the current features all the same.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from measure import HERE, Problem, extended_gram, make_data, make_problem, read_set, table
from scipy.linalg import cholesky, solve_triangular

from banklearn.engines import MemoryEngine
from banklearn.sampler.accept import extended_columns
from banklearn.sampler.sweep import init

#: How much slower a flop of a single frequency's columns is than one of a large product.
LATE = 8.0
#: A speed-up below this is not worth the code.
WORTH = 1.2


@dataclass(frozen=True)
class Evidence:
    """Log evidence of a selection of columns, from one statistic multiplied by s."""

    G: np.ndarray
    r: np.ndarray
    tt: float
    n: float
    lam: float
    a0: float
    b0: float

    def __call__(self, columns: np.ndarray) -> float:
        """-1/2 log|A| - a_n log b_n; NaN when A is not positive definite."""
        A = self.G[np.ix_(columns, columns)]
        A[np.diag_indices_from(A)] += self.lam
        try:
            L = cholesky(A, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return math.nan
        v = solve_triangular(L, self.r[columns], lower=True, check_finite=False)
        b_n = self.b0 + max(0.5 * (self.tt - float(v @ v)), 0.0)
        return float(-np.log(np.diagonal(L)).sum() - (self.a0 + 0.5 * self.n) * math.log(b_n))


def survives(difference: float) -> float:
    """min(1, exp(difference)); nobody survives a NaN."""
    return 0.0 if math.isnan(difference) else math.exp(min(difference, 0.0))


def stages(D: float, D_tilde: float) -> tuple[float, float]:
    """(a1, a2) of the two-stage ratio."""
    return survives(D_tilde), survives(D - D_tilde)


@dataclass
class Tally:
    """Sums over proposals for one surrogate."""

    a1: list[float] = field(default_factory=list)
    both: list[float] = field(default_factory=list)
    early: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)


def walk(
    full: Evidence, surrogates: dict[str, Evidence], M: int, h: int, log_u: np.ndarray
) -> tuple[np.ndarray, list[float], dict[str, Tally]]:
    """One ordinary sweep; at each proposal, what each surrogate would have done."""
    accepted = np.zeros(M, dtype=bool)
    one: list[float] = []
    tallies = {name: Tally() for name in surrogates}
    every = {"": full, **surrogates}
    start = extended_columns(h, M, accepted)
    at_start = {name: evidence(start) for name, evidence in every.items()}
    now = dict(at_start)
    for j in range(M):
        trial = accepted.copy()
        trial[j] = True
        columns = extended_columns(h, M, trial)
        new = {name: evidence(columns) for name, evidence in every.items()}
        alone = extended_columns(h, M, np.arange(M) == j)
        D = new[""] - now[""]
        one.append(survives(D))
        for name, tally in tallies.items():
            a1, a2 = stages(D, new[name] - now[name])
            first = survives(surrogates[name](alone) - at_start[name])
            tally.a1.append(a1)
            tally.both.append(a1 * a2)
            # One uniform number decides both screens, so they differ as little as they can.
            tally.early.append(first)
            tally.late.append(max(a1 - first, 0.0))
        if log_u[j] < D:
            accepted, now = trial, new
    return accepted, one, tallies


def speed_up(M: int, N: int, n: int, one: float, both: float, early: float, late: float) -> float:
    """Accepted proposals per flop of the two-stage chain, relative to one stage."""
    full = 12.0 * M * M
    survivors = early * M
    cost = 8.0 * M * survivors + 4.0 * survivors**2 + 8.0 * M * LATE * late * M + full * n / N
    return float("nan") if one == 0 else (both / one) * full / cost


def warmed_up(X: np.ndarray, y: np.ndarray, M: int, sweeps: int) -> Problem:
    """A chain on all rows that has warmed up on growing subsamples."""
    rng = np.random.default_rng(1)
    problem = make_problem(X[:10], y[:10], M, settle=0)
    for rows, count in ((2_500, sweeps), (10_000, sweeps // 2), (len(X), max(sweeps // 8, 1))):
        rows = min(rows, len(X))
        chosen = np.sort(rng.choice(len(X), rows, replace=False))
        engine = MemoryEngine(X, y) if rows == len(X) else MemoryEngine(X[chosen], y[chosen])
        problem.engine = engine
        problem.chain = init(engine, problem.model, problem.chain.state, problem.streams)
        for _ in range(count):
            problem.step()
    return problem


def study(
    X: np.ndarray, y: np.ndarray, M: int, warmup: int, sweeps: int, subsamples: tuple[int, ...]
) -> tuple[float, list[dict[str, float | str]]]:
    """Mean acceptance of the ordinary chain, and one record per surrogate."""
    N = len(X)
    problem = warmed_up(X, y, M, warmup)
    prior = problem.model.prior
    rng = np.random.default_rng(2)
    sizes = [n for n in subsamples if n <= N // 2]
    chosen = {n: np.sort(rng.choice(N, n, replace=False)) for n in sizes}
    kinds = {"1": lambda n: 1.0, "sqrt(N/n)": lambda n: math.sqrt(N / n), "N/n": lambda n: N / n}
    one: list[float] = []
    total = {f"{n} {kind}": Tally() for n in sizes for kind in kinds}
    for _ in range(sweeps):
        W_star, log_u = problem.next_proposals()
        W, lam = problem.chain.state.W, problem.chain.state.lam

        def evidence(gram, s, lam=lam):
            return Evidence(
                s * gram.G[0], s * gram.r[0], s * float(gram.tt[0]), s * float(gram.n[0]),
                lam, prior.a0, prior.b0,
            )  # fmt: skip

        full = evidence(extended_gram(X, y, W, W_star), 1.0)
        surrogates = {}
        for n, rows in chosen.items():
            part = extended_gram(X[rows], y[rows], W, W_star)
            surrogates |= {f"{n} {kind}": evidence(part, f(n)) for kind, f in kinds.items()}
        accepted, probabilities, tallies = walk(full, surrogates, M, problem.h, log_u)
        one += probabilities
        for name, tally in tallies.items():
            for part_name in ("a1", "both", "early", "late"):
                getattr(total[name], part_name).extend(getattr(tally, part_name))
        problem.step()
        assert np.array_equal(accepted, (problem.chain.state.W != W).any(axis=1))
    mean_one = float(np.mean(one))
    records = []
    for name, tally in total.items():
        n, kind = name.split(" ", 1)
        a1, both = float(np.mean(tally.a1)), float(np.mean(tally.both))
        early, late = float(np.mean(tally.early)), float(np.mean(tally.late))
        gain = speed_up(M, N, int(n), mean_one, both, early, late)
        records.append(
            {"rows": int(n), "s": kind, "survive": a1, "accept": both, "late": late * M,
             "kept": both / mean_one if mean_one else float("nan"), "speed_up": gain}
        )  # fmt: skip
    return mean_one, records


def report(N: int, M: int, mean_one: float, records: list[dict[str, float | str]]) -> str:
    """The table with a verdict for every surrogate."""
    rows = []
    for r in records:
        verdict = "pays" if float(r["speed_up"]) >= WORTH else "does not pay"
        rows.append(
            [str(r["rows"]), str(r["s"]), f"{r['survive']:.1%}", f"{1 - r['survive']:.1%}",
             f"{r['accept']:.2%}", f"{r['kept']:.1%}", f"{r['late']:.1f}",
             f"{r['speed_up']:.2f}", verdict]
        )  # fmt: skip
    header = ["subsample", "s", "survive", "columns saved", "accepted", "acceptance kept",
              "late per sweep", "predicted speed-up", "verdict"]  # fmt: skip
    head = f"N = {N}, M = {M}; accepted with one stage: {mean_one:.2%} of the proposals."
    return f"{head}\n\n{table(header, rows)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", default="", help="a set of the paper instead of synthetic rows")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--inputs", type=int, default=8)
    parser.add_argument("--frequencies", type=int, default=384)
    parser.add_argument("--warmup", type=int, default=80, help="sweeps on the first subsample")
    parser.add_argument("--sweeps", type=int, default=2, help="sweeps that are studied")
    parser.add_argument("--subsamples", default="1000,4000,16000")
    parser.add_argument("--out", default=str(HERE / "results" / "delayed-acceptance.md"))
    given = parser.parse_args()
    X, y = make_data(given.rows, given.inputs)
    if given.set:
        X, y = read_set(given.set)
        X, y = X[:, X.std(axis=0) > 0], (y - y.mean()) / y.std()
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    sizes = tuple(int(n) for n in given.subsamples.split(","))
    mean_one, records = study(X, y, given.frequencies, given.warmup, given.sweeps, sizes)
    text = report(len(X), given.frequencies, mean_one, records)
    print(text)
    out = Path(given.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    title = given.set or f"{given.rows} synthetic rows, d = {given.inputs}"
    out.write_text(f"# Delayed acceptance: {title}\n\n{text}")


if __name__ == "__main__":
    main()
