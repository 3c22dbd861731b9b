"""The documentation: links, executed pages, and equations that lead to their functions."""

import importlib.util
import re
from pathlib import Path

import pytest

from banklearn.model.equations import PAPER


def tool(repository: Path, name: str):
    file = repository / "docs_tools" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"docs_tools_{name}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def documents(repository: Path) -> list[Path]:
    return [*repository.glob("*.md"), *(repository / "docs").rglob("*.md")]


def missing(path: Path, text: str, made: set[str]) -> list[str]:
    """Relative links of a Markdown file that lead to no file; `made` are built with the site."""
    links = re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", text)
    return [
        link
        for link in links
        if "://" not in link and link not in made and not (path.parent / link).exists()
    ]


def test_links_between_documents_lead_to_files(repository):
    made = {f"gallery/{p.stem}.md" for p in (repository / "examples").glob("*.py")}
    made |= {"gallery/index.md"}
    for path in documents(repository):
        assert missing(path, path.read_text(encoding="utf-8"), made) == [], path


def test_a_planted_link_is_found(tmp_path):
    assert missing(tmp_path / "a.md", "see [b](b.md) and [c](https://c.org)", set()) == ["b.md"]


def test_the_site_s_link_check_finds_what_is_broken(repository, tmp_path):
    links = tool(repository, "links")
    (tmp_path / "b").mkdir()
    (tmp_path / "index.html").write_text('<h1 id="top"></h1><a href="b/#here">b</a>')
    (tmp_path / "b" / "index.html").write_text('<a href="../#top">x</a><p id="here">')
    assert links.broken_links(tmp_path) == []
    (tmp_path / "b" / "index.html").write_text('<a href="../#nowhere">x</a><img src="no.png">')
    found = links.broken_links(tmp_path)
    assert len(found) == 3
    assert any("no.png does not exist" in line for line in found)


def test_executed_pages_show_what_they_print(repository):
    executed = tool(repository, "executed")
    page = "```python\nx = 2\nprint(x)\n```\n\ntext\n\n```python\nx + 0.5\n```\n"
    shown = executed.run_page(page, "page.md")
    assert "```text\n2\n```" in shown
    assert "```text\n2.5\n```" in shown
    with pytest.raises(ZeroDivisionError):
        executed.run_page("```python\n1 / 0\n```\n", "page.md")


def test_every_equation_is_linked_to_its_function(repository):
    """In the model page, with the function documented where the link leads."""
    text = (repository / "docs" / "model.md").read_text(encoding="utf-8")
    documented = (repository / "docs" / "equations.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"\]\[(banklearn\.[\w.]+)\]", text))
    claimed = {}
    for path in (repository / "src" / "banklearn").rglob("*.py"):
        module = ".".join(path.relative_to(repository / "src").with_suffix("").parts)
        for label, name in re.findall(
            r'@equation\("([^"]+)"\)\n(?:@.*\n)*def (\w+)', path.read_text(encoding="utf-8")
        ):
            claimed[label] = f"{module}.{name}"
    assert set(claimed) == set(PAPER)
    assert set(claimed.values()) <= targets
    assert all(f"::: {target}\n" in documented for target in targets)
