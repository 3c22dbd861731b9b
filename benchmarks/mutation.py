"""Mutation testing of model/ and sampler/: Cosmic Ray changes the code, the tests must notice.

    python benchmarks/mutation.py --plan .mutation/plan.json --sample 400   (needs cosmic-ray)
    python benchmarks/mutation.py --run .mutation/plan.json --jobs 16       (needs only pytest)

Cosmic Ray's operators are applied at every place they fit, one change at a time, one of the
possible replacements drawn per place; a random sample of these runs in copies of the tree. Without
--plan or --run both steps follow each other. The tests of each module run first on the code as it
is: where they fail, or take longer than a change may, no change is tried. Each outcome is added to
--record, from which the same command goes on as long as package and tests are the same; machines
that share a plan (--part 1/2) put their records one after the other. The run fails where changes
were not run or fewer than nine of ten were noticed. Changes that change nothing are judged one by
one, with the reason, in `equivalent.toml` beside this script; they are reported apart and count
neither way.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import random
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from planting import (
    ROOT,
    SECONDS,
    Job,
    Result,
    add_to_record,
    digest,
    part_of,
    processor_minutes,
    read_record,
    run_jobs,
)

PACKAGE = ROOT / "src" / "banklearn"
LAYERS = ("model", "sampler")
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
#: Operators that are not used. Annotations are never evaluated, so their `|` can be anything; NoOp
#: changes nothing; a class or property without its decorator fails wherever it is used.
SKIPPED = ("BitOr", "NoOp", "RemoveDecorator")
#: A guard for lengths that are equal by construction: without it the same happens.
GUARD = "strict=True"

#: Modules that compute nothing: descriptions, and the table of equations.
LEFT_OUT = ("model/__init__.py", "model/equations.py", "sampler/__init__.py")
#: Tests that every change has to pass, before those of its module.
EVERYWHERE = ("tests/architecture/test_frozen.py",)
#: Tests of a module, quick and exact ones first.
TESTS = {
    "model/class_tree.py": ("tests/model/test_class_tree.py",),
    "model/dirichlet_process.py": ("tests/model/test_dirichlet_process.py",),
    "model/evidence.py": ("tests/model/test_evidence.py", "tests/gram"),
    "model/features.py": ("tests/model/test_kernel.py", "tests/gram"),
    "model/generative.py": ("tests/model/test_generative.py", "tests/model/test_joint.py"),
    "model/joint.py": ("tests/model/test_joint.py", "tests/sampler/test_conditionals.py"),
    "model/kept_features.py": ("tests/gram/test_kept_features.py",),
    "model/kernel.py": ("tests/model/test_kernel.py",),
    "model/laplace.py": ("tests/model/test_laplace.py",),
    "model/niw.py": ("tests/model/test_niw.py", "tests/sampler/test_conditionals.py"),
    "model/priors.py": ("tests/model/test_joint.py", "tests/sampler/test_conditionals.py"),
    "sampler/accept.py": (
        "tests/sampler/test_halving.py",
        "tests/sampler/test_accept.py",
        "tests/engines/test_device.py",
    ),
    "sampler/assignments.py": (
        "tests/sampler/test_assignments.py",
        "tests/sampler/test_conditionals.py",
    ),
    "sampler/components.py": ("tests/sampler/test_conditionals.py",),
    "sampler/concentration.py": ("tests/sampler/test_conditionals.py",),
    "sampler/frequencies.py": (
        "tests/sampler/test_adapt.py",
        "tests/sampler/test_frequencies.py",
        "tests/sampler/test_conditionals.py",
    ),
    "sampler/aloft.py": ("tests/sampler/test_aloft.py",),
    "sampler/gradient.py": (
        "tests/sampler/test_adapt.py",
        "tests/sampler/test_gradient.py",
        "tests/sampler/test_sweep.py",
        "tests/sampler/test_aloft.py",
    ),
    "sampler/leapfrog.py": ("tests/sampler/test_gradient.py", "tests/sampler/test_aloft.py"),
    "sampler/target.py": (
        "tests/sampler/test_gradient.py",
        "tests/gram/test_kept_features.py",
        "tests/sampler/test_aloft.py",
    ),
    "sampler/halving.py": ("tests/sampler/test_halving.py", "tests/sampler/test_accept.py"),
    "sampler/interweave.py": (
        "tests/sampler/test_adapt.py",
        "tests/sampler/test_interweave.py",
        "tests/sampler/test_interweave_path.py",
        "tests/sampler/test_sweep.py",
    ),
    "sampler/decisions.py": ("tests/sampler/test_info.py", "tests/sampler/test_adapt.py"),
    "sampler/exchange.py": ("tests/sampler/test_exchange.py", "tests/sampler/test_info.py"),
    "sampler/footing.py": ("tests/sampler/test_rounding.py",),
    "sampler/rounding.py": ("tests/sampler/test_rounding.py",),
    "sampler/switch.py": ("tests/sampler/test_switch.py", "tests/sampler/test_sweep.py"),
    "sampler/job.py": (
        "tests/estimators/test_regressor_results.py",
        "tests/estimators/test_spreading.py",
    ),
    "sampler/joint_move.py": (
        "tests/sampler/test_joint_move.py",
        "tests/sampler/test_classification_sweep.py",
    ),
    "sampler/ascent.py": ("tests/estimators/test_polish.py",),
    "sampler/pilots.py": ("tests/sampler/test_pilots.py",),
    "sampler/schedule.py": ("tests/sampler/test_schedule.py",),
    "sampler/precision.py": (
        "tests/sampler/test_precision.py",
        "tests/sampler/test_conditionals.py",
        "tests/sampler/test_sweep.py",
    ),
    "sampler/rescale.py": (
        "tests/sampler/test_rescale.py",
        "tests/sampler/test_classification_sweep.py",
    ),
    "sampler/run.py": (
        "tests/sampler/test_run_path.py",
        "tests/sampler/test_run.py",
        "tests/storage/test_resume_chain.py",
        "tests/estimators/test_regressor_results.py",
    ),
    "sampler/scales.py": ("tests/sampler/test_conditionals.py",),
    "sampler/start.py": ("tests/sampler/test_start.py", "tests/sampler/test_addresses.py"),
    "sampler/sweep.py": (
        "tests/sampler/test_adapt.py",
        "tests/sampler/test_near_mode.py",
        "tests/sampler/test_info.py",
        "tests/likelihoods/test_logistic.py::test_a_chain_starts_near_the_mode_of_its_weights",
        "tests/sampler/test_sweep.py",
        "tests/sampler/test_interweave_path.py",
        "tests/sampler/test_classification_sweep.py",
        "tests/sampler/test_run.py",
        "tests/sampler/test_addresses.py",
    ),
}


def changes(path: Path, rng: random.Random) -> list[tuple[str, str]]:
    """(what, mutated source) for every place that an operator fits."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    source = path.read_text(encoding="utf-8")
    tree = get_ast(source)
    places: dict[tuple[object, str], list[tuple[str, int]]] = {}
    for name in operator_names():
        operator = get_operator(name)
        if operator.arguments() or any(word in name for word in SKIPPED):
            continue
        found = (p for node in ast_nodes(tree) for p in operator().mutation_positions(node))
        for occurrence, position in enumerate(found):
            family = name.partition("_")[0]
            places.setdefault((position, family), []).append((name, occurrence))
    out = []
    for (position, _), options in places.items():
        name, occurrence = rng.choice(options)
        text = mutate_code(source, get_operator(name)(), occurrence)
        if text is not None and text != source and text.count(GUARD) == source.count(GUARD):
            (line, column), _ = position  # type: ignore[misc]
            out.append((f"{name.partition('/')[2]} at {line}:{column}", text))
    return out


def changed_lines(before: str, after: str) -> tuple[str, str]:
    """What differs between two sources: the lines as they were, and as they are."""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))
    old = " ".join(line[1:].strip() for line in lines[2:] if line.startswith("-"))
    new = " ".join(line[1:].strip() for line in lines[2:] if line.startswith("+"))
    return old, new


def modules(only: str) -> list[str]:
    """The modules to change; ValueError where one is not known, so that none is passed over."""
    files = [
        f"{layer}/{module.name}" for layer in LAYERS for module in (PACKAGE / layer).glob("*.py")
    ]
    unknown = sorted(set(files) - set(TESTS) - set(LEFT_OUT))
    if unknown:
        raise ValueError(
            f"No tests are named for {', '.join(unknown)}; add them to TESTS in "
            "benchmarks/mutation.py, or the module to LEFT_OUT if it computes nothing."
        )
    return sorted(file for file in files if file in TESTS and only in file)


def make_plan(path: Path, sample: int, seed: int, only: str) -> None:
    """Write a random sample of all changes to a file."""
    rng = random.Random(seed)
    plan = []
    for file in modules(only):
        module = PACKAGE / file
        source = module.read_text(encoding="utf-8")
        for what, text in changes(module, rng):
            old, new = changed_lines(source, text)
            row = {"file": file, "what": what, "old": old, "new": new, "text": text}
            plan.append(row | {"of": digest_of(source)})
    print(f"{len(plan)} places for a change in {', '.join(LAYERS)}")
    if 0 < sample < len(plan):
        plan = rng.sample(plan, sample)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(plan), encoding="utf-8")


def digest_of(source: str) -> str:
    """What a plan remembers of a module that it changes."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def read_plan(path: Path) -> list[dict[str, str]]:
    """The changes of a plan; ValueError where a module is no longer what they were made of."""
    plan: list[dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    now = {
        file: digest_of((PACKAGE / file).read_text(encoding="utf-8"))
        for file in {item["file"] for item in plan}
    }
    stale = sorted({item["file"] for item in plan if item.get("of") != now[item["file"]]})
    if stale:
        raise ValueError(f"{path} was made of other code ({', '.join(stale)}); plan anew.")
    return plan


def job_of(item: dict[str, str]) -> Job:
    """A change and the tests that should notice it."""
    file = item["file"]
    return Job(f"{file} {item['what']}", EVERYWHERE + TESTS[file], file, item["text"])


def unchanged(items: list[dict[str, str]]) -> list[Job]:
    """The same tests on the code as it is, once for each module and within the same time."""
    return [
        Job(f"as it is: tests of {file}", EVERYWHERE + TESTS[file])
        for file in sorted({item["file"] for item in items})
    ]


def name_of(item: dict[str, str]) -> str:
    """A change's name in the record, another one when package or tests have changed."""
    return digest(job_of(item))


def interval(noticed: int, total: int) -> tuple[float, float]:
    """The exact 95 % interval (Clopper and Pearson, 1934) of the share that tests notice."""
    from scipy.stats import binomtest

    if not total:
        return 0.0, 1.0
    found = binomtest(noticed, total).proportion_ci(0.95, method="exact")
    return float(found.low), float(found.high)


def judged() -> dict[tuple[str, str, str], str]:
    """Why a change is none, by (file, line before, line after)."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["change"]
    return {(e["file"], e["old"], e["new"]): e["reason"] for e in entries}


def report(plan: list[dict[str, str]], found: dict[str, dict[str, Any]]) -> tuple[str, float]:
    """A table by module and the changes that no test noticed, and the share that was noticed."""
    killed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    same: Counter[str] = Counter()
    reasons, lines, missing = judged(), [], 0
    for item in plan:
        row = found.get(name_of(item))
        file = item["file"]
        if row is None:
            missing += 1
            continue
        reason = reasons.get((file, item["old"], item["new"]))
        if row["caught_by"] or reason is None:
            total[file] += 1
            killed[file] += bool(row["caught_by"])
        else:
            same[file] += 1
        if row["caught_by"] and reason is None:
            continue
        verdict = f"changes nothing: {reason}" if reason else "NOT NOTICED"
        if row["caught_by"]:
            verdict = f"noticed by {row['caught_by']}, although judged to change nothing ({reason})"
            verdict += ": strike that out"
        lines.append(
            f"- `{file}` {item['what']}: `{item['old']}` became `{item['new']}`: {verdict}"
        )
    out = ["| module | changes | noticed | that change nothing |", "|---|---|---|---|"]
    out += [f"| `{f}` | {total[f]} | {killed[f]} | {same[f]} |" for f in sorted(total | same)]
    share = killed.total() / max(total.total(), 1)
    out += ["", f"{killed.total()} of {total.total()} noticed: {100 * share:.1f} %"]
    low, high = interval(killed.total(), total.total())
    out[-1] += f" (95 % interval {100 * low:.1f} to {100 * high:.1f} %); besides "
    out[-1] += f"{same.total()} that change nothing."
    if missing:
        out[-1] += f" {missing} of the plan were not run."
    return "\n".join([*out, "", *sorted(lines)]) + "\n", share


def run_plan(path: Path, options: argparse.Namespace) -> int:
    """Run what is left of a plan; 0 where all of it was run and tests noticed enough."""
    deadline = time.monotonic() + (options.seconds or float("inf"))
    plan = read_plan(path)
    record: Path = options.record or path.with_suffix(".jsonl")
    found = read_record(record)
    part, parts = options.part
    mine = plan[part - 1 :: parts]

    def run(jobs: list[Job]) -> bool:
        """Run those that the record lacks; whether it has them all now."""
        todo = [job for job in jobs if digest(job) not in found]
        for result in run_jobs(todo, options.jobs, options.each, deadline) if todo else ():
            row = row_of(result)
            add_to_record(record, row)
            found[row["name"]] = row
            told = result.caught_by or ("SURVIVED" if result.job.file else "passed")
            print(f"{result.seconds:6.1f} s  {result.job.label}: {told}", flush=True)
        return all(digest(job) in found for job in jobs)

    sound = unchanged(mine)
    complete = run(sound)
    failing = [job for job in sound if found.get(digest(job), {}).get("caught_by")]
    for job in failing:
        print(f"{job.label}: {found[digest(job)]['caught_by']} fails without any change.")
    if failing:
        return 1
    complete = complete and run([job_of(item) for item in mine])
    text, share = report(plan, found)
    print(f"\n{text}\n{processor_minutes():.1f} processor minutes in this run")
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    if not complete:
        print("Not all of it was run; the same command goes on.")
    return 0 if complete and share >= 0.9 else 1


def row_of(result: Result) -> dict[str, Any]:
    """A line of the record."""
    job, caught_by, seconds = result
    row = {"name": digest(job), "label": job.label, "file": job.file, "caught_by": caught_by}
    return row | {"seconds": round(seconds, 1)}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plan", type=Path, help="only write the changes to this file")
    parser.add_argument("--run", type=Path, help="only run the changes of this file")
    parser.add_argument("--sample", type=int, default=300, help="how many changes; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--only", default="", help="modules whose path contains this")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.0, help="begin none after; 0: no end")
    parser.add_argument(
        "--each", type=int, default=SECONDS, help="of processor time for one change"
    )
    parser.add_argument("--part", type=part_of, default=(1, 1), help="of a plan, such as 1/2")
    parser.add_argument("--record", type=Path, help="outcomes so far; beside the plan if not given")
    parser.add_argument("--out", type=Path, help="where the table goes besides the screen")
    options = parser.parse_args(arguments)
    plan = options.run or options.plan or ROOT / ".mutation" / "plan.json"
    if not options.run:
        make_plan(plan, options.sample, options.seed, options.only)
    if options.plan:
        return 0
    return run_plan(plan, options)


if __name__ == "__main__":
    raise SystemExit(main())
