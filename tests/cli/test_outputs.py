"""Files that cannot be written are refused before the work, and other failures in a sentence."""

import errno
import os
from pathlib import Path

import pytest
import typer

from banklearn.cli.exits import FILE, code_of, guarded, sentence_of
from banklearn.cli.outputs import check_output
from command_line import bank


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "d.csv", "--target", "y", "--out", "m.bank", "--report", "no/r.html"],
        ["fit", "d.csv", "--target", "y", "--out", "m.bank", "--report", "."],
        ["fit", "d.csv", "--target", "y", "--out", "m.bank", "--report", "m.bank"],
        ["fit", "d.csv", "--target", "y", "--out", "d.csv"],
        ["predict", "m.bank", "d.csv", "--out", "no/p.csv"],
        ["predict", "m.bank", "d.csv", "--out", "d.csv"],
        ["report", "m.bank", "d.csv", "--out", "no/r.html"],
        ["report", "m.bank", "d.csv", "--out", "d.csv"],
    ],
)
def test_paths_are_checked_before_anything_is_read(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("no table")  # would be refused with another code
    result = bank(*words, code=2)
    assert "name a file to write" in " ".join(result.stderr.replace("│", " ").split())
    assert Path("d.csv").read_text() == "no table"
    assert os.listdir(tmp_path) == ["d.csv"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="may write anywhere")
def test_a_folder_that_may_not_be_written(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(typer.BadParameter, match="may not be written"):
            check_output(tmp_path / "p.csv", "--out")
    finally:
        tmp_path.chmod(0o700)


def test_what_the_system_refuses_ends_in_a_sentence(capsys, tmp_path):
    missing = tmp_path / "gone.html"

    @guarded
    def command():
        missing.read_text()

    with pytest.raises(typer.Exit) as ended:
        command()
    assert ended.value.exit_code == FILE
    said = capsys.readouterr().err
    assert f"{missing} cannot be read or written: No such file or directory." in said
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert sentence_of(full) == "A file failed: No space left on device."
    assert code_of(BrokenPipeError()) != FILE
