"""The driver for a connection of Django to SQLite."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.db import connections

from holdfast.stores.drivers.django import DjangoDriver
from holdfast.stores.sql.plan import Many, Row, Statement

_NUMBERED = re.compile(r"\?(\d+)")


def blocking(tx: Any) -> DjangoSqliteDriver | None:
    """A driver for a database alias, a connection, or `django.db.connection`; None for other objects of Django."""
    alias = tx if isinstance(tx, str) else getattr(tx, "alias", None)
    if not isinstance(alias, str):
        return None
    # Through its alias: `django.db.connection` is a proxy for the connection of the current thread.
    wrapper = connections[alias]
    if wrapper.vendor != "sqlite":
        raise ValueError(f"database {alias!r} of Django is {wrapper.vendor}, not SQLite")
    return DjangoSqliteDriver(wrapper)


class DjangoSqliteDriver(DjangoDriver):
    """A connection of Django to SQLite. Its cursors accept `:name` and `?`; our statements contain no `%`."""

    def execute(self, instruction: Statement | Many, /) -> list[Row]:
        with self.unlogged() as cursor:
            match instruction:
                case Statement(sql, parameters):
                    cursor.execute(sql, parameters or None)
                    return [] if cursor.description is None else list(cursor.fetchall())
                case Many(sql, parameters):
                    cursor.executemany(*_by_name(sql, list(parameters)))
                    return []

    def connection(self) -> Any:
        self._wrapper.ensure_connection()
        return self._wrapper.connection


def _by_name(sql: str, rows: list[Any]) -> tuple[str, list[Any]]:
    """Numbered placeholders (`?1`) as names: Python 3.12.0 to 3.12.3 warns about numbers with a sequence."""
    if _NUMBERED.search(sql) is None or not rows or isinstance(rows[0], Mapping):
        return sql, rows
    named = [{f"p{number}": value for number, value in enumerate(row, start=1)} for row in rows]
    return _NUMBERED.sub(r":p\1", sql), named
