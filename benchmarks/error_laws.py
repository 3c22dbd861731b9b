"""Whether intervals hold what they say: the model's own law and learned ones, from one fit.

    python benchmarks/error_laws.py [--sets concrete,noise,prop,bike,toms] [--parts 0,1]
        [--seconds 60,150] [--chains 4] [--frequencies 384] [--jobs 1] [--out FILE]

Rows are the training rows of fold 0, cut into five parts: one is held out, the others are learned
from (``--test`` takes the fold's own test rows, for a last look). All laws are of the same draws
with the same means, so that they differ in nothing else: the model's own; the one that is learned
where draws count by 1 / p(y_i | W, other rows) as those of settled chains would; the one by the
square of it that scales doubt about the function like noise, however large it is; and the default,
by the square too, which scales doubt as far as it is common among the training rows. Printed are
the squared error, minus the log predictive density, the share of held-out rows that intervals of
50, 80 and 95 % hold, and what those of 80 % hold of the tenth with the most doubt.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from held_out import add_options, cell_of, fitted, parts_of, rows_of, times
from numpy.typing import NDArray
from studies import measured, processors, publish, study_parser
from study_sets import Rows

from banklearn import BankRegressor
from banklearn.experiments.cells import Cell, Record
from banklearn.experiments.tables import markdown

Array = NDArray[np.float64]

LEVELS = (0.5, 0.8, 0.95)
LAWS = ("normal", "learned by 1 / p", "all doubt scaled", "learned")
#: Share of the held-out rows that are looked at by themselves: those with the most doubt.
DOUBTFUL = 0.1


class Watched(BankRegressor):
    """Keeps the rows from which it learns the law of errors."""

    def _look_back(self, *rows: Any) -> None:
        self.seen_ = (rows[0].different, *rows[1:])
        super()._look_back(*rows)


def estimator(chains: int, seconds: float, M: int) -> Watched:
    """The defaults, but for time and size."""
    return Watched(M, n_chains=chains, max_time=seconds, random_state=0, device="cpu")


def measure(
    name: str, part: int | None, chains: int, seconds: float, M: int, rows: int | None
) -> Record:
    """Fit once, and score both laws."""
    data = rows_of(name, part, rows)
    model = estimator(chains, seconds, M)
    spent = fitted(model, data)
    plain, once, scaled = (copy.copy(model) for _ in range(3))
    plain.error_law_ = None
    once.error_law_ = model._law_of_errors(*model.seen_, power=1.0)
    scaled.error_law_ = model._law_of_errors(*model.seen_, reach=np.inf)
    far = most_doubtful(plain, data.X_test)
    return {
        "set": name,
        "part": part,
        "rows": len(data.y),
        "judged": len(data.y_test),
        "seconds": spent,
        "sweeps": [int(n) for n in model.n_sweeps_],
        "draws": len(model.draws_),
        "scores": {
            law: scores(which, data, far)
            for law, which in zip(LAWS, (plain, once, scaled, model), strict=True)
        },
    }


def most_doubtful(plain: Any, X: Array) -> NDArray[np.intp]:
    """The rows with the largest predictive deviation of the model's own."""
    _, std = plain.predict(X, return_std=True)
    return np.argsort(std)[-max(round(DOUBTFUL * len(X)), 1) :]


def scores(model: Any, data: Rows, far: NDArray[np.intp]) -> dict[str, Any]:
    """Squared error, minus the log predictive density, and what intervals hold."""
    X, y = data.X_test, data.y_test
    held = []
    for level in LEVELS:
        lower, upper = model.predict_interval(X, level)
        held.append((lower <= y) & (y <= upper))
    return {
        "error": float(np.mean((model.predict(X) - y) ** 2)),
        "nlpd": -float(np.mean(model.log_predictive_density(X, y))),
        "inside": [float(each.mean()) for each in held],
        "inside_far": float(held[1][far].mean()),
    }


def cell(
    name: str, part: int | None, chains: int, seconds: float, M: int, rows: int | None
) -> Cell:
    """The measurement of one part of one set."""
    model = estimator(chains, seconds, M)
    label = f"errors-{name}-{'test' if part is None else part}"
    size = {"chains": chains, "seconds": seconds, "M": M, "rows": rows}
    return cell_of(label, "error_laws:measure", model, name=name, part=part, **size)


def table(records: Sequence[Record]) -> str:
    """A line for each law of each set: means over its parts."""
    lines = []
    for name in dict.fromkeys(record["set"] for record in records):
        own = [record for record in records if record["set"] == name]
        for law in LAWS:
            found = [record["scores"][law] for record in own]
            inside = np.mean([f["inside"] for f in found], axis=0)
            lines.append(
                [
                    *(name, law, str(len(own)), str(sum(r["judged"] for r in own))),
                    f"{np.mean([f['error'] for f in found]):.4g}",
                    f"{np.mean([f['nlpd'] for f in found]):.3f}",
                    *(f"{share:.3f}" for share in inside),
                    f"{np.mean([f['inside_far'] for f in found]):.3f}",
                ]
            )
    header = ["set", "law of errors", "parts", "rows to judge by", "MSE", "nlpd"]
    header += [f"{100 * level:.0f} % hold" for level in LEVELS]
    return markdown([*header, "80 % hold where doubt is most"], lines)


def legend(records: Sequence[Record], options: argparse.Namespace) -> str:
    """How the table was measured."""
    sweeps: dict[str, list[int]] = {}
    for record in records:
        sweeps.setdefault(record["set"], []).extend(record["sweeps"])
    made = "; ".join(f"{name} {min(each)} to {max(each)}" for name, each in sweeps.items())
    judged = "test rows of fold 0" if options.test else "fifths of the training rows of fold 0"
    return (
        f"Judged by {judged}; M = {options.frequencies}, {options.chains} chains, otherwise the "
        f"defaults, {times(options)}, one core; sweeps that "
        f"the chains made: {made} ({processors(records)}). All laws of a set are of the same "
        "draws. nlpd is the mean negative log predictive density. Doubt is most in the tenth of "
        "the rows to judge by with the largest deviation of the model's own law."
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = study_parser(__doc__, "error_laws", "concrete,noise,prop,bike,toms", "fits", None)
    parser.add_argument("--test", action="store_true", help="judge by the fold's test rows")
    parser.add_argument("--chains", type=int, default=4)
    add_options(parser, "60,150")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Measure what has not been measured, and write the table."""
    options = parse(arguments)
    asked = [(name, None if options.test else part, t) for name, part, t in parts_of(options)]
    cells = [
        cell(name, part, options.chains, seconds, options.frequencies, options.rows)
        for name, part, seconds in dict.fromkeys(asked)
    ]
    records = measured(cells, options)
    if records:
        publish(options.out, table(records), legend(records, options), records)
    return records


if __name__ == "__main__":
    main()
