"""How long trajectories should be: chains that differ in nothing else, from one state.

The default schedule warms up as in `mixing.py`. From the state that it reached chains go on with
the same time for each, in turn on one core: some whose trajectories have as many steps as --lengths
says (with the step that warm-up found, and as many of them as make the work that the default gives
them), and one of the paper's move. All begin in several warm-ups with other seeds.

Shown are the gradient moves of a chain and their mean acceptance, the log evidence (log likelihood
in classification) by quarters of the time, effective samples of a chain over all chains of a kind,
of the evidence and the median of those of the latent mean at 20 rows kept out, and R-hat of both.
Where chains have not met, effective samples mean little, and the evidence says which is ahead.

    python benchmarks/lengths.py --jobs 2 --rows 5000 --frequencies 192 --warm 100 --seconds 110
        --work DIR [--sets bike,eeg] [--lengths 24,96] [--chains 2] [--device cuda]
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from chains import Course, drawn_weights, in_turn, mean_weights
from mixing import BEGUN, PROBES, going_on, papers, posed
from mixing_rates import quarters
from studies import measured, processors, publish, study_parser

from banklearn.experiments.cells import Cell, Record
from banklearn.experiments.tables import markdown
from banklearn.numerics.streams import Streams
from banklearn.posterior.diagnostics import effective_sample_size, r_hat
from banklearn.sampler import sweep
from banklearn.sampler.sweep import Tuning

#: Turns that chains take.
SLICES = 6


def of_length(tuning: Tuning, steps: int) -> Tuning:
    """Trajectories of so many steps, and so many of them as make the same work."""
    tuned = replace(tuning.gradient, length=steps, reach=steps)
    pace = tuning.pace and tuning.pace.of_length(steps)
    return replace(tuning, gradient=tuned, pace=pace)


def measure(
    name: str,
    chain: int,
    begins: str,
    lengths: Sequence[int],
    seconds: float,
    M: int,
    rows: int | None,
    device: str,
) -> Record:
    """Chains from the end of one warm-up. begins: the file that it left."""
    problem = posed(name, M, rows, device, "auto")
    state, beta, tuning, at = pickle.loads(Path(begins).read_bytes())
    begun = going_on(problem, state, beta, at)
    weights = mean_weights if begun.beta is None else drawn_weights
    kinds = {f"{n} steps": of_length(tuning, n) for n in lengths} | {"jumps": papers(tuning)}
    courses = {
        kind: Course(problem, sweep, tuned, begun, Streams(2 + k, chain), at, weights)
        for k, (kind, tuned) in enumerate(kinds.items())
    }
    in_turn(courses.values(), seconds, SLICES)
    return {
        "set": name,
        "chain": chain,
        "rows": problem.engine.n_rows,
        "step": tuning.gradient.step,
        "values": {kind: course.values for kind, course in courses.items()},
        "accepted": {kind: course.flights for kind, course in courses.items()},
    }


def found_in(records: Sequence[Record]) -> dict[str, dict[str, Any]]:
    """What the table shows of one set, by kind of chain."""
    out = {}
    for kind in records[0]["values"]:
        values = [np.array(r["values"][kind]) for r in records]
        last = np.stack([v[-min(map(len, values)) :] for v in values])
        each = range(last.shape[2])
        accepted = [p for r in records for p in r["accepted"][kind]]
        out[kind] = {
            "sweeps": float(np.mean([len(v) for v in values])),
            "moves": len(accepted) / len(records),
            "accepted": float(np.mean(accepted)) if accepted else float("nan"),
            "quarters": [quarters(v[:, 0]) for v in values],
            "effective": [effective_sample_size(last[:, :, i]) / len(values) for i in each],
            "r_hat": [r_hat(last[:, :, i]) for i in each],
        }
    return out


def table(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """A line for each set and kind of chain."""
    lines = []
    for name, kinds in found.items():
        for kind, of in kinds.items():
            moves = of["moves"]
            lines.append(
                [
                    name,
                    kind,
                    f"{of['sweeps']:.0f}",
                    f"{moves:.0f}" + (f" ({of['accepted']:.2f})" if moves else ""),
                    "; ".join(", ".join(f"{v:.0f}" for v in each) for each in of["quarters"]),
                    f"{of['effective'][0]:.1f}, {np.nanmedian(of['effective'][1:]):.1f}",
                    f"{of['r_hat'][0]:.2f}, {np.nanmedian(of['r_hat'][1:]):.2f}",
                ]
            )
    header = ["set", "trajectories", "sweeps", "gradient moves (accepted)"]
    header += ["log evidence or likelihood, by quarters, each chain"]
    return markdown([*header, "effective samples: evidence, probes", "R-hat: both"], lines)


def legend(records: Sequence[Record], options: argparse.Namespace) -> str:
    """How the table was measured."""
    rows = ", ".join(f"{name} {n}" for name, n in {r["set"]: r["rows"] for r in records}.items())
    where = "" if options.device == "cpu" else f" and {options.device}"
    return (
        f"M = {options.frequencies}, rows: {rows}; {options.chains} chains of each kind, each from "
        f"the state that the default schedule reached in {options.warm:g} s, then "
        f"{options.seconds:g} s for each kind, in turn on one core{where} "
        f"({processors(records)}). Effective samples of a chain, counted over all chains; of the "
        f"probes, medians of {PROBES}."
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = study_parser(__doc__, "lengths", "bike,eeg", "chains", cores_per_job=None)
    parser.add_argument("--chains", type=int, default=2, help="of each kind")
    parser.add_argument("--warm", type=float, default=150.0, help="seconds of a warm-up")
    parser.add_argument("--seconds", type=float, default=200.0, help="of each chain")
    parser.add_argument("--lengths", default="24,96", help="steps of trajectories")
    parser.add_argument("--device", default="cpu")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure what has not been measured, and write the table."""
    options = parse(arguments)
    lengths = [int(n) for n in options.lengths.split(",")]
    begun, cells = [], []
    for chain in range(options.chains):
        for name in options.sets.split(","):
            facts = {"name": name, "chain": chain, "M": options.frequencies}
            facts |= {"rows": options.rows, "device": options.device}
            first = Cell(
                f"warm-{name}-{chain}",
                "mixing:warm_up",
                facts | {"warm": options.warm},
                keep=(BEGUN,),
                at_most=options.warm,
            )
            begun.append(first)
            facts |= {"begins": str(first.path(options.work).with_suffix(BEGUN))}
            facts |= {"lengths": lengths, "seconds": options.seconds}
            at_most = (1 + len(lengths)) * options.seconds
            cells.append(Cell(f"{name}-{chain}", "lengths:measure", facts, at_most=at_most))
    measured(begun, options, called="warm-ups")
    records = measured(cells, options)
    found = {
        name: found_in([r for r in records if r["set"] == name])
        for name in dict.fromkeys(r["set"] for r in records)
    }
    if records:
        publish(options.out, table(found), legend(records, options), found)
    return found


if __name__ == "__main__":
    main()
