"""Whether chains should count by what they predict: equal weights beside stacking.

Chains sit in modes of their own, and how much mass each mode has nobody knows: log evidences of
states say nothing of how wide their modes are. Predictions average over chains as they are. What
could be done in their place is to weigh them by how well each predicts rows that it has not seen
(stacking: Yao, Vehtari, Simpson and Gelman, 2018): the weights whose mixture gives the training
rows, each left out, the highest log density. Rows are left out as for the law of errors
(:mod:`banklearn.posterior.leave_one_out`), draws counting by 1 / p.

All ways predict from the draws of one fit with the default settings, judged by rows that were held
out of the training rows, with the model's own law:

equal               the average over all draws, which is what an estimator predicts
stacked             the average over chains with those weights
highest evidence    the chain whose draws have the highest mean log evidence
best                the chain that does best on the held-out rows, which nobody knows beforehand
worst               the chain that does worst

    python benchmarks/chain_weights.py [--sets concrete,noise,prop,bike,toms] [--parts 0,1]
        [--chains 4] [--seconds 105,440] [--jobs 1] [--cores-per-job 1]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from draws_study import with_draws
from error_laws import Watched
from held_out import add_options, cell_of, cores, fitted, parts_of, rows_of, times
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import t as student_t
from studies import measured, processors, publish, study_parser

from banklearn.experiments.cells import Cell, Record
from banklearn.experiments.tables import markdown
from banklearn.posterior.leave_one_out import without_each
from banklearn.posterior.predict import row_blocks

Array = NDArray[np.float64]

WAYS = ("equal", "stacked", "highest evidence", "best", "worst")
#: EM is at its end where no weight changes by more.
TOLERANCE, STEPS = 1e-9, 100_000


def estimator(chains: int, seconds: float, M: int) -> Watched:
    """The defaults, but for time and size; laws of chains are compared, not what is learned."""
    return Watched(
        M, n_chains=chains, max_time=seconds, random_state=0, device="cpu", error_law="normal"
    )


def stacked(log_p: Array, weight: Array | None = None) -> Array:
    """The weights of chains (C,) whose mixture gives rows the highest log density, by EM.

    log_p (C, n): log density of each row in the law of each chain.
    """
    mass = np.ones(log_p.shape[1]) if weight is None else weight
    share = np.full(len(log_p), 1.0 / len(log_p))
    for _ in range(STEPS):
        with np.errstate(divide="ignore"):
            each = log_p + np.log(share)[:, None]
        new = (np.exp(each - logsumexp(each, axis=0)) * mass).sum(axis=1) / mass.sum()
        if np.abs(new - share).max() < TOLERANCE:
            return np.asarray(new)
        share = new
    return share


def left_out_densities(model: Any, X: Array, y: Array, weight: Array | None) -> Array:
    """log p(y_i | other rows) in each chain: the harmonic mean of its draws' densities, (C, n)."""
    chain = np.array([draw.chain for draw in model.draws_])
    out = np.empty((chain.max() + 1, len(y)))
    for part in row_blocks(X, 1024):
        left_out = 1.0 if weight is None else np.minimum(weight[part], 1.0)
        where = (model.draws_, X[part], y[part], left_out, model.trend_)
        location, scale, dof, _ = without_each(*where)
        log_p = student_t.logpdf((y[part] - location) / scale, dof) - np.log(scale)
        for c in range(len(out)):
            own = -log_p[chain == c]
            out[c, part] = np.log(len(own)) - logsumexp(own, axis=0)
    return out


def measure(name: str, part: int, chains: int, seconds: float, M: int, rows: int | None) -> Record:
    """Fit once, and score every way to weigh its chains."""
    data = rows_of(name, part, rows)
    model = estimator(chains, seconds, M)
    spent = fitted(model, data)
    alone = [with_draws(model, [d for d in model.draws_ if d.chain == c]) for c in range(chains)]
    means = np.stack([one.predict(data.X_test) for one in alone])
    logs = np.stack([one.log_predictive_density(data.X_test, data.y_test) for one in alone])
    share = stacked(left_out_densities(model, *model.seen_[1:]), model.seen_[-1])
    drawn = [len(one.draws_) for one in alone]
    heights = [
        float(np.mean(trace["log_evidence"][-n * model.thin :]))
        for trace, n in zip(model.trace_, drawn, strict=True)
    ]
    errors = ((means - data.y_test) ** 2).mean(axis=1)
    only = np.eye(chains)
    weights = {
        "equal": np.array(drawn) / sum(drawn),
        "stacked": share,
        "highest evidence": only[int(np.argmax(heights))],
        "best": only[int(np.argmin(errors))],
        "worst": only[int(np.argmax(errors))],
    }
    return {
        "set": name,
        "part": part,
        "rows": len(data.y),
        "judged": len(data.y_test),
        "seconds": spent,
        "sweeps": [int(n) for n in model.n_sweeps_],
        "heights": heights,
        "weights": {way: list(map(float, w)) for way, w in weights.items()},
        "scores": {way: score(w, means, logs, data.y_test) for way, w in weights.items()},
    }


def score(weight: Array, means: Array, logs: Array, y: Array) -> dict[str, float]:
    """Squared error and minus the log density of chains that count by these weights."""
    log_p = logsumexp(logs, axis=0, b=weight[:, None])
    return {"error": float(np.mean((weight @ means - y) ** 2)), "nlpd": -float(log_p.mean())}


def cell(name: str, part: int, chains: int, seconds: float, M: int, rows: int | None) -> Cell:
    """The measurement of one part of one set."""
    model = estimator(chains, seconds, M)
    label, runner = f"weights-{name}-{part}-{chains}", "chain_weights:measure"
    size = {"chains": chains, "seconds": seconds, "M": M, "rows": rows}
    return cell_of(label, runner, model, name=name, part=part, **size)


def table(records: Sequence[Record]) -> str:
    """A line for each way of weighing on each set: means over parts."""
    lines = []
    for name in dict.fromkeys(record["set"] for record in records):
        own = [record for record in records if record["set"] == name]
        for way in WAYS:
            found = [record["scores"][way] for record in own]
            better = sum(r["scores"][way]["error"] < r["scores"]["equal"]["error"] for r in own)
            weights = [sorted(record["weights"][way], reverse=True) for record in own]
            lines.append(
                [
                    *(name, way),
                    f"{np.mean([f['error'] for f in found]):.4g}",
                    f"{np.mean([f['nlpd'] for f in found]):.3f}",
                    "\N{EN DASH}" if way == "equal" else f"{better} of {len(own)}",
                    ", ".join(f"{w:.2f}" for w in np.mean(weights, axis=0)),
                ]
            )
    header = ["set", "weights of chains", "MSE", "nlpd", "smaller MSE than equal"]
    return markdown([*header, "weights, the largest first"], lines)


def legend(records: Sequence[Record], options: argparse.Namespace) -> str:
    """How the table was measured."""
    return (
        f"Judged by fifths of the training rows of fold 0; M = {options.frequencies}, "
        f"{options.chains} chains, otherwise the defaults with normal errors, "
        f"{times(options)}, {cores(options)} a fit ({processors(records)}). nlpd is "
        "the mean negative log predictive density."
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = study_parser(__doc__, "chain_weights", "concrete,noise,prop,bike,toms", "fits")
    parser.set_defaults(cores_per_job=1)
    parser.add_argument("--chains", type=int, default=4)
    add_options(parser, "105,440")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Measure what has not been measured, and write the table."""
    options = parse(arguments)
    cells = [
        cell(name, part, options.chains, seconds, options.frequencies, options.rows)
        for name, part, seconds in parts_of(options)
    ]
    records = measured(cells, options)
    if records:
        publish(options.out, table(records), legend(records, options), records)
    return records


if __name__ == "__main__":
    main()
