"""Lines and branches of src that the tests reach, with several processes at work.

    python benchmarks/coverage_run.py --jobs 2 --least 95 --out benchmarks/results/coverage.txt

Each process takes a share of the test files. With --data what they saw is kept in a folder, and a
later call adds to it: a part of the tests (--only) can be run again without the others, and what
several machines saw can lie in one folder (--only none runs no tests and makes the report).
The loops that Numba compiles are seen where ``tests/numerics/test_compiled.py`` runs their source
as ordinary Python.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SEEN = """\
[run]
branch = True
parallel = True
relative_files = True
source_pkgs = banklearn
data_file = {folder}/seen
concurrency = thread
"""
# Apart from the above: where files are written in parallel, a report would take them away.
REPORT = """\
[run]
branch = True
relative_files = True
data_file = {folder}/coverage

[report]
exclude_also =
    if TYPE_CHECKING:
    ^\\s*\\.\\.\\.$
    assert_never
show_missing = True
skip_covered = True
precision = 1
"""


def run_files(files: list[Path], settings: Path) -> int:
    """The tests of some files under coverage, in one process."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMBA")}
    environment = {"MPLBACKEND": "Agg", **os.environ, **threads}
    paths = [str(ROOT / "src"), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
    command = [sys.executable, "-m", "coverage", "run", "--rcfile", str(settings), "-m", "pytest"]
    command += ["-q", "-p", "no:cacheprovider", "--timeout=1800", *map(str, files)]
    answer = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    lines = answer.stdout.strip().splitlines() or ["no output"]
    names = ", ".join(str(file.relative_to(ROOT / "tests")) for file in files[:3])
    print(f"{names}{', ...' if len(files) > 3 else ''}: {lines[-1]}", flush=True)
    print(*(line for line in lines if line.startswith(("FAILED", "ERROR"))), sep="\n", end="")
    return answer.returncode


def apart(totals: dict[str, float]) -> tuple[float, float]:
    """Percent of the lines and of the branches, each for itself."""
    return (
        100 * totals["covered_lines"] / totals["num_statements"],
        100 * totals["covered_branches"] / totals["num_branches"],
    )


def report(folder: Path) -> tuple[str, dict[str, float]]:
    """What all processes saw that wrote into the folder, in words and in numbers."""
    settings, everything = folder / "reportrc", folder / "totals.json"
    settings.write_text(REPORT.format(folder=folder), encoding="utf-8")
    tool = [sys.executable, "-m", "coverage"]
    options = ["--rcfile", str(settings)]
    (folder / "coverage").unlink(missing_ok=True)
    parts = [str(path) for path in sorted(folder.glob("seen.*"))]
    subprocess.run([*tool, "combine", "-q", "--keep", *options, *parts], cwd=ROOT, check=True)
    words = subprocess.run(
        [*tool, "report", *options], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    subprocess.run([*tool, "json", "-q", *options, "-o", str(everything)], cwd=ROOT, check=True)
    return words.stdout, json.loads(everything.read_text(encoding="utf-8"))["totals"]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--least",
        type=float,
        default=95.0,
        help="percent of lines, and of branches, below which it fails",
    )
    parser.add_argument("--only", default="", help="test files whose path contains this")
    parser.add_argument("--data", type=Path, help="keep what the processes saw in this folder")
    parser.add_argument("--out", type=Path, help="where the report goes besides the screen")
    options = parser.parse_args(arguments)
    files = [f for f in sorted((ROOT / "tests").rglob("test_*.py")) if options.only in str(f)]
    files = [f for f in files if "statistical" not in f.parts]
    # Dealt out like cards: neighbours, which take alike, go to different processes.
    shares = [files[i :: 4 * options.jobs] for i in range(min(4 * options.jobs, len(files)))]
    with tempfile.TemporaryDirectory() as other:
        folder = options.data.resolve() if options.data else Path(other)
        folder.mkdir(parents=True, exist_ok=True)
        settings = folder / "coveragerc"
        settings.write_text(SEEN.format(folder=folder), encoding="utf-8")
        with ThreadPoolExecutor(options.jobs) as pool:
            codes = list(pool.map(lambda share: run_files(share, settings), shares))
        words, totals = report(folder)
    lines, branches = apart(totals)
    text = f"{words}{lines:.1f} % of the lines, {branches:.1f} % of the branches\n"
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    for name, percent in (("lines", lines), ("branches", branches)):
        if percent < options.least:
            print(f"Fewer than {options.least:g} % of the {name}.", file=sys.stderr)
    failed = any(code not in (0, 5) for code in codes)
    return int(failed or min(lines, branches) < options.least)


if __name__ == "__main__":
    raise SystemExit(main())
