"""Tables of a TOML file, read key by key. Each error names the file, the line and the key."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from holdfast.config.config_error import ConfigError
from holdfast.config.line_numbers import KeyPath, line_of

MOST = 2**31 - 1
"""The largest number in a setting. As seconds it is a century, and every store can hold it."""

_VARIABLE = re.compile(r"\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)\}|(\{[^}]*\}?))")


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a file, and the environment for its variables."""

    path: Path
    lines: dict[KeyPath, int]
    environment: Mapping[str, str]

    def error(self, key: KeyPath, complaint: str) -> ConfigError:
        return ConfigError(self.path, complaint, key=".".join(key), line=line_of(self.lines, key))


class Table:
    """One table. Each key that is read counts as known; `finish` refuses the others."""

    def __init__(self, source: Source, path: KeyPath, values: Mapping[str, Any]) -> None:
        self.source = source
        self.path = path
        self._values = values
        self._known: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._values

    @property
    def names(self) -> list[str]:
        """The keys of the table."""
        return [*self._values]

    def text(self, key: str, default: str | None = None) -> str | None:
        """A text, with `${NAME}` replaced from the environment; `$$` is a dollar sign."""
        value = self._take(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.error(key, f"must be a text in quotes, not {type(value).__name__}")
        return _VARIABLE.sub(lambda match: self._expand(key, match), value)

    def choice(self, key: str, choices: Sequence[str], *, default: str) -> str:
        """One of these values."""
        value = self.text(key, default)
        assert value is not None
        if value not in choices:
            raise self.error(key, f"must be one of {', '.join(choices)}, not {value!r}")
        return value

    def count(self, key: str, default: int, *, least: int = 0, most: int = MOST) -> int:
        """A whole number."""
        value = self._take(key)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            upper = f" to {most}" if isinstance(value, int) and value > most else ""
            raise self.error(key, f"must be a whole number from {least}{upper}, not {_shown(value)}")
        return value

    def number(self, key: str, default: float, *, least: float = 0, most: float = MOST, zero: bool = True) -> float:
        """A number."""
        value = self._take(key)
        if value is None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise self.error(key, f"must be a number, not {_shown(value)}")
        if not least <= value <= most or (value == 0 and not zero):
            upper = f" to {most:.15g}" if value > most else ""
            raise self.error(
                key, f"must be a number {'from' if zero else 'above'} {least:g}{upper}, not {_shown(value)}"
            )
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._take(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(key, f"must be true or false, not {_shown(value)}")
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts, at least one."""
        value = self._take(key)
        if value is None:
            return None
        found: list[Any] = value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]
        if not found or not all(isinstance(each, str) and each for each in found):
            raise self.error(key, f'must be a list of texts, such as ["a", "b"], not {_shown(value)}')
        return tuple(found)

    def anything(self, key: str) -> Any:
        """The value without a check."""
        return self._take(key)

    def table(self, key: str) -> Table:
        """A table inside this one; an empty one if it does not exist."""
        value = self._take(key)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise self.error(key, f"must be a table: [{'.'.join((*self.path, key))}]")
        return Table(self.source, (*self.path, key), cast("dict[str, Any]", value))

    def tables(self) -> dict[str, Table]:
        """Every table inside this one, by name."""
        return {key: self.table(key) for key, value in self._values.items() if isinstance(value, dict)}

    def finish(self) -> None:
        """Refuse unknown keys: a misspelt key would otherwise be ignored without a message."""
        for key in self._values:
            if key not in self._known:
                near = get_close_matches(key, self._known, 1)
                hint = f"did you mean {near[0]}?" if near else "it has no meaning"
                raise self.error(key, f"unknown key; {hint}")

    def error(self, key: str, complaint: str) -> ConfigError:
        return self.source.error((*self.path, key), complaint)

    def _take(self, key: str) -> Any:
        self._known.append(key)
        return self._values.get(key)

    def _expand(self, key: str, match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        if match[2] is not None:
            raise self.error(
                key, f"{match[0]!r} names no environment variable; write ${{NAME}}, or $$ for a dollar sign"
            )
        value = self.source.environment.get(match[1])
        if value is None:
            raise self.error(key, f"the environment variable {match[1]} is not set")
        return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


ENVIRONMENT: Mapping[str, str] = os.environ
