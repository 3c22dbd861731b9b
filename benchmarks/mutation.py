"""Mutation testing of model/ and sampler/: Cosmic Ray changes the code, the tests must notice.

    python benchmarks/mutation.py --plan .mutation/plan.json --sample 400   (needs cosmic-ray)
    python benchmarks/mutation.py --run .mutation/plan.json --jobs 16       (needs only pytest)

Cosmic Ray's operators are applied at every place they fit, one change at a time, one of the
possible replacements drawn per place; a random sample of these runs in copies of the tree. Without
--plan or --run both steps follow each other.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path

from planting import ROOT, Job, run_jobs

PACKAGE = ROOT / "src" / "banklearn"
LAYERS = ("model", "sampler")
#: Annotations are never evaluated, so their `|` can be anything.
SKIPPED = ("BitOr", "NoOp", "RemoveDecorator")

#: Tests of a module besides those of its own name; quick and exact ones first.
TESTS = {
    "model/dirichlet_process.py": ("tests/model/test_dirichlet_process.py",),
    "model/evidence.py": ("tests/model/test_evidence.py", "tests/gram"),
    "model/features.py": ("tests/model/test_kernel.py", "tests/gram"),
    "model/generative.py": ("tests/model/test_joint.py", "tests/sampler/test_sweep.py"),
    "model/joint.py": ("tests/model/test_joint.py", "tests/sampler/test_conditionals.py"),
    "model/kernel.py": ("tests/model/test_kernel.py",),
    "model/laplace.py": ("tests/model/test_laplace.py",),
    "model/niw.py": ("tests/model/test_niw.py", "tests/sampler/test_conditionals.py"),
    "model/priors.py": ("tests/model/test_joint.py", "tests/sampler/test_conditionals.py"),
    "sampler/accept.py": ("tests/sampler/test_accept.py",),
    "sampler/assignments.py": (
        "tests/sampler/test_assignments.py",
        "tests/sampler/test_conditionals.py",
    ),
    "sampler/components.py": ("tests/sampler/test_conditionals.py",),
    "sampler/concentration.py": ("tests/sampler/test_conditionals.py",),
    "sampler/frequencies.py": (
        "tests/sampler/test_frequencies.py",
        "tests/sampler/test_conditionals.py",
    ),
    "sampler/gradient.py": ("tests/sampler/test_gradient.py", "tests/sampler/test_sweep.py"),
    "sampler/halving.py": ("tests/sampler/test_accept.py",),
    "sampler/interweave.py": (
        "tests/sampler/test_interweave.py",
        "tests/sampler/test_sweep.py",
    ),
    "sampler/switch.py": ("tests/sampler/test_switch.py", "tests/sampler/test_sweep.py"),
    "sampler/joint_move.py": (
        "tests/sampler/test_joint_move.py",
        "tests/sampler/test_classification_sweep.py",
    ),
    "sampler/precision.py": ("tests/sampler/test_conditionals.py", "tests/sampler/test_sweep.py"),
    "sampler/run.py": ("tests/sampler/test_run.py", "tests/estimators/test_regressor_results.py"),
    "sampler/scales.py": ("tests/sampler/test_conditionals.py",),
    "sampler/start.py": ("tests/sampler/test_start.py",),
    "sampler/sweep.py": (
        "tests/sampler/test_sweep.py",
        "tests/sampler/test_classification_sweep.py",
        "tests/sampler/test_run.py",
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
        if text is not None and text != source:
            (line, column), _ = position  # type: ignore[misc]
            out.append((f"{name.partition('/')[2]} at {line}:{column}", text))
    return out


def make_plan(path: Path, sample: int, seed: int, only: str) -> None:
    """Write a random sample of all changes to a file."""
    rng = random.Random(seed)
    plan = []
    for layer in LAYERS:
        for module in sorted((PACKAGE / layer).glob("*.py")):
            file = f"{layer}/{module.name}"
            if file in TESTS and only in file:
                plan += [{"file": file, "what": w, "text": t} for w, t in changes(module, rng)]
    print(f"{len(plan)} places for a change in {', '.join(LAYERS)}")
    if 0 < sample < len(plan):
        plan = rng.sample(plan, sample)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(plan), encoding="utf-8")


def run_plan(path: Path, jobs: int) -> float:
    """Run a plan; the share that tests noticed."""
    plan = json.loads(path.read_text(encoding="utf-8"))
    work = [Job(item["what"], TESTS[item["file"]], item["file"], item["text"]) for item in plan]
    killed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for job, caught_by, seconds in run_jobs(work, jobs):
        total[job.file] += 1
        killed[job.file] += bool(caught_by)
        print(f"{seconds:6.1f} s  {job.file} {job.label}: {caught_by or 'SURVIVED'}", flush=True)
    print("\n| module | changes | noticed |\n|---|---|---|")
    for file in sorted(total):
        print(f"| `{file}` | {total[file]} | {killed[file]} |")
    share = sum(killed.values()) / max(sum(total.values()), 1)
    print(f"\n{sum(killed.values())} of {sum(total.values())} noticed: {100 * share:.1f} %")
    return share


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plan", type=Path, help="only write the changes to this file")
    parser.add_argument("--run", type=Path, help="only run the changes of this file")
    parser.add_argument("--sample", type=int, default=300, help="how many changes; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--only", default="", help="modules whose path contains this")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    plan = options.run or options.plan or ROOT / ".mutation" / "plan.json"
    if not options.run:
        make_plan(plan, options.sample, options.seed, options.only)
    if options.plan:
        return 0
    return 0 if run_plan(plan, options.jobs) >= 0.9 else 1


if __name__ == "__main__":
    raise SystemExit(main())
