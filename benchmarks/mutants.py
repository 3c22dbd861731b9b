"""Plant errors in copies of the package and see which tests catch them.

    python benchmarks/mutants.py --jobs 2 --out benchmarks/results/mutants.md

Each error of ``planted.py`` is put into a copy of the tree, where its tests run until the first
failure. An error that no test sees, or that no longer fits the code, fails the run.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from planted import MUTANTS, Mutant
from planting import ROOT, Job, Result, run_jobs


def patched(source: str, mutant: Mutant) -> str:
    """The source with the error planted; it must fit in exactly one place."""
    places = source.count(mutant.old)
    if places != 1:
        raise ValueError(
            f"{mutant.name}: the text to replace occurs {places} times in {mutant.file}; the code "
            "has changed, so the entry in planted.py has to follow."
        )
    return source.replace(mutant.old, mutant.new)


def job_of(mutant: Mutant) -> Job:
    """The changed file and the tests that should notice."""
    source = (ROOT / "src" / "banklearn" / mutant.file).read_text(encoding="utf-8")
    return Job(mutant.name, mutant.tests, mutant.file, patched(source, mutant))


def table(results: list[Result], before: str = "") -> str:
    """Mutant against the test that saw it first, as Markdown.

    Errors that were not tried keep the line they have in `before`.
    """
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in before.splitlines()}
    for job, caught_by, _ in results:
        test = f"`{caught_by.removeprefix('tests/')}`" if caught_by else "**none**"
        lines[job.label] = f"| {job.label} | `{job.file}` | {test} |"
    rows = [lines[mutant.name] for mutant in MUTANTS if mutant.name in lines]
    return "\n".join(
        ["| planted error | file | first test that fails |", "|---|---|---|", *rows, ""]
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1, help="copies at work at the same time")
    parser.add_argument("--only", action="append", help="mutants whose name contains this")
    parser.add_argument(
        "--trusted", action="store_true", help="the tests are known to pass without an error"
    )
    parser.add_argument("--out", type=Path, help="where the table goes")
    options = parser.parse_args(arguments)
    chosen = [m for m in MUTANTS if any(word in m.name for word in options.only or [""])]
    jobs = [job_of(mutant) for mutant in chosen]
    if not options.trusted:
        tests = dict.fromkeys(test for job in jobs for test in job.tests)
        for result in run_jobs([Job("as it is", (test,)) for test in tests], options.jobs):
            if result.caught_by:
                raise SystemExit(f"{result.caught_by} fails without any error planted.")
    results = []
    for result in run_jobs(jobs, options.jobs):
        results.append(result)
        caught = result.caught_by or "SURVIVED"
        print(f"{result.seconds:6.1f} s  {result.job.label}: {caught}", flush=True)
    results.sort(key=lambda result: jobs.index(result.job))
    survived = [result for result in results if not result.caught_by]
    print(f"{len(results) - len(survived)} of {len(results)} caught")
    if options.out:
        before = options.out.read_text(encoding="utf-8") if options.out.exists() else ""
        options.out.write_text(table(results, before), encoding="utf-8")
    return 1 if survived else 0


if __name__ == "__main__":
    raise SystemExit(main())
