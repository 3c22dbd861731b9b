"""Adversarial examples by the ten thousand, several processes at work.

    python benchmarks/campaign.py --examples 10000 --files 20000 --jobs 16 --out campaign.md

Examples for each estimator, and model files that are damaged, altered or invented
(``fuzz_model_file.py``). They come in shares, each with a seed of its own in a process of its own.
Every share that ends is added to a record beside the summary; the same command goes on from there,
as long as the code is the same. With --seconds no share begins after that time, and the summary
says what is missing; records of several machines (--seed says where each begins) may be put one
after the other. A failure prints the smallest example that Hypothesis found; it belongs into
``tests/estimators/test_adversarial.py``, a file into ``tests/storage/corpus``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FILE = "tests/estimators/test_adversarial.py"
TESTS = {
    "BankRegressor": "test_a_regressor_answers_or_refuses",
    "BankClassifier": "test_a_classifier_answers_or_refuses",
    "BankFeatures": "test_features_answer_or_refuse",
}
#: Those whose examples may have classes.
CLASSIFIERS = ("BankClassifier", "BankFeatures")
#: Not tests but a script: files that look like models.
FILES = "model files"
FUZZ = ROOT / "benchmarks" / "fuzz_model_file.py"


def fingerprint() -> str:
    """A digest of the package and of the examples' law."""
    digest = hashlib.sha256()
    helpers = [ROOT / FILE, ROOT / "tests" / "adversarial.py", ROOT / "tests" / "words.py", FUZZ]
    for file in [*sorted((ROOT / "src").rglob("*.py")), *helpers]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def environment_of(**more: str) -> dict[str, str]:
    """One thread, and the package of this tree."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMBA")}
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(path for path in paths if path)
    return os.environ | threads | {"PYTHONPATH": path} | more


def run_share(name: str, seed: int, examples: int) -> tuple[bool, str, dict[str, Any]]:
    """One process with its share: whether it passed, what it said, and what it counted."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "outcomes.json"
        if name == FILES:
            command = [sys.executable, FUZZ, f"--cases={examples}", f"--seed={seed}", "--out", out]
            environment = environment_of()
        else:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
            command += ["--timeout=7200", f"--hypothesis-seed={seed}", f"{FILE}::{TESTS[name]}"]
            environment = environment_of(
                BANKLEARN_PROFILE="campaign",
                BANKLEARN_EXAMPLES=str(examples),
                BANKLEARN_OUTCOMES=str(out),
            )
        answer = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        counted = json.loads(out.read_text()) if out.exists() else {}
    return answer.returncode == 0, answer.stdout + answer.stderr, counted


def read_record(path: Path | None, code: str) -> list[dict[str, Any]]:
    """Shares that ended with the same code."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:  # the line at which a run was cut
            continue
        if row["code"] == code:
            rows.append(row)
    return rows


def shares(rows: list[dict[str, Any]], name: str) -> str:
    """Two cells of the table for an estimator.

    What share of the examples ended with an error in words, and in what share of the others the
    classes stood in a tree that is no stick.
    """
    count = Counter[str]()
    for row in rows:
        if row["name"] == name:
            count.update({key: row.get(key, 0) for key in ("answered", "refused", "trees")})
    tried, answered = count["answered"] + count["refused"], count["answered"]
    refused = f"{count['refused'] / tried:.0%}" if tried else ""
    trees = f"{count['trees'] / answered:.0%}" if answered and name in CLASSIFIERS else ""
    return f"{refused} | {trees}"


def summary(rows: list[dict[str, Any]], wanted: dict[str, int]) -> str:
    """Markdown, one line for each estimator, and one for model files."""
    done: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    for row in rows:
        done[row["name"]] += row["examples"]
        failed[row["name"]] += not row["passed"]
        seconds[row["name"]] += row["seconds"]
        outcomes.update(row.get("outcomes", {}))
    lines = [
        "| what | examples | of | refused | of the others in a tree | shares that failed "
        "| seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {name} | {done[name]} | {most} | {shares(rows, name)} | {failed[name]} "
        f"| {seconds[name]:.0f} |"
        for name, most in wanted.items()
    ]
    if outcomes:
        told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
        memory = max(row.get("memory", 0) for row in rows) / 2**20
        lines += ["", f"Of the model files {told}; most memory for one of them: {memory:.1f} MiB."]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=10_000, help="for each estimator")
    parser.add_argument("--files", type=int, default=0, help="model files")
    parser.add_argument("--share", type=int, default=250, help="examples for one process")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of the first share")
    parser.add_argument("--seconds", type=float, default=0.0, help="begin none after; 0: no end")
    parser.add_argument("--out", type=Path, help="the summary; the record goes beside it")
    options = parser.parse_args(arguments)
    deadline = time.monotonic() + (options.seconds or float("inf"))
    record: Path | None = None
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        record = options.out.with_suffix(".jsonl")
    code = fingerprint()
    rows = read_record(record, code)
    known = {(row["name"], row["seed"], row["examples"]) for row in rows}
    wanted = dict.fromkeys(TESTS, options.examples)
    if options.files:
        wanted[FILES] = options.files
    share = options.share
    plan = [
        (name, options.seed + i) for name, most in wanted.items() for i in range(-(-most // share))
    ]
    plan.sort(key=lambda item: item[1])  # a run that is cut has some of everything
    todo = [(name, seed) for name, seed in plan if (name, seed, share) not in known]

    def work(item: tuple[str, int]) -> None:
        name, seed = item
        begin = time.monotonic()
        if begin > deadline:
            return
        passed, text, counted = run_share(name, seed, share)
        row = {"code": code, "name": name, "seed": seed, "examples": share}
        row |= {"passed": passed, "seconds": time.monotonic() - begin, **counted}
        rows.append(row)
        print(f"{name}, seed {seed}: {'passed' if passed else 'FAILED'}", flush=True)
        if not passed:
            print(text, flush=True)
        if record:
            with record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, todo))
    text = summary(rows, wanted)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    done = {(row["name"], row["seed"], row["examples"]) for row in rows}
    complete = all((name, seed, share) in done for name, seed in plan)
    return 0 if complete and all(row["passed"] for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
