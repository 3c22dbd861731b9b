"""Every link inside a built site leads somewhere: `python docs_tools/links.py site`."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Anchors(HTMLParser):
    """Collects the ids of a page and what it refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note ids, links and sources."""
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.ids.add(value)
            if name in ("href", "src") and value and tag != "base":
                self.links.append(value)


def broken_links(site: Path) -> list[str]:
    """One sentence for each link or anchor inside the site that leads nowhere."""
    pages = {
        path.resolve(): Anchors(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")
    }
    found = []
    for path, page in pages.items():
        # The page for missing addresses links from the root of wherever the site is put.
        for link in page.links if path.name != "404.html" else ():
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{path.relative_to(site.resolve())}: {link} does not exist")
            elif parts.fragment and target in pages and not _has(pages[target], parts.fragment):
                found.append(f"{path.relative_to(site.resolve())}: {link} has no such anchor")
    return found


def _has(page: Anchors, fragment: str) -> bool:
    return unquote(fragment) in page.ids or fragment.startswith("__")


if __name__ == "__main__":
    problems = broken_links(Path(sys.argv[1]))
    print("\n".join(problems) or "all links inside the site resolve")
    sys.exit(bool(problems))
