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
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line for language, block in blocks if not language for line in block.splitlines()]
    group = get_command(app)
    shown = [shlex.split(line.split("#")[0]) for line in lines if line.startswith("bank ")]
    assert len(shown) >= 4
    for _, command, *words in shown:
        group.get_command(None, command).make_context(command, words)
