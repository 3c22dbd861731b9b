"""MkDocs hook: a page for every script in examples/, with what it printed and drew.

BANKLEARN_GALLERY=full runs them with their full budget; without it they take seconds.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "examples"


def scripts() -> list[Path]:
    """The examples, without the module that they share."""
    return sorted(path for path in FOLDER.glob("*.py") if path.stem != "gallery")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Run the examples and add their pages and pictures."""
    listed = []
    for script in scripts():
        with tempfile.TemporaryDirectory() as folder:
            printed = run(script, Path(folder))
            pictures = sorted(Path(folder).glob("*.png"))
            for picture in pictures:
                uri = f"gallery/{picture.name}"
                files.append(File.generated(config, uri, content=picture.read_bytes()))
            text, title, summary = page(script, printed, [picture.name for picture in pictures])
        files.append(File.generated(config, f"gallery/{script.stem}.md", content=text))
        listed.append(f"- [{title}]({script.stem}.md). {summary}")
    index = "# Gallery\n\nEvery example is a script in `examples/`, run when this site is built "
    index += "and in the tests.\n\n" + "\n".join(listed) + "\n"
    files.append(File.generated(config, "gallery/index.md", content=index))
    return files


def run(script: Path, folder: Path) -> str:
    """What a script prints; its pictures are in the folder."""
    command = [sys.executable, str(script), "--out", str(folder)]
    if os.environ.get("BANKLEARN_GALLERY") != "full":
        command.append("--quick")
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    settings = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": os.pathsep.join(paths)}
    answer = subprocess.run(command, capture_output=True, text=True, env=settings, check=False)
    if answer.returncode:
        raise PluginError(f"{script.name} failed:\n{answer.stderr}")
    return answer.stdout


def page(script: Path, printed: str, pictures: list[str]) -> tuple[str, str, str]:
    """The page of a script, its title and its first sentence."""
    source = script.read_text(encoding="utf-8")
    text = ast.get_docstring(ast.parse(source)) or script.stem
    title, _, prose = text.partition("\n")
    title = title.rstrip(".?")
    shown = "\n\n".join(f"![What {script.name} drew]({name})" for name in pictures)
    content = (
        f"# {title}\n\n{prose.strip()}\n\n{shown}\n\n"
        f"It prints:\n\n```text\n{printed.rstrip()}\n```\n\n"
        f"## The script\n\n`python examples/{script.name}`\n\n```python\n{source.rstrip()}\n```\n"
    )
    return content, title, " ".join(prose.split()).partition(". ")[0].rstrip(".") + "."
