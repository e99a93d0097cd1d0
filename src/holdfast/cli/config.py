"""`holdfast.toml`: read so that every complaint names the file, the line and the key."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from holdfast.cli.exits import Mistake

FILE = "holdfast.toml"
KEYS = ("store", "app")

_VARIABLE = re.compile(r"\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)\}|(\{[^}]*\}?))")


@dataclass(frozen=True, slots=True)
class Config:
    """What a file says. Where there is no file, it says nothing."""

    path: Path | None = None
    store: str | None = None
    app: str | None = None
    concurrency: int | None = None


def read_config(path: Path | None, environment: Mapping[str, str] = os.environ) -> Config:
    """The file at `path`, which must exist; without a path, `holdfast.toml` of the working directory if it is there."""
    if path is None:
        path = Path(FILE)
        if not path.exists():
            return Config()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise Mistake(f"{path}: cannot be read: {reason}") from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Mistake(f"{path}: {error}") from None
    return _Reader(path, text, document, environment).read()


class _Reader:
    def __init__(self, path: Path, text: str, document: dict[str, Any], environment: Mapping[str, str]) -> None:
        self._path = path
        self._lines = text.splitlines()
        self._document = document
        self._environment = environment

    def read(self) -> Config:
        for key, value in self._document.items():
            # Tables may belong to other commands; a lone key that nobody reads is a slip of the pen.
            if key not in KEYS and not isinstance(value, dict):
                near = get_close_matches(key, KEYS, 1)
                raise self._mistake(
                    (key,), f"unknown key; {f'did you mean {near[0]}?' if near else 'it has no meaning'}"
                )
        return Config(self._path, self._text("store"), self._text("app"), self._count("workers", "concurrency"))

    def _text(self, key: str) -> str | None:
        value = self._document.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self._mistake((key,), f"must be a text in quotes, not {type(value).__name__}")
        return _VARIABLE.sub(lambda match: self._expand(key, match), value)

    def _count(self, table: str, key: str) -> int | None:
        inside = self._document.get(table, {})
        if not isinstance(inside, dict):
            raise self._mistake((table,), f"must be a table: [{table}]")
        value: Any = inside.get(key)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self._mistake((table, key), f"must be a whole number from 1, not {value!r}")
        return value

    def _expand(self, key: str, match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        if match[2] is not None:
            raise self._mistake(
                (key,), f"{match[0]!r} names no environment variable; write ${{NAME}}, or $$ for a dollar sign"
            )
        value = self._environment.get(match[1])
        if value is None:
            raise self._mistake((key,), f"the environment variable {match[1]} is not set")
        return value

    def _mistake(self, key: tuple[str, ...], complaint: str) -> Mistake:
        line = self._line_of(key)
        return Mistake(f"{self._path}, {f'line {line}, ' if line else ''}{'.'.join(key)}: {complaint}")

    def _line_of(self, key: tuple[str, ...]) -> int | None:
        """Where the key is set. tomllib does not tell, so the lines are looked through."""
        *tables, name = key
        inside: list[str] = []
        pattern = re.compile(rf"""\s*(["']?){re.escape(name)}\1\s*=""")
        dotted = re.compile(rf"\s*{re.escape('.'.join(key))}\s*=")
        for number, line in enumerate(self._lines, 1):
            if header := re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line):
                inside = header[1].split(".")
            elif (inside == tables and pattern.match(line)) or (not inside and dotted.match(line)):
                return number
        return None
