"""Lines and branches of src that the tests reach, with several processes at work.

    python benchmarks/coverage_run.py --jobs 2 --least 95

The loops that Numba compiles are seen where ``tests/numerics/test_compiled.py`` runs their source
as ordinary Python.
"""

from __future__ import annotations

import argparse
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


def run_file(path: Path, settings: Path) -> int:
    """The tests of one file under coverage."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "NUMBA")}
    environment = {"MPLBACKEND": "Agg", **os.environ, **threads}
    paths = [str(ROOT / "src"), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
    command = [sys.executable, "-m", "coverage", "run", "--rcfile", str(settings), "-m", "pytest"]
    command += ["-q", "-p", "no:cacheprovider", "--timeout=1800", str(path)]
    answer = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    last = (answer.stdout.strip().splitlines() or ["no output"])[-1]
    print(f"{path.relative_to(ROOT)}: {last}", flush=True)
    return answer.returncode


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=95.0, help="percent below which it fails")
    parser.add_argument("--only", default="", help="test files whose path contains this")
    options = parser.parse_args(arguments)
    files = [f for f in sorted((ROOT / "tests").rglob("test_*.py")) if options.only in str(f)]
    files = [f for f in files if "statistical" not in f.parts]
    # Files that take longest begin first, as far as their size tells.
    files.sort(key=lambda file: ("estimators" not in file.parts, -file.stat().st_size))
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "coveragerc"
        settings.write_text(SETTINGS.format(folder=folder), encoding="utf-8")
        with ThreadPoolExecutor(options.jobs) as pool:
            codes = list(pool.map(lambda file: run_file(file, settings), files))
        tool = [sys.executable, "-m", "coverage"]
        subprocess.run([*tool, "combine", "-q", "--rcfile", settings], cwd=ROOT, check=True)
        least = f"--fail-under={options.least}"
        report = subprocess.run([*tool, "report", "--rcfile", settings, least], cwd=ROOT)
    failed = [str(f) for f, code in zip(files, codes, strict=True) if code not in (0, 5)]
    if failed:
        print("Tests failed in:", *failed)
    return report.returncode or len(failed) > 0


if __name__ == "__main__":
    raise SystemExit(main())
