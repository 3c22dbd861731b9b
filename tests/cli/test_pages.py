"""Commands that pages show exist, with the options that they show."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from banklearn.cli.app import app


@pytest.mark.parametrize("name", ["README.md", "docs/command-line.md"])
def test_every_command_that_is_shown_has_its_options(name, repository: Path):
    text = (repository / name).read_text(encoding="utf-8")
    blocks = re.findall(r"```\n(.*?)```", text, flags=re.DOTALL)
    lines = [
        line.split("#")[0] for block in blocks for line in block.splitlines() if "bank " in line
    ]
    commands = get_command(app).commands
    shown = [shlex.split(line) for line in lines if line.startswith("bank ")]
    assert len(shown) >= 4
    for _, command, *words in shown:
        commands[command].make_context(command, words)
