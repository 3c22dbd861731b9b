"""Plant errors in copies of the package and see which tests catch them.

    python benchmarks/mutants.py --jobs 2 --out benchmarks/results/mutants.md

Each error of ``planted.py`` is put into a copy of the tree, where its tests run until the first
failure. An error that no test sees, or that no longer fits the code, fails the run.

Every outcome is added to a record beside the table; the same command goes on from there, as long as
the package and its tests are the same. With --seconds nothing begins after that time. --part 1/2
takes the first of two halves: put their records one after the other, and the command without --part
makes the table of both.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from planted import MUTANTS, Mutant
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


def run_all(jobs: list[Job], options: argparse.Namespace, deadline: float) -> list[Result]:
    """Outcomes of the record, and of what it lacks; those that time left out are missing."""
    record = options.out.with_suffix(".jsonl") if options.out else None
    known = read_record(record)
    names = {job: digest(job) for job in jobs}
    results, todo = [], []
    for job, name in names.items():
        if (row := known.get(name)) is None:
            todo.append(job)
        else:
            results.append(Result(job, row["caught_by"], row["seconds"]))
    for result in run_jobs(todo, options.jobs, options.each, deadline) if todo else ():
        results.append(result)
        job, caught_by, seconds = result
        row = {"name": names[job], "label": job.label, "caught_by": caught_by}
        add_to_record(record, row | {"seconds": round(seconds, 1)})
        told = caught_by or ("SURVIVED" if job.file else "passed")
        print(f"{seconds:6.1f} s  {job.label}: {told}", flush=True)
    return results


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1, help="copies at work at the same time")
    parser.add_argument("--only", action="append", help="mutants whose name contains this")
    parser.add_argument(
        "--trusted", action="store_true", help="the tests are known to pass without an error"
    )
    parser.add_argument("--seconds", type=float, default=0.0, help="begin none after; 0: no end")
    parser.add_argument("--each", type=int, default=SECONDS, help="of processor time for one error")
    parser.add_argument("--part", type=part_of, default=(1, 1), help="such as 1/2")
    parser.add_argument("--out", type=Path, help="where the table goes; the record goes beside it")
    options = parser.parse_args(arguments)
    deadline = time.monotonic() + (options.seconds or float("inf"))
    chosen = [m for m in MUTANTS if any(word in m.name for word in options.only or [""])]
    jobs = [job_of(mutant) for mutant in chosen]
    sound = dict.fromkeys(test for job in jobs for test in job.tests)
    if not options.trusted:
        jobs = [*(Job(f"as it is: {test}", (test,)) for test in sound), *jobs]
    part, parts = options.part
    jobs = jobs[part - 1 :: parts]
    results = run_all(jobs, options, deadline)
    results.sort(key=lambda result: jobs.index(result.job))
    failing = [r.caught_by for r in results if r.caught_by and not r.job.file]
    planted = [result for result in results if result.job.file]
    survived = [result for result in planted if not result.caught_by]
    print(f"{len(planted) - len(survived)} of {len(planted)} caught", end="; ")
    print(f"{processor_minutes():.1f} processor minutes; {len(jobs) - len(results)} not run")
    for name in failing:
        print(f"{name} fails without any error planted.")
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        before = options.out.read_text(encoding="utf-8") if options.out.exists() else ""
        options.out.write_text(table(planted, before), encoding="utf-8")
    return 1 if survived or failing or len(results) < len(jobs) else 0


if __name__ == "__main__":
    raise SystemExit(main())
