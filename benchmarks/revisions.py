"""The sweep of this source tree and that of another revision, timed in turn.

    python benchmarks/revisions.py [REVISION] [--rows 1500] [--inputs 16] [--frequencies 384]
        [--exchange]

REVISION is the first one that has a sweep unless given; with --exchange sweeps exchange
frequencies. With OPENBLAS_NUM_THREADS=1 they run as those of chains side by side do. Each runs in
a process of its own that waits between its rounds. The benchmark scripts are those of this tree on
both sides.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import HERE, environment, exchanging, make_data, make_problem

import banklearn


class Worker:
    """A process that keeps a chain of one source tree and sweeps when asked."""

    def __init__(self, source: Path, *problem: int) -> None:
        given = json.dumps(problem)
        command = [sys.executable, str(HERE / "revisions.py"), "--worker", given]
        self.process = subprocess.Popen(
            command,
            env=environment(source),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        origin = self._answer()
        if not Path(origin).is_relative_to(source.resolve()):
            self.close()
            raise RuntimeError(f"The package came from {origin}, not from {source}.")

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"A worker ended with status {self.process.wait()}; see above.")
        return line

    def seconds(self) -> float:
        """Seconds per sweep of one more round."""
        assert self.process.stdin is not None
        self.process.stdin.write("sweep\n")
        self.process.stdin.flush()
        return float(self._answer())

    def close(self) -> None:
        """Let the process end, which it does when its input does."""
        self.process.communicate()


def in_turn(
    revision: str, N: int, d: int, M: int, sweeps: int, rounds: int, exchange: bool = False
) -> dict[str, list[float]]:
    """Seconds per sweep, "now" and "before" (the other revision), one entry per round."""
    sizes = (N, d, M, sweeps, exchange)
    root = HERE.parent
    git = ["git", "-C", str(root), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), revision], check=True)
        workers: dict[str, Worker] = {}
        try:
            workers["now"] = Worker(root / "src", *sizes)
            workers["before"] = Worker(tree / "src", *sizes)
            found: dict[str, list[float]] = {name: [] for name in workers}
            for turn in range(1 + rounds):
                for name, worker in workers.items():
                    taken = worker.seconds()
                    if turn:
                        found[name].append(taken)
        finally:
            for worker in workers.values():
                worker.close()
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)
    return found


def work(N: int, d: int, M: int, sweeps: int, exchange: bool) -> None:
    """The other end of :class:`Worker`: a line in, the seconds per sweep out."""
    print(Path(banklearn.__file__).resolve(), flush=True)
    problem = make_problem(*make_data(N, d), M, settle=5)
    if exchange:
        problem.tuning = exchanging(problem.tuning)
    for _ in sys.stdin:
        begin = time.perf_counter()
        for _ in range(sweeps):
            problem.step()
        print((time.perf_counter() - begin) / sweeps, flush=True)


def first_revision() -> str:
    """The first revision that has a sweep."""
    command = ["git", "log", "--reverse", "--format=%h", "--", "src/banklearn/sampler/sweep.py"]
    answer = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=True)
    return answer.stdout.split()[0]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revision", nargs="?", default="")
    parser.add_argument("--rows", type=int, default=1_500)
    parser.add_argument("--inputs", type=int, default=16)
    parser.add_argument("--frequencies", type=int, default=384)
    parser.add_argument("--sweeps", type=int, default=5, help="sweeps in a round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--exchange", action="store_true", help="sweeps that exchange")
    given = parser.parse_args()
    revision = given.revision or first_revision()
    sizes = (given.rows, given.inputs, given.frequencies, given.sweeps)
    found = in_turn(revision, *sizes, rounds=given.rounds, exchange=given.exchange)
    seconds = {name: float(np.median(values)) for name, values in found.items()}
    rounds = np.array(found["before"]) / np.array(found["now"])
    print(
        f"N = {given.rows}, d = {given.inputs}, M = {given.frequencies}: a sweep of {revision} "
        f"takes {1e3 * seconds['before']:.1f} ms, now {1e3 * seconds['now']:.1f} ms; "
        f"{np.median(rounds):.2f} times faster (single rounds {rounds.min():.2f} to "
        f"{rounds.max():.2f})."
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(*json.loads(sys.argv[2]))
    else:
        main()
