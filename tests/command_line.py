"""Runs the command line inside the tests' own process."""

from typer.testing import CliRunner

from banklearn.cli.app import app

QUICK = ("--frequencies", "8", "--warmup", "6", "--draws", "4", "--max-time", "none", "--quiet")


def bank(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words], prog_name="bank")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result
