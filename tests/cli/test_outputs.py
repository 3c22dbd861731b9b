"""Files that cannot be written are refused before the work, and other failures in a sentence."""

import errno
import os
from pathlib import Path

import pytest
import typer

from banklearn.cli.exits import (
    FILE,
    INTERRUPTED,
    MODEL,
    PACKAGE,
    RefusedError,
    code_of,
    guarded,
    sentence_of,
)
from banklearn.cli.options import share
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


@pytest.fixture
def ordinary_user():
    """Root may write anywhere; for a while the real user, whom access asks for, is another."""
    if os.geteuid() != 0:
        yield
        return
    before = os.getuid()
    os.setreuid(65534, -1)
    yield
    os.setreuid(before, -1)


@pytest.mark.skipif(not hasattr(os, "setreuid"), reason="permissions differ there")
def test_a_folder_that_may_not_be_written(tmp_path, ordinary_user):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(typer.BadParameter, match="may not be written"):
            check_output(tmp_path / "p.csv", "--out")
    finally:
        tmp_path.chmod(0o700)


def test_a_share_that_is_no_number_is_refused():
    with pytest.raises(typer.BadParameter, match="nan is no share of the rows"):
        share(float("nan"))
    assert share(0.25) == 0.25


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), INTERRUPTED, "Interrupted: nothing was written."),
        (typer.Exit(7), 7, ""),
        (ModuleNotFoundError("banklearn[gpu] is needed"), PACKAGE, "banklearn[gpu] is needed"),
        (RefusedError("not so", MODEL), MODEL, "not so"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_foreseen_end_has_its_code(error, code, said, capsys):
    @guarded
    def command():
        raise error

    with pytest.raises(typer.Exit) as ended:
        command()
    assert ended.value.exit_code == code
    assert capsys.readouterr().err == (f"bank: {said}\n" if said else "")


def test_what_is_not_foreseen_comes_through():
    @guarded
    def command():
        raise ZeroDivisionError("a fault of ours")

    with pytest.raises(ZeroDivisionError, match="a fault of ours"):
        command()


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
