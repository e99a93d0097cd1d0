"""The error for an invalid setting in `holdfast.toml`."""

from __future__ import annotations

from pathlib import Path


class ConfigError(ValueError):
    """An invalid setting. `key` is dotted; `line` is None if the file does not contain the key."""

    def __init__(self, path: Path, complaint: str, *, key: str | None = None, line: int | None = None) -> None:
        self.path = path
        self.key = key
        self.line = line
        where = [str(path), *([f"line {line}"] if line else []), *([key] if key else [])]
        super().__init__(f"{', '.join(where)}: {complaint}")
