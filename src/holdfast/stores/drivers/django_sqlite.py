"""The driver for a connection of Django to SQLite."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from django.db import connections, transaction

from holdfast.stores.sql.plan import Many, Row, Statement

_NUMBERED = re.compile(r"\?(\d+)")

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper


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


class DjangoSqliteDriver:
    """Django has a commit hook inside `atomic`. Its cursors accept `:name` and `?`; our statements contain no `%`."""

    def __init__(self, wrapper: BaseDatabaseWrapper) -> None:
        self._wrapper = wrapper

    def execute(self, instruction: Statement | Many, /) -> list[Row]:
        with self._wrapper.cursor() as cursor:
            match instruction:
                case Statement(sql, parameters):
                    cursor.execute(sql, parameters or None)
                    return [] if cursor.description is None else cursor.fetchall()
                case Many(sql, parameters):
                    cursor.executemany(*_by_name(sql, list(parameters)))
                    return []

    def connection(self) -> Any:
        self._wrapper.ensure_connection()
        return self._wrapper.connection

    def after_commit(self, send: Callable[[], None], /) -> bool:
        if not self._wrapper.in_atomic_block:
            return False  # Django has no hook for a transaction that the application manages itself
        transaction.on_commit(send, using=self._wrapper.alias, robust=True)
        return True

    def is_open(self) -> bool:
        # Outside of `atomic` Django does not know whether a transaction is open.
        return self._wrapper.connection is not None


def _by_name(sql: str, rows: list[Any]) -> tuple[str, list[Any]]:
    """Numbered placeholders (`?1`) as names: Python 3.12.0 to 3.12.3 warns about numbers with a sequence."""
    if _NUMBERED.search(sql) is None or not rows or isinstance(rows[0], Mapping):
        return sql, rows
    named = [{f"p{number}": value for number, value in enumerate(row, start=1)} for row in rows]
    return _NUMBERED.sub(r":p\1", sql), named
