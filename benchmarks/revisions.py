"""The sweep of this source tree and that of another revision, timed in turn.

Each runs in a process of its own that waits between its rounds. The benchmark scripts are those
of this tree on both sides, so the other revision must know the names that measure.py imports.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import HERE, environment, make_data, make_problem

import banklearn


class Worker:
    """A process that keeps a chain of one source tree and sweeps when asked."""

    def __init__(self, source: Path, N: int, d: int, M: int, sweeps: int) -> None:
        command = [sys.executable, str(HERE / "revisions.py"), json.dumps([N, d, M, sweeps])]
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
    revision: str, N: int, d: int, M: int, sweeps: int, rounds: int
) -> dict[str, list[float]]:
    """Seconds per sweep, "now" and "before" (the other revision), one entry per round."""
    root = HERE.parent
    git = ["git", "-C", str(root), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), revision], check=True)
        workers: dict[str, Worker] = {}
        try:
            workers["now"] = Worker(root / "src", N, d, M, sweeps)
            workers["before"] = Worker(tree / "src", N, d, M, sweeps)
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


def work(N: int, d: int, M: int, sweeps: int) -> None:
    """The other end of :class:`Worker`: a line in, the seconds per sweep out."""
    print(Path(banklearn.__file__).resolve(), flush=True)
    problem = make_problem(*make_data(N, d), M, settle=5)
    for _ in sys.stdin:
        begin = time.perf_counter()
        for _ in range(sweeps):
            problem.step()
        print((time.perf_counter() - begin) / sweeps, flush=True)


if __name__ == "__main__":
    work(*json.loads(sys.argv[1]))
