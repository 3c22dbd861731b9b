"""How fast the default schedule mixes beside the paper's move: effective samples per second.

A chain that still climbs has no effective sample size worth the name. So the default schedule first
warms up for --warm seconds, adapting as it does in a fit with so long a warm-up; from the state
that it reached, it goes on with what warm-up chose for it, and beside it the paper's move (jumps
alone: no exchange, local move, switch, interweaving or gradient, no rescaling of a classifier's
weights). Both have --seconds of their own, in turn, on one core. Several such pairs, each from a
warm-up with another seed, are the chains over which effective samples are counted. Nobody measures
the warm-ups, so that more of them may share a machine (--warm-jobs), and they may come in parts
(--warm 300,200), each of which goes on from the frequencies where the one before it ended; weights
of a classifier begin anew there.

jumps   the paper's move on this package's engine: all proposals of a sweep in one data pass
paper   the paper's algorithm. In classification its joint move of a frequency and its weights, a
        chain of its own. In regression low-rank updates, one frequency at a time (`low_rank.py`):
        its decisions are those of jumps, and only the time of a sweep is measured, at the chain's
        end. Its effective samples are not those of jumps by the ratio of these times: in the same
        seconds it makes fewer sweeps, and the fewest that a count can give are the same for both

Watched are the log evidence (log likelihood in classification) and the latent mean (in
classification the latent function drawn) at 20 rows that are kept out of the training rows. Three
counts, for chains that have not all been everywhere:

all chains   the usual count, with the spread between chains in it: the least of them, and
             the same for any two samplers whose chains have not met
each chain   the sum of what every chain counts for itself: too much for a chain that has hardly
             moved, since it takes its own small spread for the whole
as far       seconds in which half the squared distance is 0.1, 0.25 and 0.5 of the larger variance
             that the chains of a pair have shown, and their ratios (`travel.py`): those of
             effective samples if all that moves is moved so many times as fast, with no law
             assumed. A dash where fewer than half of the probes went so far, or did so in one
             sweep. A chain that climbs gains

In brackets behind each rate are the effective samples of a chain. About one is the least that any
of these counts gives, however slow a chain is: where one of the two has fewer than ENOUGH their
ratio depends on how long they were watched, and is not set in bold.

Beside them is the variance that chains of a schedule have shown, as a share of the larger of a
pair: the mean of the pairs and, of the probes, the median.

All of it on 16 cores, in 10 minutes; what was measured is kept in --work:

    python benchmarks/mixing.py --jobs 12 --chains 4 --warm 150 --seconds 170 --within 595 \
        --work DIR [--sets noise,bike,eeg] [--out DIR/mixing.md]

With --device cuda, default and jumps of each pair have one core and the pairs share a GPU: many
more sweeps, so that chains come nearer to what they sample. The paper's algorithm is left out.
Processes take turns on a GPU unless NVIDIA's MPS is at work (`nvidia-cuda-mps-control -d`).

    python benchmarks/mixing.py --device cuda --warm-jobs 12 --jobs 3 --chains 4 --warm 500 \
        --seconds 100 --work DIR [--out benchmarks/results/mixing-gpu.md]

With --together the pairs of a set share the first part of their warm-up, and go ways of their own
from the second on. Independent warm-ups may end in modes that no schedule leaves: then effective
samples count the modes, one for each chain, and say nothing of how fast a chain moves in its own.
Chains that have been together are counted over one mode, which both schedules know from the default
schedule's warm-up. How far apart modes are is what the table without it says.

    python benchmarks/mixing.py --device cuda --together --warm 280,200 --warm-jobs 12 --jobs 4 \
        --seconds 165 --work DIR

With --gradient-every 4 the schedule beside jumps makes a gradient move in every fourth sweep,
whatever the default would choose, in warm-up and after it; its table is mixing-gradients.md.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from chains import Course, Problem, drawn_weights, in_turn, mean_weights, prepare
from low_rank import LowRank, spread_places
from mixing_rates import ENOUGH, rates, table
from numpy.typing import NDArray
from studies import measured, processors, publish, study_parser
from study_sets import study_rows, task_of
from travel import SHARES

from banklearn.experiments.cells import Cell, Record
from banklearn.experiments.one_fold import compile_first
from banklearn.model.joint import State
from banklearn.numerics.linalg import JitterCount
from banklearn.numerics.streams import Streams
from banklearn.sampler import gradient, joint_move, precision, sweep
from banklearn.sampler.frequencies import Moves, propose
from banklearn.sampler.run import WARMUP_SHARE, Plan, growing_stages, run_chain
from banklearn.sampler.sweep import Chain, Tuning

Array = NDArray[np.float64]

PROBES = 20
#: Frequencies that the low-rank algorithm decides on while it is timed, and how often.
COUNT, TIMES = 24, 3
#: Time ends what comes after warm-up.
ENDLESS = 1_000_000
#: Turns that the two take.
SLICES = 8
#: Ending of the file that a warm-up leaves.
BEGUN = ".pickle"


def posed(name: str, M: int, rows: int | None, device: str, gradient_every: int | str) -> Problem:
    """The training rows of a set but the last, which are its probes."""
    data = study_rows(name, rows)
    compile_first("bank", data.task)
    X, y, probes = data.X[:-PROBES], data.y[:-PROBES], data.X[-PROBES:]
    return prepare(data.task, X, y, probes, M, device, gradient_every)


def warm_up(
    name: str,
    chain: int,
    warm: float,
    M: int,
    rows: int | None,
    device: str = "cpu",
    gradient_every: int | str = "auto",
    begins: str | None = None,
) -> Record:
    """Where one pair of chains begins, as a file: state, weights, tuning and number of sweeps.

    begins: the file of a warm-up to go on from.
    """
    problem, before, done = posed(name, M, rows, device, gradient_every), None, 0
    if begins is not None:
        *before, done = pickle.loads(Path(begins).read_bytes())
    streams = Streams(1 + done, chain)
    begun, tuning, made = warmed(problem, streams, warm, before)
    content = pickle.dumps((begun.state, begun.beta, tuning, done + made))
    return {"set": name, "chain": chain, "sweeps": done + made, "files": {BEGUN: writing(content)}}


def writing(content: bytes) -> Callable[[Path], None]:
    """What writes a file."""

    def write(path: Path) -> None:
        path.write_bytes(content)

    return write


def going_on(problem: Problem, state: State, beta: Array | None, at: int) -> Chain:
    """The chain of a state and weights; Polya-Gamma variables are drawn anew in every sweep."""
    engine, model, streams = problem.engine, problem.model, Streams(1)
    gram = sweep.statistic(engine, model, state, beta, streams, at)
    solved = precision.solve(gram, state.lam, model.likelihood, JitterCount())
    return Chain(state, gram, solved, beta)


def warmed(
    problem: Problem, streams: Streams, seconds: float, begun: Sequence[Any] | None = None
) -> tuple[Chain, Tuning, int]:
    """The chain and tuning after a warm-up of some seconds and a sweep, and the number of sweeps.

    It goes on from the state and tuning of a warm-up that has begun, if one has.
    """
    engine, model = problem.engine, problem.model
    if begun is None:
        start, tuning = problem.starting(streams), problem.tuning
        *stages, _ = growing_stages(engine.n_rows, problem.n_warmup)
    else:
        start, _, tuning = begun
        tuning, stages = replace(tuning, gradient=gradient.warier(tuning.gradient)), []
    stages = (*stages, (engine.n_rows, ENDLESS))
    plan = Plan(ENDLESS, 1, max_time=seconds / WARMUP_SHARE, stages=stages)
    run = run_chain(engine, model, start, plan, streams, lambda link, _: link, tuning, sweep)
    return run.draws[-1], run.tuning, len(run.trace)


def papers(tuning: Tuning) -> Tuning:
    """The paper's move and no other that there is, with the step of lam that warm-up found."""
    off = {"gradient_every": 0, "pace": None, "interweave_every": 0, "rescale": False}
    known = {field.name for field in fields(tuning)}
    others = {name: value for name, value in off.items() if name in known}
    return replace(tuning, moves=Moves(jump=1.0, switch=0.0), **others)


def measure(
    name: str,
    chain: int,
    begins: str,
    seconds: float,
    M: int,
    rows: int | None,
    device: str = "cpu",
    gradient_every: int | str = "auto",
) -> Record:
    """One pair of chains: what was watched in every sweep, and when. begins: file of a warm-up."""
    problem = posed(name, M, rows, device, gradient_every)
    state, beta, tuning, at = pickle.loads(Path(begins).read_bytes())
    begun = going_on(problem, state, beta, at)
    weights = mean_weights if begun.beta is None else drawn_weights
    courses = {
        "default": Course(problem, sweep, tuning, begun, Streams(2, chain), at, weights),
        "jumps": Course(problem, sweep, papers(tuning), begun, Streams(3, chain), at, weights),
    }
    low_rank, beside_paper = None, device == "cpu"
    if begun.beta is not None and beside_paper:
        joint = joint_move.place(problem.engine, problem.model, begun.state, begun.beta)
        streams = Streams(4, chain)
        courses["paper"] = Course(problem, joint_move, papers(tuning), joint, streams, at, weights)
    in_turn(courses.values(), seconds, SLICES)
    if begun.beta is None and beside_paper:
        low_rank = low_rank_seconds(problem, courses["jumps"].chain)
    return {
        "set": name,
        "rows": problem.engine.n_rows,
        "chain": chain,
        "warm_sweeps": at,
        "low_rank_seconds": low_rank,
        "gradient_steps": tuning.gradient.steps,
        "gradient_acceptance": courses["default"].flights,
        "values": {label: course.values for label, course in courses.items()},
        "ends": {label: course.ends for label, course in courses.items()},
    }


def low_rank_seconds(problem: Problem, chain: Chain) -> float:
    """Time of a whole sweep of the paper's algorithm, the median of a few."""
    state, rng = chain.state, np.random.default_rng(0)
    W_star = propose(state, np.ones(state.M), rng)
    form = problem.model.likelihood.accept_form(chain.gram)
    engine, count = problem.engine, min(COUNT, state.M)
    places, trend = spread_places(state.M, count), problem.model.trend
    reference = LowRank(engine.X, engine.y, state.W, state.lam, trend, *form, places=places)
    spent = []
    for _ in range(1 + TIMES):
        begin = time.perf_counter()
        reference.sweep(W_star, np.log(rng.random(state.M)), count)
        spent.append(time.perf_counter() - begin)
    return float(np.median(spent[1:])) * state.M / count


def common(name: str, chain: int, options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of a warm-up and of the pair that begins there."""
    arguments = {"name": name, "chain": chain, "M": options.frequencies, "rows": options.rows}
    arguments["device"] = options.device
    if options.gradient_every is not None:
        arguments["gradient_every"] = options.gradient_every
    return arguments


def warm_cells(name: str, chain: int, options: argparse.Namespace) -> list[Cell]:
    """The parts of the warm-up of one pair; the first one is the first pair's if all share it."""
    cells: list[Cell] = []
    for part, seconds in enumerate(options.warm):
        own = chain if part or not options.together else 0
        arguments = common(name, own, options) | {"warm": seconds}
        if cells:
            arguments["begins"] = left_by(cells[-1], options)
        label = f"warm-{name}-{own}" + (f"-{part}" if part else "")
        cells.append(Cell(label, "mixing:warm_up", arguments, keep=(BEGUN,), at_most=seconds))
    return cells


def left_by(cell: Cell, options: argparse.Namespace) -> str:
    """The file that a warm-up leaves."""
    return str(cell.path(options.work).with_suffix(BEGUN))


def cell(name: str, chain: int, options: argparse.Namespace) -> Cell:
    """The measurement of one pair."""
    arguments = common(name, chain, options) | {"seconds": options.seconds}
    arguments["begins"] = left_by(warm_cells(name, chain, options)[-1], options)
    three = task_of(name) == "classification" and options.device == "cpu"
    cost, at_most = (2.0, 3.0 * options.seconds) if three else (1.0, 2.0 * options.seconds)
    return Cell(f"mixing-{name}-{chain}", "mixing:measure", arguments, cost=cost, at_most=at_most)


def beside_jumps(options: argparse.Namespace) -> str:
    """What the schedule beside jumps is called."""
    return "default" if options.gradient_every is None else "gradients"


def legend(records: Sequence[Record], options: argparse.Namespace) -> str:
    """How the table was measured."""
    chains = len({r["chain"] for r in records})
    forced = options.gradient_every
    how = "" if forced is None else f" with gradient_every={forced}"
    order = f"{beside_jumps(options).capitalize()}, jumps only"
    if options.device == "cpu":
        gpu, shared, order = "", "", f"{order} and the paper's algorithm"
    else:
        gpu = f" and {options.device}, shared by {options.jobs} pairs"
        shared = f" ({options.warm_jobs or options.jobs} at a time)"
    once = f", the first {options.warm[0]:g} s together" if options.together else ""
    return (
        f"M = {options.frequencies}, {chains} pairs of chains, each from the state that the "
        f"default schedule{how} reached in {sum(options.warm):g} s{shared}{once}, then "
        f"{options.seconds:g} s for each, in turn on one core{gpu} ({processors(records)}). "
        f"{order} in each row; of the probes, the median of {PROBES} rates and the largest R-hat. "
        "In brackets: effective samples of a chain; ratios in bold where both have "
        f"{ENOUGH:g} or more. "
        "Variance: that which the chains showed, by the larger of a pair. "
        f"As far: seconds to {', '.join(map(str, SHARES))} of the variance, and ratios."
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = study_parser(__doc__, "mixing", "noise,bike,eeg", "pairs", cores_per_job=None)
    parser.add_argument("--chains", type=int, default=4, help="pairs of chains")
    parser.add_argument("--warm", default="150", help="seconds of warm-up of a pair, in parts")
    parser.add_argument("--together", action="store_true", help="share the first part of it")
    parser.add_argument("--warm-jobs", type=int, help="warm-ups at a time; as many as pairs")
    parser.add_argument("--seconds", type=float, default=170.0, help="of each chain of a pair")
    parser.add_argument("--device", default="cpu", help="cuda: without the paper's algorithm")
    parser.add_argument("--gradient-every", type=int, help="sweeps; unless the default decides")
    given = parser.parse_args(arguments)
    given.warm = [float(part) for part in given.warm.split(",")]
    if given.together and len(given.warm) < 2:
        parser.error("--together needs a warm-up of two parts, for example --warm 280,200")
    if given.device == "auto":
        parser.error("--device auto could be either; name cpu or a GPU")
    if given.out == parser.get_default("out"):
        forced = "" if given.gradient_every is None else "-gradients"
        gpu = "" if given.device == "cpu" else "-gpu"
        together = "-together" if given.together else ""
        given.out = given.out.with_stem(f"mixing{forced}{gpu}{together}")
    return given


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure what has not been measured, and write the table."""
    options = parse(arguments)
    pairs = [(s, c) for c in range(options.chains) for s in options.sets.split(",")]
    ends = None if options.within is None else time.monotonic() + options.within
    for part in range(len(options.warm)):
        cells = [warm_cells(*pair, options)[part] for pair in pairs]
        measured(cells, options, options.warm_jobs, "warm-ups")
        there = [Path(left_by(warm, options)).exists() for warm in cells]
        pairs = [pair for pair, begun in zip(pairs, there, strict=True) if begun]
        options.within = None if ends is None else max(ends - time.monotonic(), 0.0)
    records = measured([cell(*pair, options) for pair in pairs], options)
    found = {}
    for name in dict.fromkeys(r["set"] for r in records):
        found[name] = rates([r for r in records if r["set"] == name], options.seconds)
    if records:
        text = table(found, beside_jumps(options))
        publish(options.out, text, legend(records, options), found)
    return found


if __name__ == "__main__":
    main()
