"""Print the version of the project, as pyproject.toml states it."""

from __future__ import annotations

import tomllib
from pathlib import Path


def version() -> str:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


if __name__ == "__main__":
    print(version())
