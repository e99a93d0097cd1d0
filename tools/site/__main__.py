"""Build the site: gather the pages, generate the reference, run Sphinx, and add the Markdown versions.

Sphinx reads a copy in build/site-source, so that the guides keep their links for readers of the repository. Warnings,
such as a link to a page or heading that does not exist, end the build.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tools.site.accessible import make_accessible
from tools.site.llms import write_markdown
from tools.site.reference import write_reference

SOURCE = Path("build/site-source")
SITE = Path("build/site")
PARTS = ("docs", "examples", "benchmarks/RESULTS.md", "benchmarks/README.md", "benchmarks/results.svg")
TEXTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "SUPPORT.md", "CODE_OF_CONDUCT.md", "LICENSE")
PICTURE = re.compile(r'<picture>\s*<source[^>]*srcset="([^"]+)">\s*<img src="([^"]+)" alt="([^"]*)"[^>]*>\s*</picture>')


def main() -> int:
    gather()
    write_reference(SOURCE / "docs" / "reference")
    shutil.rmtree(SITE, ignore_errors=True)
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "dirhtml"]
    done = subprocess.run([*build, "-c", "tools/site", str(SOURCE), str(SITE)], check=False)
    if done.returncode == 0:
        make_accessible(SITE)
        write_markdown(SOURCE, SITE)
        print(f"the site is in {SITE}; try `python -m http.server -d {SITE}`")
    return done.returncode


def gather() -> None:
    """Copy the pages and what they link to."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    for part in map(Path, (*PARTS, *TEXTS)):
        target = SOURCE / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if part.is_dir():
            shutil.copytree(part, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        elif part.exists():
            shutil.copy(part, target)
    for linked in sorted(_linked_sources()):
        (SOURCE / linked).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(linked, SOURCE / linked)
    for page in SOURCE.rglob("*.md"):
        page.write_text(themed_pictures(page.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copy("tools/site/index.md", SOURCE / "index.md")


def themed_pictures(text: str) -> str:
    """Replace each `<picture>` by two images, of which the theme shows one. Sphinx copies images, not raw HTML."""

    def images(found: re.Match[str]) -> str:
        dark, light, alt = found.groups()
        return "\n\n".join(
            f"```{{image}} {path}\n:alt: {alt}\n:class: only-{theme}\n```"
            for theme, path in (("light", light), ("dark", dark))
        )

    return PICTURE.sub(images, text)


def _linked_sources() -> set[str]:
    """Source files that a page links to, and pictures of the benchmarks that it shows."""
    texts = [page.read_text(encoding="utf-8") for page in SOURCE.rglob("*.md")]
    linked = r"\]\((?:\.\./)*(src/[\w/.]+\.\w+|benchmarks/[\w/.]+\.svg)"
    return {found for text in texts for found in re.findall(linked, text)}


if __name__ == "__main__":
    raise SystemExit(main())
