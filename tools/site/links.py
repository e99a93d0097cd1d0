"""Internal links of the built site that lead nowhere."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit


class _Page(HTMLParser):
    """The links of a page, and the places in it that a link can name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def broken_links(site: Path) -> list[str]:
    """Each link to a file or an anchor of the site that does not exist, with its page."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found: list[str] = []
    for path, page in pages.items():
        here = "/" + path.relative_to(site).as_posix()
        for link in sorted(page.links):
            target = urlsplit(urljoin(f"site:{here}", link))
            if target.scheme != "site":
                continue
            file = site / unquote(target.path).lstrip("/")
            file = file / "index.html" if file.is_dir() else file
            if not file.exists():
                found.append(f"{here}: {link} does not exist")
            elif target.fragment and file in pages and unquote(target.fragment) not in pages[file].anchors:
                found.append(f"{here}: {link} has no such anchor")
    return found
