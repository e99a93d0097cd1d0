"""The Markdown version of every page beside its HTML, and llms.txt with the list of them."""

from __future__ import annotations

from pathlib import Path

from tools.site.plain_reference import expanded


def write_markdown(source: Path, site: Path) -> None:
    """Copy each page as Markdown into the site, and write the list."""
    lines = ["# Holdfast", "", "> Durable background jobs for Python that commit with your data.", "", "## Pages", ""]
    for page in sorted(source.rglob("*.md")):
        name = page.relative_to(source)
        target = site / name
        target.parent.mkdir(parents=True, exist_ok=True)
        text = expanded(page.read_text(encoding="utf-8"))
        target.write_text(text, encoding="utf-8")
        lines.append(f"- [{_title(text, name)}]({name.as_posix()})")
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _title(text: str, name: Path) -> str:
    return next((line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")), str(name))
