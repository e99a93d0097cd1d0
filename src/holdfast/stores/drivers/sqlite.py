"""The driver for a `sqlite3.Connection`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from holdfast.stores.sql.plan import Many, Row, Statement


class SqliteDriver:
    """This connection has no commit hook. The file watch detects its commits."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, instruction: Statement | Many, /) -> list[Row]:
        # The application may have set other factories for rows or text. A cursor that is made in this way has none.
        texts = self._connection.text_factory
        if texts is not str:
            self._connection.text_factory = str
        cursor = sqlite3.Cursor(self._connection)
        try:
            if isinstance(instruction, Statement):
                return cursor.execute(instruction.sql, instruction.parameters).fetchall()
            cursor.executemany(instruction.sql, instruction.parameters)
            return []
        finally:
            if texts is not str:
                self._connection.text_factory = texts
            cursor.close()

    def connection(self) -> sqlite3.Connection:
        return self._connection

    def after_commit(self, send: Callable[[], None], /) -> bool:
        return False

    def is_open(self) -> bool:
        return self._connection.in_transaction
