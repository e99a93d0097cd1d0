"""The driver for a connection of Django to PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.stores.drivers.django import DjangoDriver
from holdfast.stores.sql.plan import Many, Row, Statement

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper


class DjangoPostgresDriver(DjangoDriver):
    """A connection of Django to PostgreSQL, by psycopg 3 or psycopg2."""

    def execute(self, instruction: Statement | Many, /) -> list[Row]:
        assert isinstance(instruction, Statement)
        with self.unlogged() as cursor:
            cursor.execute(instruction.sql, instruction.parameters or None)
            if cursor.description is None:
                return []
            return [tuple(map(_plain, row)) for row in cursor.fetchall()]

    def connection(self) -> BaseDatabaseWrapper:
        return self._wrapper


def _plain(value: Any) -> Any:
    """psycopg2 returns binary columns as memory views."""
    return value.tobytes() if isinstance(value, memoryview) else value
