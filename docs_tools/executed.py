"""MkDocs hook: run the Python blocks of a page and show what they print.

A page with `execute: true` in its front matter is run from top to bottom in one namespace; the
output of a block, and the value of its last expression, stand below it, figures as pictures.
A block that fails stops the build.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import os
import re
import tempfile
from typing import Any

from sklearn.base import BaseEstimator

os.environ.setdefault("MPLBACKEND", "Agg")

#: Values of a last line that are not printed: an estimator after its fit, a count of characters.
QUIET = (BaseEstimator, int)
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page with the outputs of its blocks, where its front matter asks for them."""
    if not page.meta.get("execute"):
        return markdown
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # files that an example writes go there
        try:
            return run_page(markdown, page.file.src_uri)
        finally:
            os.chdir(here)


def run_page(markdown: str, name: str) -> str:
    """Run all blocks of a page in order and add their outputs."""
    names: dict[str, Any] = {"__name__": name}

    def with_output(match: re.Match[str]) -> str:
        printed, pictures = run_block(match.group(1), names, name)
        shown = f"\n\n```text\n{printed.rstrip()}\n```" if printed.strip() else ""
        return match.group(0) + shown + "".join(f"\n\n{picture}" for picture in pictures)

    return BLOCK.sub(with_output, markdown)


def run_block(source: str, names: dict[str, Any], name: str) -> tuple[str, list[str]]:
    """What a block prints, its last value included, and the figures it leaves open."""
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(tree, name, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)
            if value is not None and not isinstance(value, QUIET) and not hasattr(value, "plot"):
                print(value)
    return out.getvalue(), open_figures()


def open_figures() -> list[str]:
    """Open figures as inline pictures; they are closed."""
    from matplotlib import pyplot

    pictures = []
    for number in pyplot.get_fignums():
        buffer = io.BytesIO()
        pyplot.figure(number).savefig(buffer, dpi=100, format="png")
        data = base64.b64encode(buffer.getvalue()).decode()
        pictures.append(f'<img alt="the figure drawn above" src="data:image/png;base64,{data}">')
    pyplot.close("all")
    return pictures
