"""The code in the README and the user guide runs as it stands, block after block."""

import re
from pathlib import Path

import pytest
from matplotlib import pyplot

GUIDES = ["README.md", *(f"docs/{page}.md" for page in ("user-guide", "classification"))]
GUIDES += [f"docs/{page}.md" for page in ("command-line", "other-tools", "large-data")]


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
    assert len(names["model"].draws_) == 40
    assert len(list((tmp_path / "diabetes-fit").iterdir())) == 2
