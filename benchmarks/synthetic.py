"""Section 4.1 of the paper: is the band honest, and is the kernel learned where it can be?

The measurement is `bank reproduce synthetic`; this keeps its table in benchmarks/results.

    python benchmarks/synthetic.py [--jobs 2] [--out benchmarks/results/synthetic.json]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from banklearn.experiments import Options
from banklearn.experiments.synthetic import run, summary, table

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "synthetic.json")
    parser.add_argument("--only", choices=("paper", "large"), help="keep the other size's results")
    arguments = parser.parse_args()
    records = run(
        Options(
            HERE / ".cache" / "reproduce",
            sets=(arguments.only,) if arguments.only else (),
            jobs=arguments.jobs,
            cores_per_job=1,
        )
    )
    text = table(records)
    print(text)
    runs = [{k: v for k, v in r.items() if k != "curves"} for r in records]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"summary": summary(records), "runs": runs}, indent=1)
    arguments.out.write_text(content + "\n", encoding="utf-8")
    arguments.out.with_suffix(".md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
