"""Adversarial examples for each estimator by the ten thousand, several processes at work.

    python benchmarks/campaign.py --examples 10000 --jobs 16

Each process draws its own share of the examples from its own seed. A failure prints the smallest
example that Hypothesis found; it belongs into ``tests/estimators/test_adversarial.py``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = "tests/estimators/test_adversarial.py"
TESTS = ("test_a_regressor_answers_or_refuses", "test_a_classifier_answers_or_refuses")


def share(test: str, seed: int, examples: int) -> tuple[bool, str]:
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


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=10_000, help="for each estimator")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of the first process")
    options = parser.parse_args(arguments)
    parts = max(options.jobs // len(TESTS), 1)
    each = -(-options.examples // parts)
    work = [(test, options.seed + i, each) for test in TESTS for i in range(parts)]
    begin, failed = time.monotonic(), 0
    with ThreadPoolExecutor(options.jobs) as pool:
        answers = pool.map(lambda job: share(*job), work)
        for (test, seed, _), (passed, text) in zip(work, answers, strict=True):
            print(f"{test}, seed {seed}, {each} examples: {'passed' if passed else 'FAILED'}")
            if not passed:
                failed += 1
                print(text)
    seconds = time.monotonic() - begin
    print(f"{parts * each} examples for each of {len(TESTS)} estimators, {seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
