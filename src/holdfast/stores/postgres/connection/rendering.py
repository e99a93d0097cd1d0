"""Renders statements for a driver: inserts the schema name, and writes parameters in the style of the driver."""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

from holdfast.stores.postgres.verbs.start_only_functions import CALLS

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_SCHEMA = re.compile(r"\bholdfast\.")


class Style(Enum):
    """The parameter style of a driver."""

    NAMED = "%(name)s"
    """For psycopg, and for Django and SQLAlchemy with psycopg."""
    NUMBERED = "$1"
    """For libpq (connections of the store), for asyncpg, and for SQLAlchemy with asyncpg."""


class Rendered(NamedTuple):
    """The text of a statement for a driver, and the order of its parameters."""

    text: str
    encoded: bytes
    names: tuple[str, ...]
    is_query: bool
    """False for a command without a plan, such as BEGIN."""

    def values(self, parameters: Any) -> tuple[Any, ...]:
        return tuple([parameters[name] for name in self.names])


class Renderer:
    """Renders statements for one schema and style, and keeps the results."""

    @classmethod
    @cache
    def of(cls, schema: str, style: Style, *, calls: bool = False) -> Renderer:
        """The renderer of a schema and style. With `calls`, the statements of a start become function calls."""
        return cls(schema, style, calls=calls)

    def __init__(self, schema: str, style: Style, *, calls: bool = False) -> None:
        self.schema = schema
        self._prefix = f'"{schema}".'
        self._style = style
        self._calls = calls
        self._rendered: dict[str, Rendered] = {}

    def __call__(self, sql: str) -> Rendered:
        rendered = self._rendered.get(sql)
        if rendered is None:
            rendered = self._rendered[sql] = self._render(sql)
        return rendered

    def with_calls(self) -> Renderer:
        """The renderer for a role that may start jobs only by the functions of the schema."""
        return Renderer.of(self.schema, self._style, calls=True)

    def _render(self, sql: str) -> Rendered:
        if self._calls:
            sql = CALLS.get(sql, sql)
        names = list(dict.fromkeys(_PARAMETER.findall(sql)))
        text = in_schema(sql, self._prefix)
        if self._style is Style.NAMED:
            text = _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%"))
        else:
            text = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", text)
        return Rendered(text, text.encode(), tuple(names), text.startswith("select "))


def in_schema(sql: str, schema: str) -> str:
    """Replace the schema name `holdfast`."""
    return _SCHEMA.sub(schema, sql)
