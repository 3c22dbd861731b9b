"""No file of the repository speaks of the machine that it was written on."""

import shutil
import subprocess
from pathlib import Path

import pytest

# Put together from pieces, so that this file does not contain what it looks for.
NEEDLES = tuple("/" + rest for rest in ("work" + "/", "root" + "/", "tmp" + "/bash"))


def machine_paths(content: bytes) -> list[str]:
    """One line for each place in `content` that holds a machine's path."""
    return [
        f"line {number}: {needle}"
        for number, line in enumerate(content.splitlines(), start=1)
        for needle in NEEDLES
        if needle.encode() in line
    ]


def listed_files(repository: Path) -> list[Path]:
    """Files under version control, and new ones that are not ignored."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed, so the repository's files cannot be listed")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    answer = subprocess.run(command, cwd=repository, capture_output=True, check=False)
    if answer.returncode != 0:
        pytest.skip(f"not a git checkout: {answer.stderr.decode(errors='replace').strip()}")
    paths = [repository / name.decode() for name in answer.stdout.split(b"\0") if name]
    return [path for path in paths if path.is_file()]


def test_no_file_holds_a_machine_path(repository: Path) -> None:
    found = [
        f"{path.relative_to(repository)}, {place}"
        for path in listed_files(repository)
        for place in machine_paths(path.read_bytes())
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("needle", NEEDLES)
def test_a_planted_path_is_found(needle: str) -> None:
    assert machine_paths(f"first\nsee {needle}here".encode()) == [f"line 2: {needle}"]


def test_an_ordinary_line_is_left_alone() -> None:
    assert machine_paths(b"the network / root of the tree, ./benchmarks/bench.py") == []
