"""Draw every diagram, or check with `--check` that the committed pictures are up to date."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from tools.diagrams.boxes import draw_boxes
from tools.diagrams.sequence import draw_sequence
from tools.diagrams.svg import THEMES

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "diagrams"


def pictures() -> dict[Path, str]:
    """The text of each picture by its file."""
    found: dict[Path, str] = {}
    for source in sorted(FOLDER.glob("*.toml")):
        described = tomllib.loads(source.read_text(encoding="utf-8"))
        draw = draw_sequence if "message" in described else draw_boxes
        for name, theme in THEMES.items():
            found[source.with_name(f"{source.stem}-{name}.svg")] = draw(described, theme)
    return found


def main() -> int:
    old = [path for path, text in pictures().items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in sys.argv:
        print("\n".join(f"{path} is out of date: run `make diagrams`" for path in old) or "the diagrams are up to date")
        return bool(old)
    for path, text in pictures().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(FOLDER.parents[1]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
