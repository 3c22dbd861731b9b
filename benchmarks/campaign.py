"""Adversarial examples for each estimator by the ten thousand, several processes at work.

    python benchmarks/campaign.py --examples 10000 --jobs 16 --out benchmarks/results/campaign.md

The examples come in shares, each with a seed of its own in a process of its own. Every share that
ends is added to a record beside the summary; the same command goes on from there, as long as the
code is the same. With --seconds no share begins after that time, and the summary says what is
missing. A failure prints the smallest example that Hypothesis found; it belongs into
``tests/estimators/test_adversarial.py``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
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


def fingerprint() -> str:
    """A digest of the package and of the examples' law."""
    digest = hashlib.sha256()
    helpers = [ROOT / FILE, ROOT / "tests" / "adversarial.py"]
    for file in [*sorted((ROOT / "src").rglob("*.py")), *helpers]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def run_share(test: str, seed: int, examples: int) -> tuple[bool, str]:
    """One process with its share of the examples of one test."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMBA")}
    environment = os.environ | threads
    environment |= {"BANKLEARN_PROFILE": "campaign", "BANKLEARN_EXAMPLES": str(examples)}
    paths = [str(ROOT / "src"), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=7200"]
    command += [f"--hypothesis-seed={seed}", f"{FILE}::{test}"]
    answer = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    return answer.returncode == 0, answer.stdout


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


def summary(rows: list[dict[str, Any]], wanted: int) -> str:
    """Markdown, one line per estimator."""
    done: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for row in rows:
        done[row["name"]] += row["examples"]
        failed[row["name"]] += not row["passed"]
        seconds[row["name"]] += row["seconds"]
    lines = [
        "| estimator | examples | of | shares that failed | seconds |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {n} | {done[n]} | {wanted} | {failed[n]} | {seconds[n]:.0f} |" for n in TESTS]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=10_000, help="for each estimator")
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
    seeds = range(options.seed, options.seed + -(-options.examples // options.share))
    todo = [(name, seed) for seed in seeds for name in TESTS]
    todo = [(name, seed) for name, seed in todo if (name, seed, options.share) not in known]

    def work(item: tuple[str, int]) -> None:
        name, seed = item
        begin = time.monotonic()
        if begin > deadline:
            return
        passed, text = run_share(TESTS[name], seed, options.share)
        row = {"code": code, "name": name, "seed": seed, "examples": options.share}
        row |= {"passed": passed, "seconds": time.monotonic() - begin}
        rows.append(row)
        print(f"{name}, seed {seed}: {'passed' if passed else 'FAILED'}", flush=True)
        if not passed:
            print(text, flush=True)
        if record:
            with record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, todo))
    text = summary(rows, options.examples)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    complete = len(rows) >= len(TESTS) * len(seeds)
    return 0 if complete and all(row["passed"] for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
