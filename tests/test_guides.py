"""The code in the README runs as it stands, line by line; that in the guides, block by block."""

import re
from code import InteractiveConsole
from pathlib import Path

import pytest
from matplotlib import pyplot

GUIDES = [f"docs/{page}.md" for page in ("user-guide", "classification")]
GUIDES += [f"docs/{page}.md" for page in ("command-line", "other-tools", "large-data")]


class Pasted(InteractiveConsole):
    """An interpreter that is given lines one by one, as by a person; an error ends the test."""

    def showtraceback(self):
        raise  # called while the error is handled

    def showsyntaxerror(self, filename=None, **options):
        raise


def test_the_quick_start_works_line_by_line(repository: Path, tmp_path, monkeypatch, capsys):
    text = (repository / "README.md").read_text(encoding="utf-8")
    text = text[text.index("## Quick start") : text.index("## Without code")]
    monkeypatch.chdir(tmp_path)
    person = Pasted()
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        for line in block.splitlines():
            assert not person.push(line), f"{line!r} waits for more"
    pyplot.close("all")
    shown = re.findall(r"^(?:np\.float64\()?(0\.\d+)", capsys.readouterr().out, re.MULTILINE)
    score, held = map(float, shown[:2])
    assert score > 0.3
    assert held == pytest.approx(0.95, abs=0.05)
    assert "https://" not in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "diabetes.bank").is_file()


@pytest.mark.parametrize("name", GUIDES)
def test_every_python_block_runs(name, repository: Path, tmp_path, monkeypatch):
    text = (repository / name).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) >= 3
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    pyplot.close("all")
    if "report.html" in text:
        assert "https://" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_page_on_checkpoints_runs(repository: Path, tmp_path, monkeypatch):
    text = (repository / "docs/checkpoints.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 2
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    assert len(names["model"].draws_) == 80
    assert len(list((tmp_path / "diabetes-fit").iterdir())) == 4
