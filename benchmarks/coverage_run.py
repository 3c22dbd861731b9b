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
SETTINGS = """\
[run]
branch = True
parallel = True
relative_files = True
source_pkgs = banklearn
data_file = {folder}/coverage
concurrency = thread

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


def apart(totals: dict[str, float]) -> str:
    """Lines and branches, each for itself."""
    lines = 100 * totals["covered_lines"] / totals["num_statements"]
    branches = 100 * totals["covered_branches"] / totals["num_branches"]
    return f"{lines:.1f} % of the lines, {branches:.1f} % of the branches\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=95.0, help="percent below which it fails")
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
        settings.write_text(SETTINGS.format(folder=folder), encoding="utf-8")
        with ThreadPoolExecutor(options.jobs) as pool:
            codes = list(pool.map(lambda share: run_files(share, settings), shares))
        tool = [sys.executable, "-m", "coverage"]
        combine = [*tool, "combine", "-q", "--keep", "--rcfile", settings]
        subprocess.run(combine, cwd=ROOT, check=True)
        least = f"--fail-under={options.least}"
        report = subprocess.run(
            [*tool, "report", "--rcfile", settings, least],
            cwd=ROOT, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        everything = folder / "coverage.json"
        subprocess.run(
            [*tool, "json", "-q", "--rcfile", settings, "-o", everything], cwd=ROOT, check=True
        )
        totals = json.loads(everything.read_text(encoding="utf-8"))["totals"]
    text = report.stdout + apart(totals)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    failed = any(code not in (0, 5) for code in codes)
    return report.returncode or int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
