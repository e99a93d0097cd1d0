"""The reference of `holdfast.toml`: every key that the reader of the file asks for, with its kind and default."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from holdfast.config.checked_table import MOST, Table
from holdfast.config.file import read_settings
from holdfast.config.retry_policies import UNLIMITED
from holdfast.core.retry import Retry

EVERYTHING = """
[workers.GROUP]
types = ["a"]
[retry.NAME]
max_attempts = 3
[work_kinds.NAME]
"""
Asked = tuple[tuple[str, ...], str, str, str]
"""A read: the table, the key, the kind of value and the default."""
ANYTHING = "text, number or list"
DEFAULTS = {"max_attempts": f"`{Retry().max_attempts}`", "max_retries": "one less than `max_attempts`"}
KINDS = {"text": "text", "count": "whole number", "number": "number", "flag": "true or false", "texts": "list of texts"}


def configuration() -> str:
    """The page."""
    sections: dict[str, dict[str, str]] = {}
    for path, key, kind, default in _asked():
        section = f"[{'.'.join(path)}]" if path else "The top of the file"
        rows = sections.setdefault(section, {})
        if key not in rows or ANYTHING in rows[key]:
            rows[key] = f"| `{key}` | {kind} | {DEFAULTS.get(key, default)} |"
    del sections["[workers.GROUP]"]
    parts = [
        "# holdfast.toml",
        "Every key, as the program reads it. [The supervisor](../supervisor.md#holdfasttoml) explains them; "
        "`holdfast config` prints the values in effect. A group, `[workers.GROUP]`, has the keys of `[workers]` and "
        "inherits their values. `[retry]` is the policy `[retry.default]`.",
    ]
    for section in sorted(sections, key=lambda name: (name.startswith("["), name)):
        table = ["| key | value | default |", "| --- | --- | --- |", *sections[section].values()]
        parts += [f"## {section}", "\n".join(table)]
    return "\n\n".join(parts) + "\n"


def _asked() -> list[Asked]:
    asked: list[Asked] = []
    with _recorded(asked), tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(EVERYTHING)
        file.flush()
        read_settings(Path(file.name))
    return asked


@contextmanager
def _recorded(asked: list[Asked]) -> Generator[None]:
    """Record each read of a table."""

    def recording(name: str, read: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(table: Table, key: str, *given: Any, **options: Any) -> Any:
            asked.append((table.path, key, _kind(name, given, options), _default(given, options)))
            return read(table, key, *given, **options)

        return recorded

    names = (*KINDS, "choice", "anything")
    replaced: dict[str, Any] = {name: recording(name, getattr(Table, name)) for name in names}
    with patch.multiple(Table, **replaced):
        yield


def _kind(name: str, given: tuple[Any, ...], options: dict[str, Any]) -> str:
    if name == "choice":
        return " or ".join(f"`{each}`" for each in given[0])
    if name == "anything":
        return ANYTHING
    least, most = options.get("least", 0), options.get("most", MOST)
    bounds = f", {least:g} to {most:g}" if most not in (MOST, MOST - 1) else f", at least {least:g}" if least else ""
    unlimited = f' or `"{UNLIMITED}"`' if most == MOST - 1 else ""
    return f"{KINDS[name]}{bounds}{unlimited}"


def _default(given: tuple[Any, ...], options: dict[str, Any]) -> str:
    match options.get("default", given[0] if given and not isinstance(given[0], tuple) else None):
        case bool() as flag:
            return f"`{str(flag).lower()}`"
        case int() | float() as number if number:
            return f"`{number:g}`"
        case str() as text:
            return f"`{text}`"
        case _:
            return ""
