"""Plots as inline SVG that follows the page's colours."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

from banklearn.viz.style import INK, LEARNED, RIVAL, SHADE

#: Colours of the plots and the CSS variables that stand for them on the page.
VARIABLES = {INK: "--ink", LEARNED: "--learned", RIVAL: "--rival", SHADE: "--shade"}


def inline_svg(
    draw: Callable[[Any], object],
    label: str,
    prefix: str,
    size: tuple[float, float] = (5.8, 3.6),
    rows: int = 1,
) -> str:
    """Run `draw` on fresh axes (an array of them for several rows); the figure as SVG.

    Ids get a prefix, since several figures share a page; fixed colours become CSS variables;
    metadata, which names web addresses, is left out.
    """
    import matplotlib
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": prefix,
        "font.family": "sans-serif",
        "text.color": INK,
        # Two dollar signs in a column's name are no formula.
        "text.parse_math": False,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.unicode_minus": True,
    }
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots(rows, 1, sharex=rows > 1))
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True)
    return _for_page(buffer.getvalue(), label, prefix)


def _for_page(text: str, label: str, prefix: str) -> str:
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    for color, variable in VARIABLES.items():
        text = re.sub(re.escape(color), f"var({variable})", text, flags=re.IGNORECASE)
    # The page's width decides the size.
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
