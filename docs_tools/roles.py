"""Griffe extension: Sphinx's roles in docstrings, which Markdown does not know, become code.

:class:`.Target` in the source is `Target` on the page, and a line that ends in two colons ends in
one: the indented lines after it are code in Markdown too.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):`[~.]?([^`]+)`")
CODE_FOLLOWS = re.compile(r"::[ ]*$", flags=re.MULTILINE)


def plain(text: str) -> str:
    """A docstring as Markdown shows it."""
    return CODE_FOLLOWS.sub(":", ROLE.sub(r"`\1`", text))


class Roles(Extension):
    """Rewrites every docstring as it is collected."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Called for every module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = plain(obj.docstring.value)
