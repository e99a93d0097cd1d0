"""The driver for a connection of Django to PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.db import transaction

from holdfast.stores.sql.plan import Many, Row, Statement

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper


class DjangoDriver:
    """Django has a commit hook inside `atomic`."""

    def __init__(self, wrapper: BaseDatabaseWrapper) -> None:
        self._wrapper = wrapper

    def execute(self, instruction: Statement | Many, /) -> list[Row]:
        assert isinstance(instruction, Statement)
        with self._wrapper.cursor() as logged:
            # The same cursor without Django's log: the parameters are tokens and payloads.
            cursor = self._wrapper.make_cursor(logged.cursor)
            cursor.execute(instruction.sql, instruction.parameters or None)
            if cursor.description is None:
                return []
            return [tuple(map(_plain, row)) for row in cursor.fetchall()]

    def connection(self) -> BaseDatabaseWrapper:
        return self._wrapper

    def after_commit(self, send: Callable[[], None], /) -> bool:
        if not self._wrapper.in_atomic_block:
            return False  # Django has no hook for a transaction that the application manages itself
        transaction.on_commit(send, using=self._wrapper.alias, robust=True)
        return True

    def is_open(self) -> bool:
        # Outside of `atomic` Django does not know whether a transaction is open.
        return self._wrapper.connection is not None


def _plain(value: Any) -> Any:
    """psycopg2 returns binary columns as memory views."""
    return value.tobytes() if isinstance(value, memoryview) else value
