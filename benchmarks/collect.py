"""Add cells that were measured elsewhere to the committed results.

    python benchmarks/collect.py FOLDER ... [--methods bank,rks] [--results FOLDER]

Every record in the folders goes to the file of its experiment and takes the place of an older one
of the same set, fold and method; `make results` then writes the page anew. Unlike `bank reproduce`,
which measures again what was measured with other parameters, this takes whatever is in the folders.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from banklearn.experiments import rivals
from banklearn.experiments.cells import Record
from banklearn.experiments.comparison import IDENTITY
from banklearn.experiments.paper import CLASSIFICATION_METHODS, REGRESSION_METHODS
from banklearn.experiments.results import merge, read_results, write_results

HERE = Path(__file__).resolve().parent
#: Methods by the file that their records belong to; the page puts BaNK's beside the rivals'.
FILES: dict[str, Sequence[str]] = {
    "regression": REGRESSION_METHODS,
    "classification": CLASSIFICATION_METHODS,
    "rivals": [method for method in rivals.METHODS if method != "bank"],
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "reproduce")
    parser.add_argument("--methods", default="", help="these alone, for example bank,rks")
    options = parser.parse_args(arguments)
    methods = [word for word in options.methods.split(",") if word]
    records = [r for r in found(options.folders) if not methods or r["method"] in methods]
    for name, known in FILES.items():
        new = [r for r in records if r["method"] in known and name in ("rivals", r["task"])]
        path = options.results / f"{name}.parquet"
        old = read_results(path)
        if new:
            write_results(path, merge(old, new, IDENTITY))
            print(f"{path.name}: {len(new)} records added to {len(old)}")


def found(folders: Sequence[Path]) -> list[Record]:
    """The records of fits in the folders; a later folder's come later."""
    records = []
    for folder in folders:
        paths = sorted(folder.glob("*.json"))
        if not paths:
            raise SystemExit(f"{folder} holds no records (*.json).")
        for path in paths:
            record = json.loads(path.read_text(encoding="utf-8"))
            if {"set", "fold", "method", "error"} <= record.keys():
                records.append(record)
    return records


if __name__ == "__main__":
    main()
