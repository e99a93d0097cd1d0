"""Attributes for keyboards and screen readers that the theme does not write."""

from __future__ import annotations

from pathlib import Path

MISSING = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    # What scrolls sideways can be reached with the keyboard.
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
}


def make_accessible(site: Path) -> None:
    """Add them to every page."""
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for found, better in MISSING.items():
            text = text.replace(found, better)
        path.write_text(text, encoding="utf-8")
